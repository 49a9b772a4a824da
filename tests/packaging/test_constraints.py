"""constraints.txt is whole and says nothing about where packages come from."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import requirements
from tools.workspace import CONSTRAINTS

PINS = [Requirement(line) for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]


def test_every_line_pins_one_version_and_names_no_place():
    assert [str(pin) for pin in PINS if pin.url or not str(pin.specifier).startswith("==")] == []


@pytest.mark.parametrize("required", requirements())
def test_every_requirement_of_the_workspace_is_pinned_within_its_bounds(required: str):
    """Fails when a pyproject.toml has changed: run `make lock`."""
    requirement = Requirement(required)
    versions = [
        specifier.version
        for pin in PINS
        if canonicalize_name(pin.name) == canonicalize_name(requirement.name)
        for specifier in pin.specifier
    ]

    assert versions
    assert [version for version in versions if version not in requirement.specifier] == []


def test_torch_stays_out():
    """It is the difference between a small environment and several gigabytes, and somebody's extra may bring it."""
    assert "torch" not in {pin.name for pin in PINS}
