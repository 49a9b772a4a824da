"""What a test says about a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lance_namespace import LanceNamespaceError

from lancespace.models import error_class

if TYPE_CHECKING:
    from types import TracebackType


def raises(*codes: str) -> Raises:
    """The block must fail with one of these codes of the spec: in the class of the code, carrying it, with a message.

    Several codes are for what the spec leaves open; each use says why.
    """
    return Raises(codes)


class Raises:
    """The context manager of :func:`raises`."""

    def __init__(self, codes: tuple[str, ...]) -> None:
        self._codes = codes

    def __enter__(self) -> None:
        """Nothing is needed before the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        __tracebackhide__ = True
        if error is None:
            pytest.fail(f"expected {self._expected()}, but nothing was raised")
        if not isinstance(error, Exception):
            return False
        if not any(_is(error, code) for code in self._codes):
            raise AssertionError(f"expected {self._expected()}, but got {_describe(error)}") from error
        return True

    def _expected(self) -> str:
        kinds = [error_class(code) for code in self._codes]
        return " or ".join(f"{kind.__name__} (code {int(kind.code)})" for kind in kinds)


def code_of(error: BaseException) -> str:
    """The name of an error's code; of a failure that is none of the spec's, the name of its class."""
    return error.code.name if isinstance(error, LanceNamespaceError) else type(error).__name__


def _is(error: Exception, code: str) -> bool:
    expected = error_class(code)
    return isinstance(error, expected) and error.code == expected.code and bool(str(error).strip())


def _describe(error: Exception) -> str:
    code = getattr(error, "code", None)
    return f"{type(error).__name__} (code {code if code is None else int(code)}): {error}"
