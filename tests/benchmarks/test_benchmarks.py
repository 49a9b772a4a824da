"""The benchmarks run and count what they say; how fast things are is for them to tell, not for a test to demand."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import hooks, imports
from benchmarks.nothing import installed, request_for
from benchmarks.report import Result, as_json, as_table
from lancespace import connect
from lancespace.authoring import OPERATIONS
from tools.workspace import ROOT


def test_the_backend_that_does_nothing_answers_every_operation():
    with installed() as name:
        namespace = connect(name)

        assert namespace.capabilities() == set(OPERATIONS)
        for operation in OPERATIONS:
            assert getattr(namespace, operation)(request_for(operation)) is not None


def test_hooks_are_measured_with_and_without_the_framework(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hooks, "ROUNDS", 1)
    monkeypatch.setattr(hooks, "CALLS", 3)

    results = list(hooks.run())

    assert results[0].case == "median of all operations"
    for result in results:
        numbers = result.numbers
        assert numbers["overhead_us"] == pytest.approx(numbers["through_us"] - numbers["direct_us"])


def test_imports_are_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(imports, "ROUNDS", 1)
    monkeypatch.setattr(imports, "CASES", {"import lancespace": "fast"})

    (result,) = imports.run()

    assert result.case == "import lancespace"
    assert result.numbers["median_ms"] > 0


def test_results_are_json_lines_and_an_aligned_table():
    results = [Result("a", {"x_us": 1.23456}, "small"), Result("longer", {"x_us": 12.0})]

    assert json.loads(as_json("hooks", results[0])) == {
        "benchmark": "hooks",
        "case": "a",
        "x_us": 1.235,
        "goal": "small",
    }
    assert as_table(results).splitlines() == ["case     x_us  goal", "a        1.23  small", "longer  12.00"]


def test_the_command_line_lists_what_there_is_and_refuses_the_rest():
    command = [sys.executable, "-m", "benchmarks"]
    listed = subprocess.run([*command, "--list"], cwd=ROOT, capture_output=True, text=True, check=True)
    refused = subprocess.run([*command, "hoks"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert {"# hooks", "# imports"} <= {line.split(":")[0] for line in listed.stdout.splitlines()}
    assert refused.returncode == 2
    assert "there is no benchmark hoks; there is " in refused.stderr
