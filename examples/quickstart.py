"""A two-minute tour: what `make quickstart` runs, and what the README shows."""

from __future__ import annotations

import tempfile

import pyarrow as pa
from lance_namespace import LanceNamespaceError

import lancespace


def tour(namespace: lancespace.Namespace) -> None:
    """Name, fill, find, version and query a table."""
    print(f"\n# {namespace!r}: {len(namespace.capabilities())} of {len(lancespace.OPERATIONS)} operations")
    namespace.create_namespace("sales", properties={"owner": "Ada"})
    orders = pa.table(
        {
            "id": [1, 2, 3],
            "item": ["lamp", "desk", "chair"],
            "embedding": pa.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], pa.list_(pa.float32(), 2)),
        }
    )
    print("create  ", namespace.create_table("sales.orders", orders).location)
    print("insert  ", namespace.insert_into_table("sales.orders", orders.slice(0, 1)).version)
    print("tables  ", list(namespace.tables("sales")))

    table = namespace.table("sales.orders")
    print("count   ", table.count(), "rows,", table.count("item = 'lamp'"), "lamps")
    print("filter  ", table.to_arrow(filter="id > 1", columns=["id", "item"]).to_pylist())
    print("nearest ", table.to_arrow(vector=[0.6, 0.8], k=1, columns=["item"]).to_pylist())
    print("versions", [version.version for version in namespace.list_table_versions("sales.orders").versions])

    namespace.rename_table("sales.orders", new_table_name="orders_2026")
    print("renamed ", list(namespace.tables("sales")))
    try:
        namespace.describe_table("sales.orders")
    except LanceNamespaceError as error:
        print("error   ", f"{type(error).__name__} (code {error.code.value}): {error}")


def main() -> None:
    """Take the tour in memory, then in a directory, and look at the directory with pylance's own implementation."""
    with lancespace.connect("memory") as namespace:
        tour(namespace)
    with tempfile.TemporaryDirectory() as root:
        with lancespace.connect("dir", {"root": root}) as namespace:
            tour(namespace)
        look_with_pylance(root)


def look_with_pylance(root: str) -> None:
    """The same files, read by the Rust implementation."""
    from lance.namespace import DirectoryNamespace
    from lance_namespace import ListTablesRequest

    rust = DirectoryNamespace(root=root)
    print("\n# the same directory through pylance's DirectoryNamespace")
    print("tables  ", rust.list_tables(ListTablesRequest(id=["sales"])).tables)


if __name__ == "__main__":
    main()
