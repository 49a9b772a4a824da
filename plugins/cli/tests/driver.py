"""Runs in a terminal: takes one request after the other, each a file of JSON, and tells the exit code of its command.

It spares the tests the start of a process for every command; what is about processes starts its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from lancespace_cli.main import main

END = "\x1e"
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def run(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@contextmanager
def streams(files: Sequence[str]) -> Iterator[None]:
    """Standard input, output and error from and to files instead of the terminal, as a shell does it."""
    flush()
    saved, terminal = [os.dup(number) for number in range(3)], sys.stdin
    for number, (file, flags) in enumerate(zip(files, (os.O_RDONLY, _WRITE, _WRITE), strict=True)):
        opened = os.open(file, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, closefd=False)
    try:
        yield
    finally:
        flush()
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin = terminal


def flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    while line := sys.stdin.readline():
        request = json.loads(Path(line.strip()).read_text())
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["variables"])
        sys.argv[1:] = request["arguments"]
        with streams(request["streams"]) if request["streams"] else nullcontext():
            code = run(request["arguments"])
        flush()
        sys.stdout.write(f"{END}{code}{END}")
        sys.stdout.flush()
