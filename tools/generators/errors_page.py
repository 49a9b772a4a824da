"""`docs/reference/errors.md`: the spec's error codes, and why storage fails."""

from __future__ import annotations

from lance_namespace import ErrorCode

from lancespace.authoring import COMMON_ERRORS, OPERATIONS, Cause, error_class
from tools.generators import markdown
from tools.generators.markdown import code, codes

INTRODUCTION = """
# Errors

Only the error classes of `lance_namespace` leave lancespace. All are `LanceNamespaceError`s with a `code`. Where
another library failed, the error is raised from that: what pylance, the operating system, fsspec or a cloud SDK said is
in `error.__cause__`. `translate` of `lancespace.authoring` maps those.

{errors}

## When storage fails

If the cause of a failure is known, the message begins with it and ends with what to do, whatever the store.

{causes}
"""

EVERY = "every operation"


def render() -> str:
    """The page."""
    rows = [
        (str(error.value), code(error.name), code(error_class(error.name).__name__), _raised_by(error))
        for error in ErrorCode
    ]
    return markdown.page(
        INTRODUCTION.format(
            errors=markdown.table(("Code", "Name", "Class", "Raised by"), rows),
            causes=markdown.table(("Cause", "Class", "What to do"), _causes()),
        )
    )


def _causes() -> list[tuple[str, str, str]]:
    return [(cause.what, code(cause.kind.__name__), cause.remedy) for cause in Cause]


def _raised_by(error: ErrorCode) -> str:
    if error.name in COMMON_ERRORS:
        return EVERY
    return codes(operation.name for operation in OPERATIONS.values() if error.name in operation.errors)
