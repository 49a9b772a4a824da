from __future__ import annotations

import re

import pytest
from lance_namespace import TableNotFoundError

from lancespace import connect
from lancespace.tracing import TRACE_VARIABLE


@pytest.mark.parametrize("value", [None, "", "0"])
def test_nothing_is_traced_unless_asked_for(
    value: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv(TRACE_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(TRACE_VARIABLE, value)

    with connect("memory") as namespace:
        namespace.list_tables()

    assert capsys.readouterr().err == ""


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TRACE_VARIABLE, "1")


@pytest.mark.usefixtures("traced")
def test_every_hook_call_is_a_line_with_object_plugins_outcome_and_time(capsys: pytest.CaptureFixture[str]):
    with connect("memory", {"wrappers": "metrics"}) as namespace:
        namespace.declare_table("t")

    lines = capsys.readouterr().err.splitlines()
    (declared,) = [line for line in lines if "declare_table" in line]
    assert re.fullmatch(
        r"lancespace: declare_table\(\['t'\]\) wrapper:metrics\+memory -> DeclareTableResponse \d+\.\d{3} ms", declared
    )
    assert lines[-1].startswith("lancespace: close() ")


@pytest.mark.usefixtures("traced")
def test_failure_is_traced_by_its_class(capsys: pytest.CaptureFixture[str]):
    with connect("memory") as namespace, pytest.raises(TableNotFoundError):
        namespace.describe_table("missing")

    assert re.search(
        r"describe_table\(\['missing'\]\) memory\S* -> TableNotFoundError \d+\.\d{3} ms", capsys.readouterr().err
    )


@pytest.mark.usefixtures("traced")
def test_nested_calls_are_timed_each(capsys: pytest.CaptureFixture[str]):
    with connect("memory") as namespace:
        namespace.create_table("t", [{"a": 1}])
        namespace.drop_table("t")

    err = capsys.readouterr().err
    assert "create_table(['t'])" in err
    assert "storage:file" in err, "storage hooks are traced too"


@pytest.mark.usefixtures("traced")
def test_requests_are_not_shown_whole(capsys: pytest.CaptureFixture[str]):
    with connect("memory") as namespace:
        namespace.declare_table("t", properties={"password": "hunter2"}, context={"header.authorization": "hunter2"})

    err = capsys.readouterr().err
    assert "declare_table(['t'])" in err
    assert "hunter2" not in err
