"""A root that is relative is below the folder one is in, also for a process that changes it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import lancespace_jobs as jobs
from lancespace import connect
from lancespace_jobs import TableSpec


def test_a_job_works_in_the_catalog_of_its_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("rows.csv").write_text("id\n1\n")
        namespace = connect("dir", {"root": "lake"})

        jobs.import_files(namespace, "orders", "rows.csv").wait()

        assert namespace.table("orders").count() == 1


def test_a_namespace_and_a_table_are_the_same_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace = connect("dir", {"root": "lake"})
    namespace.create_table("orders", [{"id": 1}])
    sent = pickle.dumps((namespace, TableSpec.of(namespace, "orders")))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    there, handle = pickle.loads(sent)

    assert there.table("orders").count() == handle.open().count_rows() == 1
