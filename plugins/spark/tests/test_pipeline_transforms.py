"""What a transform does when its source, its target or itself is not what it was."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, UnsupportedOperationError

import lancespace_jobs as jobs
from lancespace_jobs import Stage, TableSpec, Written, declare
from lancespace_spark.pipeline import transforming
from plugins.spark.tests.pipelines import INGEST, Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = """
[[step]]
name = "log"
kind = "transform"
from = "raw.orders"
into = "shop.log"
sql = "SELECT id, item FROM source"
"""
BY_KEY = LOG + 'key = ["id"]\n'
FUNCTION = """
[[step]]
name = "function"
kind = "embed"
from = "raw.orders"
into = "shop.vectors"
function = "making:make"
schema = "id long, v array<float>"
vectors = { v = 2 }
mode = "overwrite"
"""
MODULE = """
import pyarrow as pa

def make(batch):
    vectors = pa.array([[1.0, NUMBER]] * batch.num_rows, pa.list_(pa.float32()))
    return pa.RecordBatch.from_arrays([batch.column("id"), vectors], ["id", "v"])
"""


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Folder:
    assert spark.version
    folder = Folder(tmp_path, engine="spark")
    with folder.namespace() as namespace:
        namespace.create_namespace("raw")
        namespace.create_table("raw.orders", orders(1, 2))
    return folder


def orders(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "item": ["lamp"] * len(ids)})


def test_a_key_that_is_there_twice_is_told_from_the_first_run_on(folder: Folder) -> None:
    with folder.namespace() as namespace:
        namespace.insert_into_table("raw.orders", orders(2))
    twice = (
        r"orders: step log: the source .* several rows with the key {'id': 2}: .* one row for each key, .*GROUP BY id"
    )
    with pytest.raises(InvalidInputError, match=twice):
        folder.run(BY_KEY)
    with folder.namespace() as namespace:
        assert not namespace.table("shop.log").exists()
    once = BY_KEY.replace("SELECT id, item FROM source", "SELECT id, max(item) AS item FROM source GROUP BY id")
    assert folder.run(once)["log"] == ("first run", 2)


def test_a_transform_that_fails_leaves_another_writer_at_its_work(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with folder.namespace() as namespace:
        namespace.create_namespace("shop")
        handle, rows = TableSpec.of(namespace, "shop.log"), orders(1, 2, 3)
        stage, written = Stage(handle, "other", "create"), list[Written]()

        def meet_another(*_: object) -> int:
            assert declare(handle)
            written.append(stage.write(rows.to_batches(), rows.schema))
            raise InvalidInputError("failed meanwhile")

        monkeypatch.setattr(transforming, "_written", meet_another)
        with pytest.raises(InvalidInputError, match="failed meanwhile"):
            folder.run(LOG)

        with stage.published(written) as fragments:
            stage.commit(rows.schema, fragments, None)
        assert namespace.table("shop.log").count() == 3


def test_an_edited_append_is_refused_and_the_ways_out_work(folder: Folder) -> None:
    folder.run(LOG)
    edited = LOG.replace("id, item", "id, upper(item) AS item")
    with pytest.raises(InvalidInputError, match=r"step log: the step was edited .* mode 'overwrite', a 'key', or"):
        folder.run(edited)
    assert folder.run(edited + 'mode = "overwrite"\n')["log"] == ("changed", 2)
    assert folder.rows("shop.log") == [{"id": 1, "item": "LAMP"}, {"id": 2, "item": "LAMP"}]
    assert folder.run(edited.replace("shop.log", "shop.other"))["log"] == ("first run", 2)


def test_an_edited_module_is_an_edit_and_vectors_stay_vectors(folder: Folder) -> None:
    module = folder.path / "making.py"
    for number in ("1.0", "2.0"):
        module.write_text(MODULE.replace("NUMBER", number))
        assert folder.run(FUNCTION)["function"] == ("first run" if number == "1.0" else "changed", 2)
        assert folder.rows("shop.vectors")[0] == {"id": 1, "v": [1.0, float(number)]}
    with folder.namespace() as namespace:
        assert namespace.table("shop.vectors").dataset().schema.field("v").type == pa.list_(pa.float32(), 2)
    assert folder.run(FUNCTION)["function"] == ("up to date", 0)


@pytest.mark.parametrize("versions", [1, 2])
def test_a_source_that_was_made_anew_is_read_whole(folder: Folder, versions: int) -> None:
    folder.run(BY_KEY)
    folder.run(BY_KEY + LOG.replace('"log"', '"second"').replace("shop.log", "shop.second"))
    with folder.namespace() as namespace:
        namespace.drop_table("raw.orders")
        namespace.create_table("raw.orders", orders(11))
        if versions == 2:
            namespace.insert_into_table("raw.orders", orders(12))
    with pytest.raises(UnsupportedOperationError, match=r"step second: .* but it was dropped and made anew"):
        folder.run(BY_KEY + LOG.replace('"log"', '"second"').replace("shop.log", "shop.second"))
    assert folder.ids("shop.log") == [1, 11, *([12] if versions == 2 else []), 2]


def test_a_target_that_was_dropped_is_filled_anew(folder: Folder) -> None:
    folder.run(LOG)
    with folder.namespace() as namespace:
        namespace.drop_table("shop.log")
    assert folder.run(LOG)["log"] == ("first run", 2)


def test_versions_that_were_cleaned_up_are_told_as_such(folder: Folder) -> None:
    folder.run(LOG)
    with folder.namespace() as namespace:
        namespace.insert_into_table("raw.orders", orders(3))
        namespace.insert_into_table("raw.orders", orders(4))
        jobs.clean_up(namespace, "raw.orders", older_than=timedelta(0)).wait()
    with pytest.raises(UnsupportedOperationError, match="its versions since 1, which would tell, were cleaned up"):
        folder.run(LOG)
    assert folder.run(BY_KEY)["log"] == ("changed", 4)


def test_changed_rows_end_an_append_and_are_upserted_by_key(folder: Folder) -> None:
    both = BY_KEY + LOG.replace('"log"', '"second"').replace("shop.log", "shop.second")
    folder.run(both)
    with folder.namespace() as namespace:
        namespace.update_table("raw.orders", predicate="id = 2", updates=[["item", "'desk'"]])
    with pytest.raises(UnsupportedOperationError, match=r"step second: .* rows there were changed or removed since"):
        folder.run(both)
    assert folder.rows("shop.log")[1] == {"id": 2, "item": "desk"}


def test_the_rows_of_a_step_are_the_source_whatever_the_catalog_has(folder: Folder) -> None:
    with folder.namespace() as namespace:
        namespace.create_table("source", orders(666))
    folder.run(LOG.replace("SELECT id, item FROM source", "WITH s AS (SELECT * FROM source) SELECT s.* FROM s;"))
    assert folder.ids("shop.log") == [1, 2]


MISTAKES = {
    "column": (LOG.replace("id, item", "nope"), "'sql': .*nope"),
    "syntax": (LOG.replace("SELECT id", "SELEC id"), "'sql': .*SELEC|'sql': .*[Ss]yntax"),
    "table": (LOG.replace("FROM source", "FROM shop.nope"), "'sql': .*shop.nope"),
    "schema": (FUNCTION.replace("making", "raising").replace("id long,", "id lng,,"), "'schema' cannot be 'id lng,"),
    "no module": (FUNCTION.replace("making", "nowhere"), ".*no function 'nowhere:make': ModuleNotFoundError"),
    "no function": (
        FUNCTION.replace("making:make", "raising:nope"),
        ".*no function 'raising:nope': AttributeError",
    ),
    "syntax of a module": (FUNCTION.replace("making", "broken"), ".*no function 'broken:make': SyntaxError"),
    "raises": (FUNCTION.replace("making", "raising"), "'function' raising:make: ValueError: no good$"),
    "not there": (LOG.replace("raw.orders", "raw.nope"), "'from': the table 'raw.nope' is not there"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_that_names_the_step(folder: Folder, what: str) -> None:
    (folder.path / "raising.py").write_text("def make(batch):\n    raise ValueError('no good')\n")
    (folder.path / "broken.py").write_text("def make(:\n")
    steps, message = MISTAKES[what]
    with pytest.raises(InvalidInputError, match=f"^orders: step (log|function): ({message})") as told:
        folder.run(steps)
    assert "\n" not in str(told.value)
    with folder.namespace() as namespace:
        assert not list(namespace.tables("shop"))


def test_jobs_run_on_spark_unless_the_file_names_another_engine(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lancespace_spark.engine import SparkEngine

    used: list[str] = []
    real = SparkEngine._on_executor

    def spied(self: SparkEngine, *task: object) -> object:
        used.append("executor")
        return real(self, *task)  # type: ignore[arg-type]

    monkeypatch.setattr(SparkEngine, "_on_executor", spied)
    folder.write("mon", "1,lamp")
    ingest = INGEST.replace("raw.orders", "raw.files")
    file = folder.path / "orders.toml"
    folder.pipeline(ingest)
    file.write_text(file.read_text().replace('engine = "spark"\n', ""))
    from lancespace_spark.pipeline import load, run

    list(run(load(file)))
    assert set(used) == {"executor"}
