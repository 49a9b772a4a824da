"""fsck beside a writer in object stores, where a table that is being created has nothing at its location."""

from __future__ import annotations

from datetime import timedelta

import pytest
from lance_namespace import ConcurrentModificationError, InvalidTableStateError

from lancespace import Namespace
from lancespace_dir import mutations, repairs
from lancespace_dir.checks import check
from lancespace_tables import _creation as creation
from plugins.dir.tests.test_repairs import once
from tests.emulators.clouds import Cloud

ROWS = [{"id": 1}]
NOW = timedelta(seconds=-60)
"""Older than a moment in the future: everything. The stores' times are whole seconds."""


def repair(namespace: Namespace, older_than: timedelta = timedelta(days=7)) -> list[tuple[str, str]]:
    found = [one for one in check(namespace, older_than=older_than) if repairs.plan_repair(one, orphans=True)]
    return [(one.kind, outcome) for one, outcome in repairs.repair(namespace, found, older_than=older_than)]


@pytest.mark.parametrize("table", ["sales.orders", "plain"])
def test_a_table_that_is_being_created_is_left_alone(cloud: Cloud, table: str, monkeypatch: pytest.MonkeyPatch):
    root = cloud.new_root()
    with cloud.connect(root) as ns, cloud.connect(root) as fsck:
        ns.create_namespace("sales")
        outcomes: list[tuple[str, str]] = []
        with once(monkeypatch, creation, "_write_files", lambda: outcomes.extend(repair(fsck))):
            ns.create_table(table, ROWS)
        with once(monkeypatch, creation, "_commit_first_version", lambda: outcomes.extend(repair(fsck))):
            ns.create_table(f"{table}2", ROWS)

        assert outcomes == []
        assert ns.table(table).count() == ns.table(f"{table}2").count() == 1


def test_a_creator_whose_row_was_taken_out_reports_no_success(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    root = cloud.new_root()
    with cloud.connect(root) as ns, cloud.connect(root) as fsck:
        ns.create_namespace("sales")
        with (
            once(monkeypatch, creation, "_write_files", lambda: repair(fsck, NOW)),
            pytest.raises(ConcurrentModificationError, match="create it again"),
        ):
            ns.create_table("sales.orders", ROWS)


def test_an_orphan_that_is_registered_while_it_is_deleted(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    root = cloud.new_root()
    with cloud.connect(root) as ns, cloud.connect(root) as fsck:
        ns.create_namespace("sales")
        ns.create_table("sales.kept", ROWS)
        place = str(ns.deregister_table("sales.kept").location).rstrip("/").rpartition("/")[2]
        with (
            once(monkeypatch, mutations, "enter_table", lambda: repair(fsck, NOW)),
            pytest.raises(InvalidTableStateError, match="deleted"),
        ):
            ns.register_table("sales.found", location=place)
        assert list(ns.tables("sales")) == []
