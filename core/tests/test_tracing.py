from __future__ import annotations

import itertools
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from lance_namespace import ListTablesResponse, TableNotFoundError

from lancespace import _tracing as tracing
from lancespace import connect
from lancespace._tracing import TRACE_VARIABLE
from lancespace.authoring import Backend, hookimpl, registry

if TYPE_CHECKING:
    from core.tests.conftest import Installer


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
        r"describe_table\(\['missing'\]\) \S*memory\S* -> TableNotFoundError \d+\.\d{3} ms", capsys.readouterr().err
    )


class Nesting(Backend):
    """Calls a hook from within a hook."""

    @hookimpl
    def list_tables(self) -> ListTablesResponse:
        return ListTablesResponse(tables=[self.connection.hooks.namespace_id()])


@pytest.mark.usefixtures("traced")
def test_nested_calls_are_timed_each(
    install: Installer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    install(registry.BACKENDS, "nesting", Nesting)
    namespace = connect("nesting")
    capsys.readouterr()
    ticks = itertools.count()
    monkeypatch.setattr(tracing, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))

    namespace.list_tables()
    namespace.list_tables()

    inner = "lancespace: namespace_id() nesting -> str 1000.000 ms"
    outer = "lancespace: list_tables() nesting -> ListTablesResponse 3000.000 ms"
    assert capsys.readouterr().err.splitlines() == [inner, outer] * 2


@pytest.mark.usefixtures("traced")
def test_storage_hooks_are_traced_too(capsys: pytest.CaptureFixture[str]):
    with connect("memory") as namespace:
        namespace.create_table("t", [{"a": 1}])
        namespace.drop_table("t")

    assert "storage:file" in capsys.readouterr().err


@pytest.mark.usefixtures("traced")
def test_requests_are_not_shown_whole(capsys: pytest.CaptureFixture[str]):
    with connect("memory") as namespace:
        namespace.declare_table("t", properties={"password": "hunter2"}, context={"header.authorization": "hunter2"})

    err = capsys.readouterr().err
    assert "declare_table(['t'])" in err
    assert "hunter2" not in err
