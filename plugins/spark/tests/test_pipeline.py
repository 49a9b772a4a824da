from __future__ import annotations

import runpy
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lance_namespace import InvalidInputError

from lancespace import connect
from lancespace_spark.pipeline import Pipeline, Step, load, plan, run
from lancespace_spark.pipeline.state import PipelineState
from plugins.spark.tests.pipelines import outcomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = """
[catalog]
root = "lake"

[[step]]
name = "ingest"
kind = "ingest"
files = "raw/*.csv"
into = "raw.orders"

[[step]]
name = "log"
kind = "transform"
from = "raw.orders"
sql = "SELECT id, upper(item) AS item FROM source"
into = "shop.log"

[[step]]
name = "orders"
kind = "upsert"
from = "raw.orders"
function = "making:double"
schema = "id long, twice long"
into = "shop.orders"
key = ["id"]

[[step]]
name = "index"
kind = "index"
table = "shop.orders"
column = "id"
type = "BTREE"
"""

MODULE = """
import pyarrow as pa
import pyarrow.compute as pc

def double(batch):
    ids = batch.column("id")
    return pa.RecordBatch.from_arrays([ids, pc.multiply(ids, 2)], names=["id", "twice"])
"""


@pytest.fixture
def pipeline(tmp_path: Path, spark: SparkSession) -> Pipeline:
    """Its Spark is the running one: a session is shared by all that ask for one."""
    assert spark.version
    (tmp_path / "raw").mkdir()
    (tmp_path / "orders.toml").write_text(FILE)
    (tmp_path / "making.py").write_text(MODULE)
    write(tmp_path, "a", "1,lamp", "2,desk")
    return load(tmp_path / "orders.toml")


def write(folder: Path, name: str, *rows: str) -> None:
    (folder / "raw" / f"{name}.csv").write_text("\n".join(["id,item", *rows]) + "\n")


def rows(pipeline: Pipeline, table: str) -> list[dict[str, object]]:
    with connect(pipeline.backend, pipeline.properties) as namespace:
        return sorted(namespace.table(table).to_arrow().to_pylist(), key=str)


def test_each_run_works_on_what_is_new(pipeline: Pipeline, tmp_path: Path) -> None:
    assert {planned.state for planned in plan(pipeline)} == {"first run"}
    first = outcomes(list(run(pipeline)))
    assert first["ingest"] == ("first run", 2)
    assert first["log"] == ("first run", 2)
    assert {state for state, _ in outcomes(list(run(pipeline))).values()} == {"up to date"}

    write(tmp_path, "b", "2,bench", "3,sofa")
    second = outcomes(list(run(pipeline)))
    assert second["ingest"] == ("new data", 2)
    assert second["log"] == ("new data", 2)
    assert [row["item"] for row in rows(pipeline, "shop.log")] == ["LAMP", "BENCH", "DESK", "SOFA"]
    assert rows(pipeline, "shop.orders") == [{"id": 1, "twice": 2}, {"id": 2, "twice": 4}, {"id": 3, "twice": 6}]
    with connect(pipeline.backend, pipeline.properties) as namespace:
        stats = namespace.describe_table_index_stats("shop.orders", index_name="id_idx")
        assert stats.num_unindexed_rows == 0


def test_a_failed_run_goes_on_with_the_step_that_failed(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "making.py").rename(tmp_path / "hidden.py")
    broken = Pipeline(**{**vars(pipeline), "steps": tuple(_without_module(pipeline))})
    with pytest.raises(InvalidInputError, match="there is no function 'nowhere:double'"):
        list(run(broken))
    (tmp_path / "hidden.py").rename(tmp_path / "making.py")
    after = outcomes(list(run(pipeline)))
    assert after["ingest"] == ("up to date", 0)
    assert after["log"] == ("up to date", 0)
    assert after["orders"] == ("first run", 2)


def _without_module(pipeline: Pipeline) -> list[object]:
    return [
        replace(step, fields={**step.fields, "function": "nowhere:double"}) if step.name == "orders" else step
        for step in pipeline.steps
    ]


def test_an_append_that_was_forgotten_is_not_done_twice(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash after the commit of a step and before the pipeline remembers it, and more to do afterwards."""
    real = PipelineState.succeeded

    def die(self: PipelineState, step: Step, seen: object) -> None:
        if step.name == "log":
            raise KeyboardInterrupt
        real(self, step, seen)

    with monkeypatch.context() as dying:
        dying.setattr(PipelineState, "succeeded", die)
        with pytest.raises(KeyboardInterrupt):
            list(run(pipeline))
    write(tmp_path, "b", "3,sofa")
    assert outcomes(list(run(pipeline)))["log"] == ("first run", 1)
    assert [row["id"] for row in rows(pipeline, "shop.log")] == [1, 2, 3]


def test_the_example_of_the_quickstart_runs(tmp_path: Path, spark: SparkSession) -> None:
    """What `make quickstart` shows, on the Spark that runs already."""
    assert spark.version
    examples = Path(__file__).parents[3] / "examples"
    shutil.copytree(examples / "pipeline", tmp_path, dirs_exist_ok=True)
    (tmp_path / "raw").mkdir()
    write_orders = runpy.run_path(str(examples / "quickstart.py"))["write_orders"]
    example = replace(load(tmp_path / "orders.toml"), spark={})
    for day in ("monday", "tuesday"):
        write_orders(tmp_path / "raw" / f"{day}.csv", seed=day)
        assert outcomes(list(run(example)))["ingest"][1] == 1000
    assert {row["item"] for row in rows(example, "shop.totals")} == {"lamp", "desk", "chair", "sofa"}
    assert len(rows(example, "shop.vectors")) == len(rows(example, "shop.orders"))
