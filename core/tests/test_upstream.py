"""Namespaces of ours reached through ``lance_namespace`` and what is built on it."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest

from lancespace import Namespace, connect, upstream
from lancespace.authoring import Backend, registry

if TYPE_CHECKING:
    from core.tests.conftest import Installer


def test_class_path_connects():
    namespace = lance_namespace.connect("lancespace.upstream.memory", {"wrappers": "readonly"})

    assert isinstance(namespace, Namespace)
    assert namespace.list_tables(lance_namespace.ListTablesRequest()).tables == []


def test_alias_connects(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lance_namespace, "_REGISTERED_IMPLS", {})

    upstream.register_aliases()

    assert isinstance(lance_namespace.connect("lancespace-memory", {}), Namespace)
    assert not {"dir", "rest"} & lance_namespace._REGISTERED_IMPLS.keys(), "pylance's own names stay its own"


def test_third_party_backend_is_reached_too(install: Installer):
    install(registry.BACKENDS, "tiny", Backend)

    assert repr(lance_namespace.connect("lancespace.upstream.tiny", {})) == "<lancespace tiny()>"


def test_unknown_backend_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'nothing': no such backend is installed"):
        _ = upstream.nothing


def test_refused_property_is_explained():
    with pytest.raises(ValueError, match="memory does not know the property 'rot'"):
        lance_namespace.connect("lancespace.upstream.memory", {"rot": "/x"})


def test_namespace_pickles_as_its_class():
    namespace = lance_namespace.connect("lancespace.upstream.memory", {})

    copy = pickle.loads(pickle.dumps(namespace))

    assert type(copy) is type(namespace) is upstream.namespace_class("memory")


def test_pylance_writes_and_reads_through_a_namespace():
    with connect("memory") as namespace:
        lance.write_dataset(pa.table({"a": [1, 2]}), namespace_client=namespace, table_id=["t"])
        lance.write_dataset(pa.table({"a": [3]}), namespace_client=namespace, table_id=["t"], mode="append")

        assert lance.dataset(namespace_client=namespace, table_id=["t"]).count_rows() == 3
        assert namespace.table("t").count() == 3


def test_lancedb_writes_and_reads_through_a_namespace():
    database = lancedb.connect_namespace("lancespace.upstream.memory", {})

    database.create_table("t", [{"a": 1}, {"a": 2}])

    assert database.open_table("t").count_rows() == 2
