"""ls, tree, describe, create, drop, rename, in a terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lancespace import Namespace
    from plugins.cli.tests.terminals import Terminal


def test_ls(terminal: Terminal):
    assert terminal.run("ls").lines == ["sales.", "docs"]
    assert terminal.run("ls", "sales", "--long").lines == ["name    kind", "orders  table"]
    assert json.loads(terminal.run("--json", "ls").text) == [
        {"name": "sales", "kind": "namespace"},
        {"name": "docs", "kind": "table"},
    ]


def test_what_is_empty_is_said_to_be(terminal: Terminal):
    for command in ("ls", "tree"):
        assert terminal.run(command, "--root", "lkae").lines[-1] == "dir(root=lkae) is empty."
        assert terminal.pipe(command, "--root", "lkae").stdout == b""
    assert json.loads(terminal.run("ls", "--root", "lkae", "--json").text) == []


def test_tree_is_drawn(terminal: Terminal):
    answer = terminal.run("tree")

    assert [line.strip() for line in answer.lines[1:]] == ["├── sales.", "│   └── orders", "└── docs"]
    assert "\x1b[1m" in answer.raw
    assert json.loads(terminal.run("tree", "--json").text) == {
        "namespaces": {"sales": {"namespaces": {}, "tables": ["orders"]}},
        "tables": ["docs"],
    }


def test_describe_a_table_and_a_namespace(terminal: Terminal):
    table = terminal.run("describe", "docs")

    assert table.lines[-3:] == [
        "id      int64",
        "vector  fixed_size_list<item: float32> x 16",
        "body    utf8",
    ]
    assert json.loads(terminal.run("describe", "sales.orders", "--json").text)["version"] == 2
    assert terminal.run("describe", "sales").lines == ['properties  {"owner": "ada"}']


def test_what_is_not_there_has_a_near_match_and_an_exit_code(terminal: Terminal):
    answer = terminal.run("head", "sales.order")

    assert answer.lines == ["Error: Table not found: 'sales.order'. Did you mean 'sales.orders'?"]
    assert answer.code == 14
    assert terminal.run("describe", "sale.orders").text.endswith("was not found. Did you mean 'sales'?\n")
    for command in ("describe", "drop"):
        assert terminal.run(command, "doc").lines == [
            "Error: Table or namespace not found: 'doc'. Did you mean 'docs'?"
        ]
    asked_for_json = terminal.run("describe", "--json", "nothing.like.it")
    assert json.loads(asked_for_json.text)["type"] == "NamespaceNotFoundError"
    assert asked_for_json.code == 11


def test_wrong_usage_is_one_line(terminal: Terminal):
    answer = terminal.run("head", "sales.orders", "--limt", "3")

    assert answer.code == 2
    assert len(answer.lines) == 1
    assert re.search("--limt.*--limit.*see: lancespace head --help", answer.text)
    assert json.loads(terminal.run("--json", "lss").text)["exit_code"] == 2
    assert terminal.run("ls", "--root").text.startswith("Error: Option '--root' requires an argument")
    assert terminal.run("tag").text.startswith("Usage: lancespace tag")


def test_create_rename_and_drop(terminal: Terminal, ns: Namespace):
    assert terminal.run("create", "lab.", "--set", "a=b").code == 23
    assert terminal.run("create", "lab", "--set", "a=b").lines == ["Created the namespace lab."]
    assert terminal.run("create", "lab").code == 12
    assert terminal.run("create", "lab", "--exist-ok").code == 0
    ns.declare_table("trial")
    assert terminal.run("rename", "trial", "lab.trial").lines == ["trial is lab.trial now."]
    assert list(ns.tables("lab")) == ["trial"]


def test_drop_asks_and_can_be_tried_dry(terminal: Terminal, ns: Namespace):
    ns.create_namespace("old", mode="exist_ok")
    ns.declare_table("old.table")

    assert terminal.run("drop", "old", "--cascade", "--dry-run").lines == [
        "Would drop the namespace old and what is in it: old.table."
    ]
    assert terminal.run("drop", "old").lines == [
        "Error: The namespace 'old' holds old.table: --cascade drops these with it."
    ]
    refused = terminal.run("drop", "old", "--cascade", answer="n")
    assert refused.code == 1
    assert refused.text.endswith("Error: nothing was changed\n")
    assert ns.table("old.table").exists()
    assert terminal.run("drop", "old.table", answer="y").code == 0
    assert not ns.table("old.table").exists()
    assert json.loads(terminal.run("drop", "old", "--yes", "--json").text) == {"dropped": ["old"]}
