"""Jobs on a catalog in memory, which is in one connection only."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lancespace_jobs as jobs
from lancespace import Namespace, connect
from lancespace_jobs import TableSpec
from lancespace_jobs._table_spec import _connected

JOBS = {
    "compact": lambda ns: jobs.compact(ns, "t"),
    "clean_up": lambda ns: jobs.clean_up(ns, "t"),
    "build_index": lambda ns: jobs.build_index(ns, "t", "id", "BTREE"),
    "update_rows": lambda ns: jobs.update_rows(ns, "t", {"id": "id + 1"}),
    "delete_rows": lambda ns: jobs.delete_rows(ns, "t", "id = 2"),
    "copy_table": lambda ns: jobs.copy_table(ns, "t", ns, to="u"),
}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_job_uses_the_namespace_that_it_was_given(job):
    with connect("memory") as ns:
        ns.create_table("t", pa.table({"id": [1, 2, 3]}))
        ns.insert_into_table("t", pa.table({"id": [4]}))

        assert job(ns).wait().state.value == "SUCCEEDED"


def test_importing_uses_the_namespace_that_it_was_given(tmp_path: Path):
    (tmp_path / "rows.csv").write_text("id\n1\n2\n")
    with connect("memory") as ns:
        jobs.import_files(ns, "t", [str(tmp_path / "rows.csv")]).wait()

        assert ns.table("t").count() == 2


def sent(namespace: Namespace, table: str) -> TableSpec:
    """A spec as another process gets it."""
    spec: TableSpec = pickle.loads(pickle.dumps(TableSpec.of(namespace, table)))
    return spec


def test_what_was_sent_is_connected_once_and_closed_when_nothing_uses_it(tmp_path: Path):
    _connected.cache_clear()
    closed = []
    with connect("dir", {"root": str(tmp_path)}) as ns:
        ns.create_table("t", pa.table({"id": [1]}))
        first, second = sent(ns, "t"), sent(ns, "t")
        assert first.namespace is second.namespace is not ns
        catalog = first.namespace.backend.catalog
        catalog.close = lambda: closed.append(True)

        for number in range(5):
            connect("dir", {"root": str(tmp_path / str(number))})
            sent(connect("dir", {"root": str(tmp_path / str(number))}), "t").namespace  # noqa: B018 - it connects
        gc.collect()
        assert second.open().count_rows() == 1
        assert not closed

        del first, second, catalog
        gc.collect()
        assert closed
