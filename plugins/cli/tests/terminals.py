"""Real terminals to run the command in, and pipes to hold against them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pexpect

from plugins.cli.tests.driver import END

DRIVER = Path(__file__).with_name("driver.py")
PATIENCE = 60
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    raw: str
    code: int

    @property
    def text(self) -> str:
        """Without colours and the movements of the cursor."""
        return ANSI.sub("", self.raw).replace("\r\n", "\n")

    @property
    def shown(self) -> str:
        """What is on the screen in the end: bars are gone, as each was drawn over and erased."""
        kept = [line for line in self.raw.replace("\r\n", "\n").split("\n") if "\x1b[2K" not in line or "━" not in line]
        return ANSI.sub("", "\n".join(kept)).replace("\r", "")

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.text.splitlines() if line.strip()]


class Terminal:
    """A terminal in which one command runs after the other."""

    def __init__(self, folder: Path, variables: dict[str, str], columns: int = 120) -> None:
        self._folder = folder
        self._process = _spawned(sys.executable, [str(DRIVER)], folder, variables, columns, echo=False)

    def run(self, *arguments: str, answer: str | None = None) -> Answer:
        """Run a command; if it asks something, answer."""
        self._process.sendline(json.dumps({"folder": str(self._folder), "arguments": arguments}))
        before = ""
        if answer is not None:
            self._process.expect(re.escape("[y/N]: "))
            before = f"{self._process.before}[y/N]: "
            self._process.sendline(answer)
        self._process.expect(f"{END}(\\d+){END}")
        return Answer(before + str(self._process.before), int(self._process.match.group(1)))

    def close(self) -> None:
        self._process.close(force=True)


def environment(**variables: str) -> dict[str, str]:
    """What a command sees: no configuration of whoever runs the tests."""
    foreign = ("LANCESPACE_", "NO_COLOR", "COLUMNS", "LINES")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "TERM": "xterm-256color", "LANCESPACE_CONFIG": "/nowhere/config.toml", **variables}


def spawn(*arguments: str, folder: Path, **variables: str) -> pexpect.spawn:
    """A process of its own, in a terminal."""
    return spawn_program(sys.executable, ["-m", "lancespace_cli", *arguments], folder, **variables)


def spawn_program(program: str, arguments: list[str], folder: Path, **variables: str) -> pexpect.spawn:
    """Any program, in a terminal."""
    return _spawned(program, arguments, folder, environment(**variables), 120, echo=True)


def _spawned(
    program: str, arguments: list[str], folder: Path, variables: dict[str, str], columns: int, *, echo: bool
) -> pexpect.spawn:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "lance is not fork-safe")  # What is forked becomes another program at once.
        return pexpect.spawn(
            program,
            arguments,
            cwd=str(folder),
            env=variables,
            dimensions=(40, columns),
            echo=echo,
            timeout=PATIENCE,
            encoding="utf-8",
        )


def piped(
    *arguments: str, folder: Path, given: bytes = b"", variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "lancespace_cli", *arguments],
        cwd=folder,
        env=environment(**(variables or {})),
        input=given,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
