"""Emulators that do not keep the conditions of writes, for tests that must be seen to fail and for refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.emulators import s3


@contextmanager
def without_conditions(name: str, request: pytest.FixtureRequest) -> Iterator[None]:
    """As long as this lasts, the emulator of this name takes every write."""
    if name == "s3":
        with s3.unconditional():
            yield
        return
    store = request.getfixturevalue(name).service.store
    store.checks_conditions = False
    try:
        yield
    finally:
        store.checks_conditions = True
