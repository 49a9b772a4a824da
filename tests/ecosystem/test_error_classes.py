"""Error paths of lancedb and pylance end in the same exception classes as with the Rust implementation.

lancedb tells some errors by words in their messages; see :mod:`lancespace._messages`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import lance_namespace
import lancedb
import pytest
from lance_namespace import NamespaceNotEmptyError, TableNotFoundError

from plugins.server.tests.hosting import Running, catalog_url
from tests.ecosystem.conftest import ORDERS

RUST = "dir"
OURS = "lancespace_dir.DirectoryNamespace"
SERVED = "rest"

CASES: dict[str, Callable[[Any], object]] = {
    "open a missing table": lambda db: db.open_table("absent"),
    "open a missing table of a namespace": lambda db: db.open_table("absent", namespace_path=["full"]),
    "open a table of a missing namespace": lambda db: db.open_table("absent", namespace_path=["nowhere"]),
    "drop a missing table": lambda db: db.drop_table("absent"),
    "create a table again": lambda db: db.create_table("orders", ORDERS),
    "create a table of a namespace again": lambda db: db.create_table("orders", ORDERS, namespace_path=["full"]),
    "create a namespace again": lambda db: db.create_namespace(["full"]),
    "drop a full namespace": lambda db: db.drop_namespace(["full"]),
    "drop a missing namespace": lambda db: db.drop_namespace(["nowhere"]),
    "describe a missing namespace": lambda db: db.describe_namespace(["nowhere"]),
    "a version that is not there": lambda db: db.open_table("orders").checkout(99),
    "a column that is not there": lambda db: db.open_table("orders").search().where("nope = 1").to_arrow(),
    "rows of another schema": lambda db: db.open_table("orders").add([{"other": 1}]),
}
BRIDGED = {
    "drop a missing table": "Table not found: 'absent'",
    "create a table again": "Table already exists: 'orders'",
    "create a table of a namespace again": "Table already exists: 'full.orders'",
}
"""Where lancedb 0.40 looks at the Rust error, and makes a RuntimeError of whatever a namespace in Python raises."""


def database(implementation: str, root: Path, host: Running) -> Any:
    properties = {"uri": catalog_url(host, root)} if implementation == SERVED else {"root": str(root)}
    made = lancedb.connect_namespace(implementation, properties)
    made.create_namespace(["full"])
    made.create_table("orders", ORDERS)
    made.create_table("orders", ORDERS, namespace_path=["full"])
    return made


def outcome(call: Callable[[Any], object], db: Any) -> str:
    try:
        call(db)
    except Exception as error:  # noqa: BLE001 - its class is what is compared
        return f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    return "no error"


@pytest.mark.parametrize("case", CASES)
def test_lancedb(case: str, tmp_path: Path, host: Running):
    found = {
        name: outcome(CASES[case], database(name, tmp_path / str(number), host))
        for number, name in enumerate((RUST, OURS, SERVED))
    }
    classes = {name: said.partition(":")[0] for name, said in found.items()}
    assert found[RUST] != "no error"
    assert classes[SERVED] == classes[RUST], found
    if case in BRIDGED:
        assert classes[OURS] == "builtins.RuntimeError"
        assert BRIDGED[case] in found[OURS]
    else:
        assert classes[OURS] == classes[RUST], found


def test_the_classes_are_those_that_programs_catch(tmp_path: Path, host: Running):
    for number, implementation in enumerate((OURS, SERVED)):
        made = database(implementation, tmp_path / str(number), host)
        with pytest.raises(TableNotFoundError):
            made.open_table("absent", namespace_path=["full"])
        with pytest.raises(NamespaceNotEmptyError):
            made.drop_namespace(["full"])


@pytest.mark.parametrize("table", [["absent"], ["full", "absent"], ["nowhere", "absent"]], ids=".".join)
def test_pylance(table: list[str], tmp_path: Path, host: Running):
    raised = {}
    for number, name in enumerate((RUST, OURS, SERVED)):
        root = tmp_path / str(number)
        database(name, root, host)
        properties = {"uri": catalog_url(host, root)} if name == SERVED else {"root": str(root)}
        client = lance_namespace.connect(name, properties)
        with pytest.raises(lance_namespace.LanceNamespaceError) as caught:
            lance.dataset(namespace_client=client, table_id=table)
        raised[name] = type(caught.value)
    if table[0] != "nowhere":  # There ours name the namespace, since that is what is missing.
        assert raised[OURS] is raised[SERVED] is raised[RUST], raised
