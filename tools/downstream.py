"""Run the tests of somebody else's backend on this checkout: `python -m tools.downstream FOLDER [PYTEST ARGUMENTS]`.

The package in FOLDER is installed as its users install it, into an environment of its own that is thrown away. What it
requires of lancespace comes from this checkout, all else from the package index, at the versions of constraints.txt.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uv import find_uv_bin

from tools.workspace import CONSTRAINTS, Distribution, packages, parse, umbrella

if TYPE_CHECKING:
    from collections.abc import Iterable

TESTING = Requirement("lancespace-testing")
"""The conformance suite and what it runs on."""


def from_checkout(required: Iterable[Requirement]) -> list[Path]:
    """The folders of our distributions that these requirements need, directly or through others of ours."""
    ours = {canonicalize_name(one.name): one for one in (umbrella(), *packages())}
    found: dict[str, Requirement] = {}
    waiting = list(required)
    while waiting:
        requirement = waiting.pop()
        distribution = ours.get(canonicalize_name(requirement.name))
        if distribution is not None and str(requirement) not in found:
            found[str(requirement)] = requirement
            waiting += parse(distribution.project["dependencies"])
            waiting += [line for extra in requirement.extras for line in distribution.extras[extra]]
    return sorted({ours[canonicalize_name(requirement.name)].folder for requirement in found.values()})


def install(folder: Path, environment: Path) -> Path:
    """Make an environment with the package in it; answers its interpreter."""
    uv, python = find_uv_bin(), environment / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", f"--python={sys.executable}", str(environment)], check=True)
    pins = [f"--constraints={CONSTRAINTS}", f"--build-constraints={CONSTRAINTS}"]
    ours = from_checkout([TESTING, *Distribution.read(folder).requirements])
    command = [uv, "pip", "install", "--quiet", f"--python={python}", *pins, *map(str, ours), str(TESTING), str(folder)]
    subprocess.run(command, check=True)
    return python


def main(folder: Path, arguments: list[str]) -> int:
    """Install and test; the exit code is pytest's."""
    with tempfile.TemporaryDirectory(prefix="downstream-") as environment:
        python = install(folder, Path(environment))
        isolated = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "--confcutdir=.", *arguments]
        return subprocess.run(command, cwd=folder, env=isolated, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
