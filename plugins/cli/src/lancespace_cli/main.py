"""The entry point of the command: arguments in, an exit code out, and never a stack trace for what a user did."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import typer

from lancespace_cli import exits
from lancespace_cli.global_options import hoist, hoist_completed
from lancespace_cli.output import complain
from lancespace_cli.redaction import secrets_among
from lancespace_cli.state import State

TRACE_VARIABLE = "LANCESPACE_TRACEBACK"
"""Set to anything, errors show where they come from."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; always ends the process with an exit code."""
    given = hoist(list(sys.argv[1:] if arguments is None else arguments))
    hoist_completed(os.environ)
    state = State()
    state.hidden.add(secrets_among(given))
    try:
        code = _run(given, state)
        state.close()
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    if code == exits.INTERRUPTED:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """End the process although a thread of somebody else's may be waiting for input that never comes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _run(given: list[str], state: State) -> int:
    from lancespace_cli.app import build

    try:
        answer = build()(args=given, prog_name="lancespace", obj=state, standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - every failure of the command ends here, and is told
        return _report(error, state, as_json="--json" in given)
    return answer if isinstance(answer, int) else exits.SUCCESS


def _report(error: Exception, state: State, *, as_json: bool) -> int:
    code = exits.exit_code(error)
    if os.environ.get(TRACE_VARIABLE):
        sys.stderr.write(state.hidden.clean("".join(traceback.format_exception(error))))
    message = state.hidden.clean(_message(error, state, code))
    complain(message, as_json=as_json, code=code, kind=type(error).__name__)
    return code


def _message(error: Exception, state: State, code: int) -> str:
    if isinstance(error, exits.USAGE_ERROR):
        return _usage(error)
    if isinstance(error, typer.Abort):
        return "nothing was changed"
    if code == exits.DEFECT:
        return f"{type(error).__name__}: {error} (a defect of lancespace: {TRACE_VARIABLE}=1 shows where)"
    from lancespace_cli.suggestions import suggestion

    return f"{error}{suggestion(error, state)}"


def _usage(error: Exception) -> str:
    message: str = error.format_message()  # type: ignore[attr-defined] # what a ClickException has
    context = getattr(error, "ctx", None)
    where = f" (see: {context.command_path} --help)" if context is not None and "\n" not in message else ""
    return f"{message}{where}"
