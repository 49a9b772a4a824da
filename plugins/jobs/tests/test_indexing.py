from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableIndexAlreadyExistsError

import lancespace_jobs as jobs
from lancespace_jobs import JobFailedError
from lancespace_jobs import _index_builds as indexing
from plugins.jobs.tests.support import TABLE, files

if TYPE_CHECKING:
    from lancespace import Namespace

VECTOR: dict[str, dict[str, Any]] = {
    "IVF_FLAT": {},
    "IVF_SQ": {},
    "IVF_RQ": {},
    "IVF_PQ": {"num_sub_vectors": 2},
    "IVF_HNSW_FLAT": {},
    "IVF_HNSW_SQ": {},
    "IVF_HNSW_PQ": {"num_sub_vectors": 2},
}
SCALAR = {
    "BTREE": "id",
    "BITMAP": "kind",
    "ZONEMAP": "id",
    "BLOOMFILTER": "id",
    "LABEL_LIST": "tags",
    "NGRAM": "text",
    "FTS": "text",
    "INVERTED": "text",
    "MINHASHLSH": "text",
    "RTREE": "place",
}
PLACE = pa.field("place", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
FRAGMENTS, ROWS, DIMENSION = 3, 400, 32


def fill(ns: Namespace) -> None:
    random = np.random.default_rng(7)
    for number in range(FRAGMENTS):
        numbers = range(number * ROWS, (number + 1) * ROWS)
        floats = pa.array(random.random(ROWS * DIMENSION, np.float32))
        table = pa.table(
            {
                "id": numbers,
                "kind": [f"k{one % 3}" for one in numbers],
                "text": [f"word{one} more" for one in numbers],
                "tags": [[f"t{one % 5}"] for one in numbers],
                "v": pa.FixedSizeListArray.from_arrays(floats, DIMENSION),
            }
        )
        places = pa.array([struct.pack("<BIdd", 1, 1, one, one) for one in numbers])
        table = table.append_column(PLACE, places)
        (ns.insert_into_table if number else ns.create_table)(TABLE, table)


def segments(ns: Namespace, name: str) -> int:
    indexes = {index.name: index for index in ns.table(TABLE).dataset().describe_indices()}
    return len(indexes[name].segments)


@pytest.mark.parametrize("kind", VECTOR)
def test_a_vector_index_of_every_type_finds_the_nearest(ns: Namespace, kind: str) -> None:
    fill(ns)
    jobs.build_index(ns, TABLE, "v", kind, segment_rows=ROWS, num_partitions=2, **VECTOR[kind]).wait()
    assert segments(ns, "v_idx") == FRAGMENTS
    dataset = ns.table(TABLE).dataset()
    wanted = dataset.take([450], columns=["v"])["v"][0].values.to_numpy()
    assert "ANN" in dataset.scanner(nearest={"column": "v", "q": wanted, "k": 5}).explain_plan(verbose=True)
    found = ns.table(TABLE).to_arrow(vector=wanted.tolist(), k=5, refine_factor=20, nprobes=2, columns=["id"])
    assert found["id"].to_pylist()[0] == 450


@pytest.mark.parametrize("kind", SCALAR)
def test_a_scalar_index_of_every_type_covers_all_rows(ns: Namespace, kind: str) -> None:
    fill(ns)
    jobs.build_index(ns, TABLE, SCALAR[kind], kind, segment_rows=ROWS).wait()
    stats = ns.describe_table_index_stats(TABLE, index_name=f"{SCALAR[kind]}_idx")
    assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (FRAGMENTS * ROWS, 0)
    assert ns.table(TABLE).count("id = 777 AND kind = 'k0' AND array_has(tags, 't2')") == 1
    if kind in {"FTS", "INVERTED"}:
        assert ns.table(TABLE).to_arrow(full_text_query="word777", columns=["id"])["id"].to_pylist() == [777]


def test_a_repeat_goes_on_with_the_models_and_segments_of_a_failed_run(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ns)
    real_build, real_train = indexing.build_segment, indexing.train_models
    built: list[Any] = []
    trained: list[Any] = []
    is_lost = [True]

    def build(task: Any) -> dict[str, Any]:
        if is_lost and len(built) == 2:
            raise InvalidInputError("the machine is lost")
        built.append(task.fragments)
        return real_build(task)

    def train(task: Any) -> dict[str, Any]:
        trained.append(task)
        return real_train(task)

    monkeypatch.setattr(indexing, "build_segment", build)
    monkeypatch.setattr(indexing, "train_models", train)
    options: dict[str, Any] = {"segment_rows": ROWS, "num_partitions": 2, "num_sub_vectors": 2}
    with pytest.raises(JobFailedError, match="the machine is lost"):
        jobs.build_index(ns, TABLE, "v", "IVF_PQ", **options).wait()
    assert ns.table(TABLE).dataset().describe_indices() == []
    is_lost.clear()
    jobs.build_index(ns, TABLE, "v", "IVF_PQ", **options).wait()
    assert len(trained) == 1
    assert len(built) < 2 + FRAGMENTS  # At least one was kept; one that ends beside the failure may be lost.
    assert segments(ns, "v_idx") == FRAGMENTS


def test_mistakes_are_told_before_a_job_begins(ns: Namespace) -> None:
    fill(ns)
    with pytest.raises(InvalidInputError, match="unknown index_type 'TREE'"):
        jobs.build_index(ns, TABLE, "id", "TREE")
    jobs.build_index(ns, TABLE, "id", "BTREE").wait()
    before = files(ns)
    with pytest.raises(TableIndexAlreadyExistsError, match="id_idx"):
        jobs.build_index(ns, TABLE, "id", "BTREE")
    assert files(ns) == before


def test_an_empty_table_can_have_an_index(ns: Namespace) -> None:
    ns.create_table(TABLE, pa.table({"id": pa.array([], pa.int64())}))
    jobs.build_index(ns, TABLE, "id", "BTREE").wait()
    ns.insert_into_table(TABLE, [{"id": 1}])
    jobs.maintain(ns).wait()
    assert ns.describe_table_index_stats(TABLE, index_name="id_idx").num_indexed_rows == 1
