"""A two-minute tour: what `make quickstart` runs, and what the README shows."""

from __future__ import annotations

import csv
import random
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
from lance_namespace import LanceNamespaceError, UnsupportedOperationError

import lancespace
from lancespace.authoring import OPERATIONS


def tour(namespace: lancespace.Namespace) -> None:
    """Name, fill, find, version and query a table."""
    print(f"\n# {namespace!r}: {len(namespace.capabilities())} of {len(OPERATIONS)} operations")
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
    with tempfile.TemporaryDirectory() as folder:
        run_pipeline(Path(folder))


def look_with_pylance(root: str) -> None:
    """The same files, read by the Rust implementation."""
    from lance.namespace import DirectoryNamespace
    from lance_namespace import ListTablesRequest

    rust = DirectoryNamespace(root=root)
    print("\n# the same directory through pylance's DirectoryNamespace")
    print("tables  ", rust.list_tables(ListTablesRequest(id=["sales"])).tables)


def run_pipeline(folder: Path) -> None:
    """Raw files to clean rows, vectors, an index and a view, on embedded local Spark; twice, as files come in."""
    from lancespace_spark.java import find_java
    from lancespace_spark.pipeline import load, run

    print("\n# examples/pipeline/orders.toml on generated data, on local Spark")
    try:
        find_java()
    except UnsupportedOperationError as error:
        print("skipped:", error)
        return
    shutil.copytree(Path(__file__).parent / "pipeline", folder, dirs_exist_ok=True)
    (folder / "raw").mkdir()
    for day in ("monday", "tuesday"):
        write_orders(folder / "raw" / f"{day}.csv", seed=day)
        for outcome in run(load(folder / "orders.toml")):
            print(f"{day:8} {outcome.step.name:11} {outcome.state:10} {outcome.rows:5} rows {outcome.seconds:5.1f} s")
    with lancespace.connect("dir", {"root": str(folder / "lake")}) as namespace:
        query = "SELECT item, orders FROM shop.totals ORDER BY orders DESC, item LIMIT 3"
        print("best    ", namespace.sql(query).read_all().to_pylist())


def write_orders(file: Path, seed: str) -> None:
    """A day's orders, some of them useless."""
    chance = random.Random(seed)  # noqa: S311 - an example, not a secret
    with file.open("w", newline="") as sink:
        rows = csv.writer(sink)
        rows.writerow(["id", "item", "price"])
        for number in chance.sample(range(5000), 1000):
            item = chance.choice([" Lamp ", "desk", "Chair", "sofa"])
            rows.writerow([number, item, round(chance.uniform(-5, 300), 2)])


if __name__ == "__main__":
    main()
