"""Real terminals to run the command in, and pipes to hold against them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect

from plugins.cli.tests.driver import END

DRIVER = Path(__file__).with_name("driver.py")
PATIENCE = 60
ROWS = 40
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


@dataclass(frozen=True)
class Piped:
    """What a command wrote without a terminal, and its exit code."""

    stdout: bytes
    stderr: bytes
    returncode: int


class Driver:
    """A process that runs one command after the other, in a terminal of its own."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._process: pexpect.spawn | None = None

    def start(self, columns: int, **request: Any) -> pexpect.spawn:
        """Begin a command; the process is started for the first one, and again if one has taken it down."""
        if self._process is None or not self._process.isalive():
            arguments = [str(DRIVER)]
            self._process = _spawned(sys.executable, arguments, self._scratch, environment(), columns, echo=False)
        self._process.setwinsize(ROWS, columns)
        file = self._scratch / "request.json"  # A line of a terminal has an end, at 4096 characters.
        file.write_text(json.dumps(request))
        self._process.sendline(str(file))
        return self._process

    def end(self) -> tuple[str, int]:
        """Wait for the end of a command: what it printed, and its exit code."""
        assert self._process is not None
        self._process.expect(f"{END}(\\d+){END}")
        return str(self._process.before), int(self._process.match.group(1))

    def close(self) -> None:
        """End the process, however long that takes: pexpect's own way gives up after a tenth of a second."""
        if self._process is not None:
            self._process.kill(signal.SIGKILL)
            self._process.wait()
            self._process.close()

    def file(self, name: str, contents: bytes = b"") -> Path:
        """A file for a standard stream."""
        path = self._scratch / name
        path.write_bytes(contents)
        return path


class Terminal:
    """A terminal in which one command runs after the other, all in one folder."""

    def __init__(self, driver: Driver, folder: Path, columns: int = 120, **variables: str) -> None:
        self.folder = folder
        self._driver = driver
        self._columns = columns
        self._variables = variables

    def run(self, *arguments: str, answer: str | None = None) -> Answer:
        """Run a command; if it asks something, answer."""
        process = self._start(arguments, [])
        before = ""
        if answer is not None:
            process.expect(re.escape("[y/N]: "))
            before = f"{process.before}[y/N]: "
            process.sendline(answer)
        printed, code = self._driver.end()
        return Answer(before + printed, code)

    def pipe(self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None) -> Piped:
        """Run a command whose standard streams are not the terminal."""
        streams = [self._driver.file("in", given), self._driver.file("out"), self._driver.file("err")]
        self._start(arguments, streams, **(variables or {}))
        printed, code = self._driver.end()
        assert printed == "", "something was written past the streams"
        return Piped(streams[1].read_bytes(), streams[2].read_bytes(), code)

    def _start(self, arguments: Sequence[str], streams: list[Path], **variables: str) -> pexpect.spawn:
        return self._driver.start(
            self._columns,
            folder=str(self.folder),
            arguments=arguments,
            variables=environment(**self._variables, **variables),
            streams=list(map(str, streams)),
        )


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
            dimensions=(ROWS, columns),
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
