"""Exit codes: 0 for success, 2 for wrong usage, 130 for Ctrl-C, and one for each error code of the spec."""

from __future__ import annotations

import sys

OFFSET = 10
"""An error of the spec ends the process with its code plus this, e.g. 14 for TABLE_NOT_FOUND (code 4)."""


def exit_code(error: Exception) -> int | None:
    """The exit code of an error of the spec; None for anything else, which is a defect of ours."""
    spec = sys.modules.get("lance_namespace")
    if spec is None or not isinstance(error, spec.LanceNamespaceError):
        return None
    return OFFSET + int(error.code)
