"""V1, V2 and compatibility mode, for the tests that run in several of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.dir.tests.support import COMPATIBILITY, MANIFEST, MODES, V1_ONLY, V2_ONLY

EVERY_MODE = pytest.mark.parametrize("properties", MODES.values(), ids=MODES)
WITH_MANIFEST = pytest.mark.parametrize("properties", [V2_ONLY, COMPATIBILITY], ids=["V2", "compatibility"])
WITH_LISTING = pytest.mark.parametrize("properties", [V1_ONLY, COMPATIBILITY], ids=["V1", "compatibility"])

Properties = dict[str, str]


def directories(root: Path) -> set[str]:
    """The table directories of a root."""
    return {path.name for path in root.iterdir() if path.name != MANIFEST}


def is_hashed(location: str, object_id: str) -> bool:
    """Whether a location is of the form ``<8 hex>_<object_id>``."""
    prefix, _, name = location.partition("_")
    return len(prefix) == 8 and set(prefix) <= set("0123456789abcdef") and name == object_id
