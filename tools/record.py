"""Record the tour: `python -m tools.record` runs the commands of docs/tour.md in a terminal and writes what it shows.

`docs/tour.cast` is a recording in the format of asciinema (version 2), `docs/tour.svg` a picture of the screen. Steps
that install something are left out: this environment is the one they would make.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect

from tests.docs.pages import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAGE = DOCS / "tour.md"
CAST = DOCS / "tour.cast"
PICTURE = DOCS / "tour.svg"
SIZE = (40, 100)
INSTALLING = ("pip ", "python -m venv ", ". ")
OURS = ("LANCESPACE_", "NO_COLOR", "PYTHON", "VIRTUAL_ENV")
"""Variables by which whoever runs this could change what is shown begin so."""
PATIENCE = 300
LONGEST_PAUSE = 1.5
A_KEY = 0.04

_PROMPT = "\x1e"
"""Printed by the shell before its prompt, and taken out of the recording."""
_FONTS = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)
_ERASED = re.compile(r"^.*\x1b\[2K.*━.*$\n?|\x1b\[\?25[hl]|\x1b\[[0-9]*[AK]|\r", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command of a page, and what the page says it prints."""

    command: str
    printed: str

    @property
    def installs(self) -> bool:
        """Whether it is about the environment and not about lancespace."""
        return self.command.startswith(INSTALLING)


@dataclass(frozen=True)
class Answer:
    """What a step really printed, and how long it took."""

    step: Step
    printed: str
    seconds: float


@dataclass
class Recording:
    """What a terminal showed, and when."""

    events: list[tuple[float, str]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def add(self, pause: float, text: str) -> None:
        """Something is shown after a pause; long ones are cut."""
        now = self.events[-1][0] if self.events else 0.0
        self.events.append((round(now + min(pause, LONGEST_PAUSE), 3), text))

    @property
    def text(self) -> str:
        """Everything that was shown."""
        return "".join(text for _, text in self.events)


def steps(page: Path = PAGE) -> Iterator[Step]:
    """The commands of a page, in order."""
    for block in blocks(page):
        if block.language == "console":
            for step in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
                yield Step(*step.split("\n", 1))


def write_files(folder: Path, page: Path = PAGE) -> None:
    """The files that a page says to begin with."""
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.code, encoding="utf-8")


def play(todo: Iterator[Step], folder: Path, variables: Mapping[str, str]) -> Recording:
    """Run commands one after the other in one shell, in a terminal of its own.

    Raises:
        SystemExit: If a command fails.
    """
    prompt = {"PS1": "$ ", "PROMPT_COMMAND": r"printf '\036%d\036' $?", "VIRTUAL_ENV_DISABLE_PROMPT": "1"}
    shell = pexpect.spawn(
        "/bin/bash",
        ["--norc", "--noprofile", "--noediting", "-i"],
        cwd=str(folder),
        env={**variables, **prompt, "TERM": "xterm-256color"},
        dimensions=SIZE,
        timeout=PATIENCE,
        encoding="utf-8",
        echo=False,
    )
    recording = Recording()
    _ended(shell, Recording())
    for step in todo:
        _type(recording, step.command)
        shell.sendline(step.command)
        before, start = len(recording.events), time.monotonic()
        code = _ended(shell, recording)
        if code:
            shell.close(force=True)
            sys.exit(f"{step.command}: exit code {code}\n{recording.text}")
        printed = shown("".join(text for _, text in recording.events[before:]))
        recording.answers.append(Answer(step, printed, time.monotonic() - start))
    shell.close(force=True)
    return recording


def shown(text: str) -> str:
    """What stays on the screen: progress bars are drawn over and erased."""
    return _ERASED.sub("", text)


def cast(recording: Recording) -> str:
    """The recording as asciinema reads it."""
    rows, columns = SIZE
    header = {"version": 2, "width": columns, "height": rows, "title": "A tour of lancespace"}
    lines = [header, *([when, "o", text] for when, text in recording.events)]
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def picture(recording: Recording) -> str:
    """The screen as SVG; it names no font of another site."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=SIZE[1], file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown(recording.text)), end="")
    template = _FONTS.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code", "monospace")
    return console.export_svg(title="lancespace", code_format=template, unique_id="tour")


def variables_with(python: Path) -> dict[str, str]:
    """An environment whose `lancespace` and `python` are those beside an interpreter, and no settings of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}


def record(python: Path = Path(sys.executable)) -> Recording:
    """Run the tour with the packages of an environment."""
    with tempfile.TemporaryDirectory(prefix="tour-") as folder:
        write_files(Path(folder))
        return play((step for step in steps() if not step.installs), Path(folder), variables_with(python))


def _type(recording: Recording, command: str) -> None:
    recording.add(LONGEST_PAUSE if recording.events else 0, "$ ")
    for key in command:
        recording.add(A_KEY, key)
    recording.add(A_KEY, "\r\n")


def _ended(shell: pexpect.spawn, recording: Recording) -> int:
    """Wait for the prompt, and record line by line what comes before it; answers the exit code."""
    last = time.monotonic()
    while True:
        is_end = shell.expect([f"{_PROMPT}(\\d+){_PROMPT}\\$ ", "[^\x1e\n]*\n"])
        text = str(shell.before) + ("" if is_end == 0 else str(shell.after))
        now = time.monotonic()
        if text:
            recording.add(now - last, text)
        last = now
        if is_end == 0:
            return int(shell.match.group(1))


if __name__ == "__main__":
    made = record()
    CAST.write_text(cast(made), encoding="utf-8")
    PICTURE.write_text(picture(made), encoding="utf-8")
    print(f"wrote {CAST} and {PICTURE}")
