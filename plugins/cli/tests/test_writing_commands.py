"""insert, import and export, in a terminal and through pipes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import lancespace_jobs as jobs
from lancespace.authoring import JobState, JobStatus
from lancespace_jobs import JobFailedError, Stage, TableSpec, Written, leaving_no_trace
from lancespace_jobs import _stages as reserving
from lancespace_jobs._new_tables import records_of
from lancespace_jobs._records import new_job_id
from plugins.cli.tests.conftest import orders

if TYPE_CHECKING:
    from pathlib import Path

    from lancespace import Namespace
    from plugins.cli.tests.terminals import Terminal


@pytest.fixture(scope="module")
def files(folder: Path) -> Path:
    """Orders in all formats, and a folder of two files."""
    rows = orders(100, 110)
    parquet.write_table(rows, folder / "orders.parquet")
    csv.write_csv(rows, folder / "orders.csv")
    with pa.ipc.new_file(folder / "orders.arrow", rows.schema) as writer:
        writer.write_table(rows)
    (folder / "orders.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()))
    (folder / "months").mkdir()
    for month in (1, 2):
        parquet.write_table(orders(month * 1000, month * 1000 + 5), folder / "months" / f"{month}.parquet")
    return folder


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["orders.parquet", "orders.csv", "orders.arrow", "orders.jsonl"])
def test_every_format_goes_in_and_out_again(terminal: Terminal, ns: Namespace, name: str):
    table, out = f"sales.from_{name.partition('.')[2]}", f"out-{name}"

    assert terminal.run("import", table, name).lines[-1] == f"import into {table}: 10 rows"
    assert ns.table(table).to_arrow() == orders(100, 110)
    exported = terminal.run("export", table, out, "--filter", "id >= 105")
    assert exported.lines[-1] == f"Exported 5 rows of {table} to {out}."
    assert terminal.run("import", f"{table}_again", out).code == 0
    assert ns.table(f"{table}_again").to_arrow() == orders(105, 110)


def test_a_folder_is_one_commit(terminal: Terminal, ns: Namespace, files: Path):
    answer = terminal.run("import", "sales.year", "months", "--json", "--quiet")

    assert json.loads(answer.text)["rows"] == 10
    assert ns.describe_table("sales.year", load_detailed_metadata=True).version == 1
    terminal.run("export", "sales.year", "parts", "--rows-per-file", "4", "--format", "parquet")
    assert [parquet.read_table(one).num_rows for one in sorted((files / "parts").iterdir())] == [4, 4, 2]
    assert terminal.run("export", "sales.year", "parts", "--rows-per-file", "4", "--format", "parquet").code == 2


@pytest.mark.usefixtures("files")
def test_insert_appends_to_what_is_there(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.grows", orders(0, 5))

    assert terminal.run("insert", "sales.grows", "orders.csv").code == 0
    assert ns.table("sales.grows").count() == 15
    assert terminal.run("insert", "sales.absent", "orders.csv").code == 14
    assert not ns.table("sales.absent").exists()
    assert terminal.run("insert", "sales.grows", "-").code == 2
    assert terminal.run("insert", "sales.grows", "-", "orders.csv", "--format", "csv").code == 2
    assert terminal.run("insert", "sales.grows", "orders.csv", "--format", "xml").code == 2


def test_overwriting_asks(terminal: Terminal, ns: Namespace, files: Path):
    ns.create_table("sales.replaced", orders(0, 5))

    assert terminal.run("import", "sales.replaced", "orders.csv", "--overwrite", answer="n").code == 1
    assert ns.table("sales.replaced").count() == 5
    assert terminal.run("import", "sales.replaced", "orders.csv", "--overwrite", answer="y").code == 0
    assert ns.table("sales.replaced").to_arrow() == orders(100, 110)
    (files / "taken.csv").write_text("mine")
    assert terminal.run("export", "sales.replaced", "taken.csv", answer="n").code == 1
    assert (files / "taken.csv").read_text() == "mine"


def test_a_file_that_is_not_there_is_named_and_nothing_imported(terminal: Terminal, ns: Namespace, files: Path):
    (files / "array.json").write_text('[{"id": 1}]')

    assert terminal.run("import", "sales.none", "orders.csv", "oders.csv").lines == [
        "Error: there is no file or folder 'oders.csv'"
    ]
    assert "jq -c '.[]' FILE" in terminal.run("import", "sales.none", "array.json").text
    assert not ns.table("sales.none").exists()


def test_an_export_that_cannot_be_leaves_nothing(terminal: Terminal, files: Path):
    assert "there is no folder nowhere" in terminal.run("export", "docs", "nowhere/out.csv").text
    failed = terminal.run("export", "docs", "folder", "--rows-per-file", "2", "--format", "csv", "--filter", "nope = 1")
    assert (failed.code, (files / "folder").exists()) == (22, False)
    (files / "kept.csv").write_text("mine")
    assert terminal.run("export", "absent", "kept.csv").code == 14, "it is not asked about before the table is found"


def test_a_failed_import_leaves_the_catalog_as_it_was(terminal: Terminal, ns: Namespace, files: Path):
    (files / "broken").mkdir()
    for number in range(8):
        parquet.write_table(orders(number, number + 1), files / "broken" / f"{number}.parquet")
    (files / "broken" / "8.parquet").write_bytes(b"this is no Parquet")

    failed = terminal.run("import", "sales.broken", "broken")

    assert failed.code == 23
    assert "8.parquet" in failed.text
    assert not ns.table("sales.broken").exists()
    parquet.write_table(orders(8, 9), files / "broken" / "8.parquet")
    assert terminal.run("import", "sales.broken", "broken").lines[-1] == "import into sales.broken: 9 rows"
    assert ns.table("sales.broken").count() == 9


def test_through_pipes(terminal: Terminal, ns: Namespace):
    table = ns.table("sales.piped")

    out = terminal.pipe("export", "sales.orders", "-", "--format", "arrow")
    assert pa.ipc.open_stream(out.stdout).read_all() == ns.table("sales.orders").to_arrow()
    assert out.stderr == b""
    made = terminal.pipe("import", "sales.piped", "-", "--format", "arrow", given=out.stdout)
    assert (made.returncode, made.stdout) == (0, b"")
    assert table.count() == 20
    rows = b'{"id": 500, "item": "lamp"}\n{"id": 501, "item": "desk"}\n'
    more = terminal.pipe("insert", "sales.piped", "-", "--format", "json", given=rows)
    assert more.stderr == b"import into sales.piped: 2 rows\n"
    assert table.to_arrow(filter="id >= 500").to_pylist() == [
        {"id": 500, "item": "lamp", "price": None},
        {"id": 501, "item": "desk", "price": None},
    ]
    strange = terminal.pipe("insert", "sales.piped", "-", "--format", "csv", given=b"what\n1\n")
    assert (strange.returncode, b"the table has no column what" in strange.stderr) == (23, True)


def test_a_failed_import_leaves_another_writer_at_its_work(ns: Namespace, files: Path):
    (files / "damaged.parquet").write_bytes(b"this is no Parquet")
    rows, written = orders(0, 3), list[Written]()
    handle = TableSpec.of(ns, "sales.shared")
    stage = Stage(handle, "other", "create")

    def fail_beside_another() -> None:
        with leaving_no_trace(ns, "sales.shared") as trace:
            job = trace.of(jobs.import_files(ns, "sales.shared", str(files / "damaged.parquet")))
            reserving.declare(handle)
            written.append(stage.write(rows.to_batches(), rows.schema))
            job.wait()

    with pytest.raises(JobFailedError):
        fail_beside_another()
    with stage.published(written) as fragments:
        stage.commit(rows.schema, fragments, None)
    assert ns.table("sales.shared").count() == 3


def test_a_failed_import_leaves_an_equal_one_at_its_work(ns: Namespace):
    records = records_of(ns)
    assert records is not None
    failed, other = new_job_id(), new_job_id()
    rows, written = orders(0, 3), list[Written]()
    handle = TableSpec.of(ns, "sales.equal")
    stage = Stage(handle, f"same-{failed}-shape", "create")

    def fail_before_an_equal_one() -> None:
        with leaving_no_trace(ns, "sales.equal") as trace:
            trace.job_id = failed
            reserving.declare(handle)
            for job_id, state in ((failed, JobState.FAILED), (other, JobState.RUNNING)):
                now = time.time()
                status = JobStatus(job_id, "import", "", state, created_at=now, updated_at=now, owner="host:1")
                records.save(status, "same")
                assert records.claim("same", job_id) == failed
            written.append(stage.write(rows.to_batches(), rows.schema))
            records.keep("same", failed, "task", written[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_before_an_equal_one()
    assert records.checkpoints("same", failed) == {"task": written[0]}
    with stage.published(written) as fragments:
        stage.commit(rows.schema, fragments, None)
    assert ns.table("sales.equal").count() == 3
