"""Extensions: methods of a namespace that need a package beyond the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lance_namespace import UnsupportedOperationError

from lancespace import connect
from lancespace.authoring import Backend, Connection, hookimpl, registry

if TYPE_CHECKING:
    from core.tests.conftest import Installer


class Bare(Backend):
    pass


class Everything:
    """Answers with what it was asked."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @hookimpl
    def run_sql(self, statement: str, parameters: Any) -> Any:
        return statement, parameters

    @hookimpl
    def open_dataset(self, names: list[str], version: Any, branch: Any) -> Any:
        return names, version, branch


def test_an_extension_answers_the_methods_that_need_it(install: Installer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "BUILT_IN", frozenset({"lancespace-core"}))
    monkeypatch.setenv(registry.SELECT_VARIABLE, "third-party-bare,third-party-sql,third-party-dataset")
    install(registry.BACKENDS, "bare", Bare)
    install(registry.EXTENSIONS, "sql", Everything)
    install(registry.EXTENSIONS, "dataset", Everything)

    with connect("bare") as namespace:
        assert namespace.sql("SELECT 1", {"a": 1}) == ("SELECT 1", {"a": 1})
        answer: Any = namespace.table("a.t").dataset(3, "dev")
        assert answer == (["a", "t"], 3, "dev")


def test_a_missing_extension_is_answered_with_its_pip_line(install: Installer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "BUILT_IN", frozenset({"lancespace-core"}))
    monkeypatch.setenv(registry.SELECT_VARIABLE, "third-party-bare")
    install(registry.BACKENDS, "bare", Bare)

    with connect("bare") as namespace:
        with pytest.raises(UnsupportedOperationError, match=r'^sql\(\) needs .*: pip install "lancespace\[sql\]"$'):
            namespace.sql("SELECT 1")
        with pytest.raises(
            UnsupportedOperationError, match=r"^the dataset of table 't' needs .*: pip install lancespace$"
        ):
            namespace.table("t").dataset()
