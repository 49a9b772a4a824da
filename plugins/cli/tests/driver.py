"""Runs in a terminal: takes the arguments of one command after the other, as JSON, and tells each one's exit code.

It spares the tests the start of a process for every command; what is about processes starts its own.
"""

from __future__ import annotations

import json
import os
import sys

from lancespace_cli.main import main

END = "\x1e"


def run(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    while line := sys.stdin.readline():
        request = json.loads(line)
        os.chdir(request["folder"])
        sys.argv[1:] = request["arguments"]
        code = run(request["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout.write(f"{END}{code}{END}")
        sys.stdout.flush()
