"""Steps that make nothing new of rows, and the file in YAML; the jobs run in this process, and no Spark is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import InvalidInputError

from lancespace_spark.pipeline import load, run
from plugins.spark.tests.pipelines import INGEST, Folder, outcomes

VIEW = '[[step]]\nname = "view"\nkind = "view"\nview = "shop.few"\nsql = "SELECT id FROM raw.orders WHERE id < 3"\n'
INDEX = '[[step]]\nname = "index"\nkind = "index"\ntable = "raw.orders"\ncolumn = "id"\ntype = "BTREE"\n'
TIDY = """
[[step]]
name = "compact"
kind = "compact"
table = "raw.orders"
target_rows_per_fragment = 1000

[[step]]
name = "clean_up"
kind = "clean_up"
table = "raw.orders"
older_than_days = 0
"""
YAML = """
catalog: {root: lake, engine: local}
step:
  - {name: ingest, kind: ingest, files: [raw], into: raw.orders, mode: overwrite}
  - {name: view, kind: view, view: shop.all, sql: SELECT id FROM raw.orders}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("mon", "1,lamp", "2,desk")
    return folder


def test_a_view_follows_its_table(folder: Folder) -> None:
    assert folder.run(VIEW + INGEST)["view"] == ("refresh", 2)
    folder.write("tue", "0,sofa", "5,bench")
    folder.run(VIEW + INGEST)
    assert folder.ids("shop.few") == [0, 1, 2]


def test_a_view_with_another_query_is_told(folder: Folder) -> None:
    folder.run(INGEST + VIEW)
    with pytest.raises(InvalidInputError, match=r"step view: 'sql': the view 'shop.few' was made with another query"):
        folder.run(INGEST + VIEW.replace("id < 3", "id < 2"))
    with folder.namespace() as namespace:
        namespace.drop_table("shop.few")
    folder.run(INGEST + VIEW.replace("id < 3", "id < 2"))
    assert folder.ids("shop.few") == [1]
    with pytest.raises(InvalidInputError, match=r"'raw\.orders' is a table and no view"):
        folder.run(INGEST + VIEW.replace("shop.few", "raw.orders"))


def test_an_index_of_another_type_is_built_anew(folder: Folder) -> None:
    assert folder.run(INGEST + INDEX)["index"][0] == "first run"
    assert folder.run(INGEST + INDEX.replace("BTREE", "BITMAP"))["index"][0] == "changed"
    with folder.namespace() as namespace:
        found = namespace.list_table_indices("raw.orders").indexes
    assert [(one.index_name, one.index_type) for one in found] == [("id_idx", "BITMAP")]


def test_fragments_are_merged_and_old_versions_removed(folder: Folder) -> None:
    folder.run(INGEST)
    folder.write("tue", "3,sofa")
    assert {state for state, _ in folder.run(INGEST + TIDY).values()} == {"new data", "first run"}
    with folder.namespace() as namespace:
        dataset = namespace.table("raw.orders").dataset()
        assert (len(dataset.get_fragments()), len(dataset.versions())) == (1, 1)
    assert {state for state, _ in folder.run(INGEST + TIDY).values()} == {"up to date"}


def test_a_pipeline_in_yaml(folder: Folder) -> None:
    (folder.path / "p.yaml").write_text(YAML)
    for _ in range(2):
        last = outcomes(list(run(load(folder.path / "p.yaml"))))
    assert last["ingest"] == ("up to date", 0)
    folder.write("mon", "7,lamp")
    list(run(load(folder.path / "p.yaml")))
    assert folder.ids("shop.all") == [7]
