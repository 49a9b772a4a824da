"""A program that the machine has or that can be installed; the ones we need are in ``tools/ensure.py``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VENV_BIN = Path(sys.prefix) / "bin"


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
