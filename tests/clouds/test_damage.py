"""A manifest that lost its versions is an error in object stores, too, and is rebuilt from its data files."""

from __future__ import annotations

from datetime import timedelta

import pytest
from lance_namespace import InternalError

from lancespace_dir import repairs
from lancespace_dir.checks import check
from tests.emulators.clouds import Cloud

ROWS = [{"id": 1}]


@pytest.mark.parametrize("listing", ["true", "false"], ids=["compatibility", "V2"])
def test_a_damaged_manifest_is_one_error_until_fsck_rebuilds_it(cloud: Cloud, listing: str):
    root = cloud.new_root()
    with cloud.connect(root) as namespace:
        namespace.create_namespace("sales")
        namespace.create_table("sales.orders", ROWS)
        namespace.create_table("plain", ROWS)
    storage = cloud.storage(root)
    storage.delete_tree(f"{storage.path()}/__manifest/_versions")
    before = storage.filesystem.find(storage.path())

    with cloud.connect(root, dir_listing_enabled=listing) as namespace:
        for operation in (
            lambda: namespace.table("sales.orders").exists(),
            lambda: list(namespace.tables()),
            lambda: namespace.create_table("new", ROWS),
            lambda: namespace.declare_table("new"),
        ):
            with pytest.raises(InternalError, match="lancespace fsck"):
                operation()
        assert storage.filesystem.find(storage.path()) == before

        findings = list(check(namespace, older_than=timedelta(days=7)))
        assert [outcome for _, outcome in repairs.repair(namespace, findings, older_than=timedelta(days=7))] == [
            repairs.DONE
        ]
        assert list(namespace.tables("sales")) == ["orders"]
        assert namespace.table("plain").count() == 1
