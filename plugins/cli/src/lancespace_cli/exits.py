"""Exit codes: what a script can go by. An error of the spec has its own code, moved up by ten."""

from __future__ import annotations

import sys
from typing import Any

import typer

SUCCESS = 0
REFUSED = 1
USAGE = 2
DEFECT = 70
INTERRUPTED = 130
OFFSET = 10
"""An error of the spec ends the process with its code plus this, e.g. 14 for TABLE_NOT_FOUND (code 4)."""

MEANINGS = {
    SUCCESS: "done",
    REFUSED: "a question was answered with no, or `doctor` or `fsck` found something",
    USAGE: "wrong usage: an option, an argument or the config file",
    DEFECT: "a defect of lancespace; `LANCESPACE_TRACEBACK=1` shows where",
    INTERRUPTED: "interrupted with Ctrl-C",
}
"""The codes that are not an error of the spec."""

USAGE_ERROR: Any = typer.BadParameter.__mro__[2]
"""What typer raises for wrong usage: ClickException, wherever the installed typer has it."""


def exit_code(error: BaseException) -> int:
    """The exit code that stands for an error."""
    if isinstance(error, USAGE_ERROR):
        return USAGE
    if isinstance(error, typer.Abort):
        return REFUSED
    spec = sys.modules.get("lance_namespace")
    if spec is not None and isinstance(error, spec.LanceNamespaceError):
        return OFFSET + int(error.code)
    return DEFECT


def table() -> list[tuple[int, str]]:
    """All exit codes and what they mean, in order."""
    from lance_namespace import ErrorCode

    named = {OFFSET + int(code): f"`{code.name}`" for code in ErrorCode}
    return sorted((MEANINGS | named).items())
