"""Reads that are tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")

_CUT_OFF = ("request or response body error", "error decoding response body")
"""What pylance says; the second is of OSS."""
_TRIES = 3


def read(what: Callable[[], Answer]) -> Answer:
    """Read with pylance, again if the store's answer breaks off.

    pylance sends requests again that were not answered, but not most listings whose answer ends too early. What is
    done here must change nothing, since it may be done twice.
    """
    for _ in range(_TRIES - 1):
        try:
            return what()
        except (OSError, RuntimeError) as error:
            if not any(text in str(error) for text in _CUT_OFF):
                raise
    return what()
