"""head, count, query, sql and op, in a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lancespace_cli.values import distinct
from plugins.cli.tests.terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from lancespace import Namespace
    from plugins.cli.tests.terminals import Driver


def test_head_is_a_table_with_numbers_to_the_right(terminal: Terminal):
    assert terminal.run("head", "sales.orders", "-n", "3").lines == [
        "id  item  price",
        " 0  lamp    0.0",
        " 1  desk    1.5",
        " 2  sofa    3.0",
    ]


def test_vectors_and_long_texts_are_cut_for_a_person(terminal: Terminal):
    (_, row) = terminal.run("head", "docs", "-n", "1").lines

    assert row.split(maxsplit=1)[1].startswith("[0, 1, 2, … 16 in all]  page 0 about lance and tables")
    assert row.endswith("…")


@pytest.mark.usefixtures("ns")
def test_columns_that_do_not_fit_are_named(driver: Driver, folder: Path):
    narrow = Terminal(driver, folder, columns=40, LANCESPACE_ROOT=str(folder / "lake"))

    answer = narrow.run("head", "docs", "-n", "1")

    assert answer.lines[0].split() == ["id", "vector"]
    assert "Not shown, as they do not fit: body" in answer.text
    assert all(len(line) <= 40 for line in answer.lines[:2])


def test_count(terminal: Terminal, ns: Namespace):
    ns.create_table_tag("sales.orders", tag="first", version=1)

    assert terminal.run("count", "sales.orders").text == "20\n"
    assert terminal.run("count", "sales.orders", "--filter", "item = 'lamp'").text == "7\n"
    assert terminal.run("count", "sales.orders", "--version", "1").text == "10\n"
    assert terminal.run("count", "sales.orders", "--tag", "first").text == "10\n"
    assert terminal.run("count", "sales.orders", "--tag", "second").code == 18
    assert terminal.run("count", "sales.orders", "--tag", "first", "--version", "1").code == 2


def test_query_by_filter_vector_and_text(terminal: Terminal, ns: Namespace):
    ns.create_table_index("docs", column="body", index_type="FTS")
    vector = ",".join(str(float(3 + i)) for i in range(16))

    by_filter = terminal.run("query", "sales.orders", "--filter", "id >= 18", "--columns", "id,item")
    assert by_filter.lines == ["id  item", "18  lamp", "19  desk"]
    nearest = terminal.run(
        "query", "docs", "--vector", vector, "--vector-column", "vector", "-n", "1", "--columns", "id", "--json"
    )
    assert json.loads(nearest.text)["id"] == 3
    found = terminal.run("query", "docs", "--text", "page", "-n", "2", "--columns", "id", "--offset", "1", "--json")
    assert len(found.lines) == 2
    assert terminal.run("query", "docs", "--vector", "a,b").code == 2
    assert terminal.run("query", "docs", "--filter", "nothing = 1").code == 22


def test_a_branch_is_read_where_it_is(terminal: Terminal, ns: Namespace):
    ns.create_table_branch("sales.orders", name="trial", from_version=1)

    assert terminal.run("count", "sales.orders", "--branch", "trial").text == "10\n"
    assert len(terminal.run("head", "sales.orders", "--branch", "trial", "-n", "99").lines) == 11


def test_sql(terminal: Terminal):
    answer = terminal.run("sql", "SELECT item, count(*) AS n FROM sales.orders GROUP BY item ORDER BY item")

    assert answer.lines == ["item  n", "desk  7", "lamp  7", "sofa  6"]


def test_columns_of_the_same_name_are_all_there(terminal: Terminal):
    joined = (
        "sql",
        "SELECT a.id, b.item, b.id FROM sales.orders a JOIN sales.orders b ON a.id + 1 = b.id ORDER BY a.id LIMIT 1",
    )

    assert terminal.run(*joined).lines == ["id  item  id", " 0  desk   1"]
    assert terminal.pipe(*joined).stdout == b"id\titem\tid\n0\tdesk\t1\n"
    assert json.loads(terminal.run(*joined, "--json").text) == {"id": 0, "item": "desk", "id_2": 1}


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a", "a", "a_2"], ["a", "a_2", "a_2_2"]),
    ],
)
def test_keys_of_json_are_distinct(names: list[str], keys: list[str]):
    assert distinct(names) == keys


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (("head", "sales"), "Table not found: 'sales'. It is a namespace: see lancespace ls sales"),
        (("ls", "docs"), "It is a table: see lancespace describe docs"),
        (
            ("count", "sales.orders", "--filter", "item = lamp"),
            "If lamp is a text and no column, write it in single quotes",
        ),
        (
            ("query", "sales.orders", "--text", "lamp"),
            "column. Build one with: lancespace index create TABLE COLUMN FTS",
        ),
        (("sql", "SHOW TABLES"), "List tables with: lancespace tree"),
        (("sql", "SELECT * FROM sales.order"), """Did you mean "sales"."orders"?\n"""),
    ],
)
def test_errors_say_what_to_do(terminal: Terminal, command: tuple[str, ...], remedy: str):
    assert remedy in terminal.run(*command).text


def test_op_calls_any_operation(terminal: Terminal, folder: Path):
    assert json.loads(terminal.run("op", "list_tables", '{"id": ["sales"]}').text) == {"tables": ["orders"]}
    assert json.loads(terminal.run("op", "query_table", '{"id": ["docs"], "k": 1, "filter": "id = 7"}').text)["id"] == 7
    assert "describe_table" in terminal.run("op", "list").text
    wrong = terminal.run("op", "list_table")
    assert (wrong.code, "list_tables" in wrong.text) == (2, True)
    assert terminal.run("op", "list_tables", "{").code == 2
    (folder / "rows.csv").write_text("id\n1\n")
    insert = ("op", "insert_into_table", '{"id": ["docs"]}')
    assert "takes rows: add --data FILE" in terminal.run(*insert).text
    assert terminal.run(*insert, "--data", "absent.arrow").code == 2
    assert terminal.run(*insert, "--data", "rows.csv").code == 23
