"""The entry point of the command: arguments in, an exit code out, and never a stack trace for what a user did."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from lancespace_cli.exits import exit_code
from lancespace_cli.hoisting import hoist
from lancespace_cli.output import complain

TRACE_VARIABLE = "LANCESPACE_TRACEBACK"
"""Set to anything, errors show where they come from."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; always ends the process with an exit code."""
    from lancespace_cli.app import build

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        build()(args=hoist(given), prog_name="lancespace")
    except Exception as error:
        code = exit_code(error)
        if code is None or os.environ.get(TRACE_VARIABLE):
            raise
        complain(str(error), as_json="--json" in given, code=code)
        sys.exit(code)
