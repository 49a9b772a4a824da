"""The guide names every property, and every option of our auth methods."""

from __future__ import annotations

import pytest

from lancespace.authoring import registry
from lancespace_rest.settings import PROPERTIES
from tools.workspace import ROOT

GUIDE = (ROOT / "docs" / "guide" / "rest-client.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [prop.name for prop in PROPERTIES])
def test_property_is_in_the_guide(name: str):
    assert f"{name}*`" in GUIDE or f"`{name}`" in GUIDE or f"`{name}<type>" in GUIDE or f'"{name}"' in GUIDE


@pytest.mark.parametrize("method", sorted(registry.AUTH.extras))
def test_auth_method_is_in_the_guide(method: str):
    options = registry.find(registry.AUTH, method).load().properties

    assert f"| `{method}` |" in GUIDE
    assert all(f"`rest.auth.{method}.{option.name}`" in GUIDE for option in options)
