"""What Spark reads, imported as a job of the catalog, on a cluster."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableSchemaValidationError

from lancespace.authoring import JobState
from lancespace_cli.main import main
from lancespace_jobs import FOLDER, JobFailedError, Stage
from lancespace_spark import import_table, importing, pieces
from plugins.spark.tests.data import TABLE, files, ids, numbers, orders, used, versions
from plugins.spark.tests.jobs import PATIENCE, ended, on_spark, succeeded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lancespace import Namespace

OLD = "old_orders"
"""A table of Spark's, of four files."""
FILES = 4
EACH = 25
SHUFFLED = f"SELECT id, max(name) AS name FROM {OLD} GROUP BY id"


@pytest.fixture
def old(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The folder of the table; each of its files is a partition."""
    folder = tmp_path / "warehouse" / OLD
    spark.conf.set("spark.sql.files.maxPartitionBytes", "10000")
    numbers(spark, FILES * EACH).write.option("path", str(folder)).saveAsTable(OLD)
    yield folder
    spark.sql(f"DROP TABLE {OLD}")
    spark.conf.unset("spark.sql.files.maxPartitionBytes")


def ran(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None] = lambda _: None) -> list[int]:
    """The partitions that are written from now on; something may happen before each."""
    real = pieces._write
    begun: list[int] = []

    def recorded(rdd: Any, number: int) -> Any:
        before(number)
        begun.append(number)
        return real(rdd, number)

    monkeypatch.setattr(pieces, "_write", recorded)
    return begun


def fail_at(number: int) -> Callable[[int], None]:
    def before(begun: int) -> None:
        if begun == number:
            raise OSError("died")

    return before


@pytest.mark.usefixtures("old")
def test_a_table_is_imported_in_one_version_with_either_engine(spark: SparkSession, ns: Namespace, root: str) -> None:
    import_table(ns, TABLE, OLD).wait()
    assert (ids(ns), versions(ns)) == (list(range(100)), [1])
    with on_spark(spark, root) as catalog:
        job = import_table(catalog, TABLE, f"default.{OLD}").id
        told = succeeded(catalog, job)
    assert (told["kind"], told["fraction"], told["rows"]) == ("import", "1.000", "100")
    assert (len(ids(ns)), versions(ns)) == (200, [1, 2])
    import_table(ns, TABLE, OLD, mode="overwrite").wait()
    assert (ids(ns), versions(ns)) == (list(range(100)), [1, 2, 3])
    assert used(ns) < files(ns)
    assert not any(name.startswith(FOLDER) for name in files(ns))


@pytest.mark.usefixtures("old")
def test_views_and_queries_are_imported_and_arrays_become_vectors(spark: SparkSession, ns: Namespace) -> None:
    spark.range(0, 60, 1, 3).selectExpr("id", "array(id, 1F) AS v").createOrReplaceTempView("with_vectors")
    import_table(ns, "sales.vectors", "with_vectors", vectors={"v": 2}).wait()
    stored = ns.table("sales.vectors").dataset().schema
    assert stored.field("v").type == pa.list_(pa.float64(), 2)
    import_table(ns, TABLE, query=f"SELECT id, name, v FROM {OLD} JOIN with_vectors USING (id) WHERE id >= 50").wait()
    assert ids(ns) == list(range(50, 60))
    import_table(ns, "sales.grouped", query=SHUFFLED).wait()
    assert ids(ns, "sales.grouped") == list(range(100))
    spark.catalog.dropTempView("with_vectors")


@pytest.mark.usefixtures("old")
def test_rows_are_cast_to_the_columns_of_the_table(spark: SparkSession, ns: Namespace) -> None:
    ns.create_table(TABLE, orders(0, 10))
    import_table(ns, TABLE, query=f"SELECT CAST(id + 10 AS INT) AS id, array(1D, id) AS v FROM {OLD}").wait()
    assert ids(ns) == list(range(110))
    assert ns.table(TABLE).dataset().schema == orders(0, 0).schema
    assert ns.table(TABLE).count("name IS NULL") == 100
    assert spark.sql(f"SELECT count(*) FROM {OLD}").first()


@pytest.mark.usefixtures("old", "spark")
def test_what_does_not_fit_is_refused_before_there_is_a_job(ns: Namespace, root: str) -> None:
    ns.create_table(TABLE, orders(0, 10))
    with pytest.raises(InvalidInputError, match="`nowhere` cannot be found"):
        import_table(ns, TABLE, "nowhere")
    with pytest.raises(InvalidInputError, match="cannot be found"):
        import_table(ns, TABLE, query="SELECT * FROM nowhere")
    with pytest.raises(InvalidInputError, match="this is a command"):
        import_table(ns, TABLE, query=f"DROP TABLE {OLD}")
    with pytest.raises(InvalidInputError, match="either the name of a table or view that Spark knows, or a query"):
        import_table(ns, TABLE)
    with pytest.raises(InvalidInputError, match="several columns id"):
        import_table(ns, TABLE, query=f"SELECT id, id FROM {OLD}")
    with pytest.raises(InvalidInputError, match="mode must be one of append, overwrite"):
        import_table(ns, TABLE, OLD, mode="merge")
    with pytest.raises(TableSchemaValidationError, match="no column 'more'"):
        import_table(ns, TABLE, query=f"SELECT id, 1 AS more FROM {OLD}")
    with pytest.raises(TableSchemaValidationError, match="'v'"):
        import_table(ns, TABLE, query=f"SELECT id, name AS v FROM {OLD}")
    assert not Path(root, "__jobs").exists()
    assert versions(ns) == [1]


@pytest.mark.usefixtures("old")
def test_a_value_that_does_not_fit_fails_the_job_in_a_line_and_a_repeat_can_succeed(
    ns: Namespace, spark: SparkSession
) -> None:
    ns.create_table(TABLE, orders(0, 10))
    with pytest.raises(JobFailedError, match=r"TableSchemaValidationError: .*exactly 2 items") as told:
        import_table(ns, TABLE, query=f"SELECT id, array(1F) AS v FROM {OLD}").wait()
    assert "\n" not in str(told.value)
    assert spark.sql("SELECT 1").first()
    import_table(ns, TABLE, query=f"SELECT id + 10 AS id, array(1F, 2F) AS v FROM {OLD}").wait()
    assert ids(ns) == list(range(110))


@pytest.mark.usefixtures("old")
def test_a_cancelled_import_goes_on_from_the_partitions_that_were_finished(
    spark: SparkSession, ns: Namespace, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last two run when it is cancelled: they are finished, and count."""
    reached, cancelled = threading.Semaphore(0), threading.Event()

    def halt(number: int) -> None:
        if number >= FILES - 2:
            reached.release()
            assert cancelled.wait(PATIENCE)

    with on_spark(spark, root) as catalog:
        patched = pytest.MonkeyPatch()
        first = ran(patched, halt)
        job = import_table(catalog, TABLE, OLD).id
        assert all(reached.acquire(timeout=PATIENCE) for _ in range(2))
        told = catalog.describe_transaction(job).properties or {}
        assert (told["rows"], told["fraction"], told["message"]) == ("50", "0.500", "importing 4 partitions")
        catalog.alter_transaction(job, actions=[{"setStatusAction": {"status": "Canceled"}}])
        cancelled.set()
        assert ended(catalog, job).status == JobState.CANCELED.value
        assert ns.describe_table(TABLE, check_declared=True).is_only_declared
        patched.undo()
        second = ran(monkeypatch)
        import_table(catalog, TABLE, OLD).wait()
    assert sorted(first) == list(range(FILES))
    assert second == []
    assert (ids(ns), versions(ns)) == (list(range(100)), [1])
    assert files(ns) == used(ns)


@pytest.mark.parametrize("source", ["table", "filtered", "shuffled", "function", "changed", "appended", "cut"])
def test_only_partitions_that_surely_have_the_same_rows_are_not_written_again(
    spark: SparkSession, ns: Namespace, old: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    spark.udf.register("same", lambda number: number, "long")
    queries = {
        "filtered": f"SELECT id, upper(name) AS name FROM {OLD} WHERE id % 2 = 0",
        "shuffled": f"SELECT /*+ REPARTITION(4) */ * FROM {OLD}",
        "function": f"SELECT same(id) AS id, name FROM {OLD}",
    }
    query = queries.get(source, f"SELECT * FROM {OLD}")
    with monkeypatch.context() as patched:
        ran(patched, fail_at(FILES - 1))
        with pytest.raises(JobFailedError, match="died"):
            import_table(ns, TABLE, query=query).wait()
    if source == "changed":
        part = min(old.glob("*.parquet"))
        part.write_bytes(part.read_bytes())
    if source == "appended":
        numbers(spark, 110, 100).coalesce(1).write.mode("append").saveAsTable(OLD)
    if source == "cut":
        spark.conf.set("spark.sql.files.maxPartitionBytes", "20000000")
    again = ran(monkeypatch)
    import_table(ns, TABLE, query=query).wait()
    expected = {"filtered": range(0, 100, 2), "appended": range(110)}.get(source, range(100))
    assert (ids(ns), versions(ns)) == (list(expected), [1])
    is_kept = source in {"table", "filtered"}
    assert (0 in again) is not is_kept
    assert FILES - 1 in again or source == "cut"


@pytest.mark.usefixtures("old", "spark")
def test_an_import_that_was_committed_is_not_repeated(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise OSError("died")

    for count in (100, 200):
        with monkeypatch.context() as patched:
            patched.setattr(Stage, "discard", die)
            with pytest.raises(JobFailedError, match="died"):
                import_table(ns, TABLE, OLD).wait()
        assert len(ids(ns)) == count
        again = ran(monkeypatch)
        import_table(ns, TABLE, OLD).wait()
        assert (len(ids(ns)), again) == (count, [])
    assert files(ns) == used(ns)


@pytest.mark.usefixtures("old", "spark")
@pytest.mark.parametrize("query", [f"SELECT * FROM {OLD}", SHUFFLED], ids=["files", "shuffle"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_others_who_create_or_change_the_table_meanwhile_are_no_hindrance(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch, mode: str, query: str
) -> None:
    """Rows that were written are not written again."""

    def interfere(number: int) -> None:
        if mode == "overwrite":
            ns.insert_into_table(TABLE, orders(0, 1).drop(["v"]))
        elif number == 0:
            ns.create_table(TABLE, orders(200, 210).drop(["v"]))

    if mode == "overwrite":
        ns.create_table(TABLE, orders(0, 10).drop(["v"]))
    begun = ran(monkeypatch, interfere)
    import_table(ns, TABLE, query=query, mode=mode).wait()
    assert ids(ns) == [*range(100), *([] if mode == "overwrite" else range(200, 210))]
    assert len(begun) == len(set(begun))
    assert not any(name.startswith(FOLDER) for name in files(ns))


@pytest.mark.usefixtures("old", "spark")
def test_an_import_that_cannot_go_on_leaves_no_rows_behind(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    ns.create_table(TABLE, orders(0, 10).drop(["v"]))
    ran(monkeypatch, fail_at(FILES - 1))
    with pytest.raises(JobFailedError, match="died"):
        import_table(ns, TABLE, query=f"SELECT /*+ REPARTITION({FILES}) */ * FROM {OLD}").wait()
    assert files(ns) == used(ns)


@pytest.mark.usefixtures("old", "spark")
def test_rows_that_cannot_be_taken_away_are_told_of_and_the_import_ends_with_its_own_error(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("the disk is read-only")

    ns.create_table(TABLE, orders(0, 10).drop(["v"]))
    ran(monkeypatch, fail_at(FILES - 1))
    monkeypatch.setattr(importing, "discard_all", refuse)
    with pytest.raises(JobFailedError, match="died"):
        import_table(ns, TABLE, query=f"SELECT /*+ REPARTITION({FILES}) */ * FROM {OLD}").wait()
    assert f"What an import wrote to {TABLE} stays until clean-up" in caplog.text


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    """What the command ends with, and what it says."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    said = capsys.readouterr()
    return ended.value.code or 0, said.out + said.err


@pytest.mark.usefixtures("old", "spark")
def test_the_command(ns: Namespace, root: str, capsys: pytest.CaptureFixture[str]) -> None:
    imported = ("--root", root, "job", "import-spark", TABLE)
    assert command(capsys, *imported, OLD) == (0, f"import into {TABLE}: 100 rows\n")
    query = ("SELECT id, name, array(id) AS v FROM " + OLD, "--query", "--vectors", "v:1", "--overwrite")
    code, said = command(capsys, *imported, *query, "--yes", "--json")
    assert (code, json.loads(said)["rows"]) == (0, 100)
    assert ns.table(TABLE).dataset().schema.field("v").type == pa.list_(pa.int64(), 1)
    code, said = command(capsys, *imported[:-1], "sales.new", "nowhere")
    assert (code, "`nowhere` cannot be found" in said, said.count("\n")) == (23, True, 1)
    assert not ns.table("sales.new").exists()
    assert command(capsys, *imported, OLD, "--vectors", "v")[0] == 23
