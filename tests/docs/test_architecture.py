"""What docs/architecture.md names is there."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module

import pytest

from tests.docs.pages import DOCS

NAMES = re.findall(r"`(lancespace[\w.]*):([\w.]+)`", (DOCS / "architecture.md").read_text(encoding="utf-8"))


def test_the_walks_name_what_they_pass():
    assert len(NAMES) > 10


@pytest.mark.parametrize(("module", "name"), NAMES, ids=":".join)
def test_a_step_of_a_walk_is_there(module: str, name: str):
    assert callable(reduce(getattr, name.split("."), import_module(module)))
