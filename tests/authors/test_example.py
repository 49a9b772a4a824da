"""examples/backend-sqlite as an outsider's package: small, installed like any other, tested on this checkout."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from tools.downstream import from_checkout
from tools.workspace import ROOT

EXAMPLE = ROOT / "examples" / "backend-sqlite"


def test_it_is_short():
    lines = [line for path in EXAMPLE.glob("src/**/*.py") for line in path.read_text().splitlines()]

    assert len(lines) < 260


@pytest.mark.parametrize(
    ("required", "folders"),
    [
        ("requests", []),
        ("lancespace-tables>=0.1", ["core", "plugins/tables"]),
        ("lancespace_dir", ["core", "plugins/dir", "plugins/jobs", "plugins/tables"]),
    ],
)
def test_what_a_requirement_needs_of_the_checkout(required: str, folders: list[str]):
    assert from_checkout([Requirement(required)]) == sorted((ROOT / folder).resolve() for folder in folders)


def test_an_extra_brings_its_package():
    without, with_extra = from_checkout([Requirement("lancespace")]), from_checkout([Requirement("lancespace[sql]")])

    assert {ROOT, ROOT / "core", ROOT / "plugins" / "dir"} <= set(without)
    assert set(with_extra) - set(without) == {ROOT / "plugins" / "sql"}


@pytest.mark.slow
def test_the_downstream_recipe_tests_it_as_installed():
    """A few tests of the suite: all of them run from the source, with the other tests of this repository."""
    command = [sys.executable, "-m", "tools.downstream", str(EXAMPLE), "-q", "-k", "test_rename or test_one_creator"]

    offline = os.environ | {"UV_OFFLINE": "1"}  # `make setup` has put all that it takes in uv's cache.
    answer = subprocess.run(command, cwd=ROOT, env=offline, capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert " passed" in answer.stdout
