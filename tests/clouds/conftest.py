"""No test of the clouds sees the environment of whoever runs it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _clean(clean_environment: None) -> None:
    """The fixture does it."""
