"""versions, diff, restore, tag, branch, index, stats and compact, in a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from plugins.cli.tests.conftest import orders

if TYPE_CHECKING:
    from lancespace import Namespace
    from plugins.cli.tests.terminals import Terminal


def test_tags_are_made_moved_and_deleted(terminal: Terminal):
    assert terminal.run("tag", "create", "sales.orders", "good", "1").lines == ["good is version 1 of sales.orders."]
    assert terminal.run("tag", "create", "sales.orders", "good", "1").code == 19
    assert terminal.run("tag", "update", "sales.orders", "good", "2").code == 0
    assert terminal.run("tag", "list", "sales.orders").lines == ["tag   version  branch", "good        2"]
    assert [line.split()[0] for line in terminal.run("versions", "sales.orders").lines] == ["version", "2", "1"]
    assert terminal.run("versions", "sales.orders", "-n", "1").lines[1].endswith("good")
    assert terminal.run("tag", "delete", "sales.orders", "good", "--dry-run").code == 0
    assert terminal.run("tag", "delete", "sales.orders", "good", answer="y").code == 0
    assert terminal.run("tag", "delete", "sales.orders", "good", "--yes").code == 18


def test_branches(terminal: Terminal):
    assert terminal.run("branch", "create", "sales.orders", "trial", "--from-version", "1").code == 0
    assert terminal.run("branch", "list", "sales.orders").lines == ["branch  from  version", "trial   main        1"]
    assert terminal.run("branch", "delete", "sales.orders", "trial", "--dry-run").code == 0
    assert terminal.run("branch", "delete", "sales.orders", "trial", answer="y").code == 0
    assert json.loads(terminal.run("branch", "list", "sales.orders", "--json").text) == []


def test_diff_counts_and_by_key_shows_rows(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.changing", orders(0, 6))
    ns.insert_into_table("sales.changing", orders(6, 8))
    ns.update_table("sales.changing", updates=[["price", "price + 100"]], predicate="id = 1")
    ns.delete_from_table("sales.changing", predicate="id = 0")
    ns.alter_table_add_columns("sales.changing", new_columns=[{"name": "gross", "expression": "price * 2"}])
    ns.create_table_tag("sales.changing", tag="start", version=1)

    counted = json.loads(terminal.run("diff", "sales.changing", "start", "--json").text)
    assert (counted["rows_before"], counted["rows_after"]) == (6, 7)
    assert counted["columns_added"] == ["gross"]
    by_key = json.loads(terminal.run("diff", "sales.changing", "1", "4", "--key", "id", "--json").text)
    assert {kind: [row["id"] for row in by_key[kind]] for kind in ("added", "removed", "changed")} == {
        "added": [6, 7],
        "removed": [0],
        "changed": [1],
    }
    shown = terminal.run("diff", "sales.changing", "1", "4", "--key", "id")
    assert shown.lines[-3:] == ["changed:", "id  item  price", " 1  desk  101.5"]


def test_diff_refuses_what_it_cannot_do_well(terminal: Terminal):
    too_many = terminal.run("diff", "sales.orders", "1", "2", "--key", "id", "--max-rows", "5")
    assert (too_many.code, "raise --max-rows" in too_many.text) == (23, True)
    assert terminal.run("diff", "sales.orders", "1", "2", "--key", "item").code == 23
    assert terminal.run("diff", "sales.orders", "1", "2", "--key", "nothing").code == 22
    assert terminal.run("diff", "sales.orders", "1", "99").code == 21


def test_restore(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.restored", orders(0, 3))
    ns.insert_into_table("sales.restored", orders(3, 6))

    assert terminal.run("restore", "sales.restored", "1", "--dry-run").code == 0
    assert terminal.run("restore", "sales.restored", "1", answer="n").code == 1
    assert ns.table("sales.restored").count() == 6
    assert terminal.run("restore", "sales.restored", "1", answer="y").code == 0
    assert ns.table("sales.restored").count() == 3
    assert terminal.run("restore", "sales.restored", "99", "--yes").code == 21


def test_indexes_and_stats(terminal: Terminal):
    assert terminal.run("index", "create", "sales.orders", "id", "BTREE", "--name", "by_id").code == 0
    assert terminal.run("index", "list", "sales.orders").lines[1].split() == ["by_id", "id", "BTREE", "SUCCEEDED"]
    assert json.loads(terminal.run("index", "stats", "sales.orders", "by_id", "--json").text)["num_indexed_rows"] == 20
    assert terminal.run("index", "drop", "sales.orders", "by_id", "--dry-run").code == 0
    assert terminal.run("index", "drop", "sales.orders", "by_id", answer="y").code == 0
    assert terminal.run("index", "drop", "sales.orders", "by_id", "--yes").code == 16
    assert terminal.run("index", "create", "docs", "vector", "IVF_FLAT", "--set", "num_partitions=1").code == 0
    facts = dict(line.split() for line in terminal.run("stats", "sales.orders").lines)
    assert (facts["num_rows"], facts["num_fragments"]) == ("20", "2")


def test_compact(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.small", orders(0, 2))
    for start in (2, 4, 6):
        ns.insert_into_table("sales.small", orders(start, start + 2))

    assert terminal.run("compact", "sales.small").lines[-1].startswith("compact sales.small: done")
    assert len(ns.table("sales.small").dataset().get_fragments()) == 1
    assert terminal.run("compact", "sales.smal").code == 14
