"""A root that is relative is below the folder one is in, also for a process that changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lancespace import connect, jobs


def test_a_job_works_in_the_catalog_of_its_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("rows.csv").write_text("id\n1\n")
        namespace = connect("dir", {"root": "lake"})

        jobs.import_files(namespace, "orders", "rows.csv").wait()

        assert namespace.table("orders").count() == 1
