from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableColumnNotFoundError

from lancespace_spark import merging, upsert
from plugins.spark.tests.data import TABLE, files, ids, orders, used, versions
from plugins.spark.tests.writers import OtherWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace


def changed(spark: SparkSession, start: int, stop: int, name: str = "new") -> DataFrame:
    rows = spark.range(start, stop, 1, 2)
    return rows.selectExpr("id", f"'{name}' AS name", "array(CAST(id AS FLOAT), 0.0F) AS v")


def names(ns: Namespace) -> dict[int, str]:
    """The name of each key; a key that is there twice fails the test."""
    rows = ns.table(TABLE).to_arrow(columns=["id", "name"]).to_pylist()
    found = {row["id"]: row["name"] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.fixture
def filled(ns: Namespace) -> Namespace:
    """A table with the keys 0 to 40, in two fragments."""
    ns.create_table(TABLE, orders(0, 20))
    ns.insert_into_table(TABLE, orders(20, 40))
    return ns


def test_rows_are_replaced_and_inserted_in_one_version(spark: SparkSession, filled: Namespace) -> None:
    merged = upsert(spark, filled, TABLE, changed(spark, 30, 50), ["id"])
    assert (merged.updated, merged.inserted, merged.version) == (10, 10, 3)
    assert names(filled) == {n: f"n{n}" if n < 30 else "new" for n in range(50)}
    assert versions(filled) == [1, 2, 3]
    assert used(filled) < files(filled)
    assert {name.split("/")[0] for name in files(filled) - used(filled)} == {"_deletions"}


def test_only_updates_or_only_inserts(spark: SparkSession, filled: Namespace) -> None:
    assert upsert(spark, filled, TABLE, changed(spark, 35, 45), ["id"], insert=False).inserted == 0
    assert ids(filled) == list(range(40))
    assert upsert(spark, filled, TABLE, changed(spark, 0, 45, "newer"), ["id"], update=False).updated == 0
    expected = {n: "newer" if n >= 40 else "new" if n >= 35 else f"n{n}" for n in range(45)}
    assert names(filled) == expected


def test_keys_of_several_columns(spark: SparkSession, filled: Namespace) -> None:
    source = changed(spark, 0, 2, "n0")
    merged = upsert(spark, filled, TABLE, source, ["name", "id"])
    assert (merged.updated, merged.inserted) == (1, 1)
    assert len(ids(filled)) == 41


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["1", "1"], "the source of the upsert has several rows with the key"),
        (["99", "99"], "the source of the upsert has several rows with the key"),
        (["NULL"], "key 'id' is null"),
    ],
    ids=["twice, to update", "twice, to insert", "null"],
)
def test_keys_that_are_none_are_refused_and_leave_nothing(
    spark: SparkSession, filled: Namespace, keys: list[str], message: str
) -> None:
    rows = [f"SELECT CAST({key} AS LONG) AS id, 'x' AS name, array(0F, 0F) AS v" for key in keys]
    source = " UNION ALL ".join(rows)
    before = files(filled)
    with pytest.raises(InvalidInputError, match=message):
        upsert(spark, filled, TABLE, spark.sql(source), ["id"])
    assert files(filled) == before
    assert versions(filled) == [1, 2]


@pytest.mark.parametrize(
    ("key", "wanted", "message"),
    [
        ("NULL", {"insert": False}, "key 'id' is null"),
        ("1", {"update": False}, "the source of the upsert has several rows with the key"),
        ("'01'", {}, "the key 'id' of the upsert has a value that bigint, the table's type, changes: 01"),
    ],
    ids=["null", "twice", "another form"],
)
def test_keys_of_rows_that_would_not_be_written_count_too(
    spark: SparkSession, filled: Namespace, key: str, wanted: dict[str, bool], message: str
) -> None:
    source = spark.sql(f"SELECT {key} AS id, 'x' AS name, array(0F, 0F) AS v FROM range(2)")
    with pytest.raises(InvalidInputError, match=message):
        upsert(spark, filled, TABLE, source, ["id"], **wanted)
    assert versions(filled) == [1, 2]


def test_keys_of_another_type_and_with_odd_names(spark: SparkSession, ns: Namespace) -> None:
    zeros = pa.table({"a,b": pa.array([1, 2], pa.int32()), "f": [-0.0, 0.0], "n": ["x", "y"]})
    ns.create_table(TABLE, zeros)
    source = spark.sql("SELECT '2' AS `a,b`, -0D AS f, 'new' AS n")
    merged = upsert(spark, ns, TABLE, source, ["a,b", "f"])
    assert (merged.updated, merged.inserted) == (1, 0)
    assert sorted(ns.table(TABLE).to_arrow()["n"].to_pylist()) == ["new", "x"]


def test_mistakes_are_told_before_any_task(spark: SparkSession, filled: Namespace) -> None:
    source = changed(spark, 0, 1)
    with pytest.raises(InvalidInputError, match="lacks the column name, v"):
        upsert(spark, filled, TABLE, source.select("id"), ["id"])
    with pytest.raises(TableColumnNotFoundError, match="no column 'key'"):
        upsert(spark, filled, TABLE, source, ["key"])
    with pytest.raises(InvalidInputError, match="needs 'on'"):
        upsert(spark, filled, TABLE, source, [])
    with pytest.raises(InvalidInputError, match="neither updates nor inserts"):
        upsert(spark, filled, TABLE, source, ["id"], update=False, insert=False)


def between(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Have somebody else act between the work of an upsert and its commit, once."""
    real = merging._Merge._commit
    acted: list[int] = []

    def late(*arguments: Any) -> Any:
        if not acted:
            acted.append(1)
            act()
        return real(*arguments)

    monkeypatch.setattr(merging._Merge, "_commit", late)


def test_a_key_that_somebody_appends_meanwhile_is_there_once(
    spark: SparkSession, filled: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    between(monkeypatch, lambda: filled.insert_into_table(TABLE, orders(45, 60)))
    merged = upsert(spark, filled, TABLE, changed(spark, 30, 50), ["id"])
    assert (merged.updated, merged.inserted) == (15, 5)
    assert names(filled) == {n: "new" if 30 <= n < 50 else f"n{n}" for n in range(60)}


def test_rows_that_somebody_deletes_meanwhile_are_not_lost_or_doubled(
    spark: SparkSession, filled: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    between(monkeypatch, lambda: filled.delete_from_table(TABLE, predicate="id IN (1, 2, 38)"))
    merged = upsert(spark, filled, TABLE, changed(spark, 30, 50), ["id"])
    assert (merged.updated, merged.inserted) == (9, 11)
    assert names(filled) == {n: "new" if n >= 30 else f"n{n}" for n in range(50) if n not in {1, 2}}
    assert {name for name in files(filled) if name.startswith("data/")} == used(filled)


def test_no_version_has_a_key_twice_whoever_appends_it_meanwhile(
    spark: SparkSession, filled: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the one between two commits: what others did is seen before ours, and not mended afterwards."""
    between(monkeypatch, lambda: filled.insert_into_table(TABLE, orders(45, 60)))
    upsert(spark, filled, TABLE, changed(spark, 40, 50), ["id"])
    for version in versions(filled):
        found = filled.table(TABLE).to_arrow(version=version, columns=["id"])["id"].to_pylist()
        assert len(found) == len(set(found))
    assert {name for name in files(filled) if name.startswith(("data/", "_deletions/"))} >= used(filled)


def test_what_others_append_beside_our_keys_does_not_make_it_run_again(
    spark: SparkSession, filled: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    real = merging._Merge._written

    def counted(self: merging._Merge) -> list[Any]:
        ran.append(1)
        return real(self)

    monkeypatch.setattr(merging._Merge, "_written", counted)
    between(monkeypatch, lambda: [filled.insert_into_table(TABLE, orders(n, n + 1)) for n in (70, 71)])
    merged = upsert(spark, filled, TABLE, changed(spark, 30, 50), ["id"])
    assert (merged.updated, merged.inserted) == (10, 10)
    assert sorted(names(filled)) == [*range(50), 70, 71]
    assert len(ran) == 1


def test_two_upserts_of_the_same_new_keys_at_once(spark: SparkSession, filled: Namespace) -> None:
    both = [changed(spark, 30, 50, name) for name in ("a", "b")]
    merged: list[merging.Merged] = []
    threads = [
        threading.Thread(target=lambda source=source: merged.append(upsert(spark, filled, TABLE, source, ["id"])))
        for source in both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = names(filled)
    assert len(merged) == 2
    assert sorted(found) == list(range(50))
    assert len({found[number] for number in range(30, 50)}) == 1


def test_beside_another_process_that_appends_deletes_and_updates(
    spark: SparkSession, filled: Namespace, root: str
) -> None:
    with OtherWriter(root, TABLE) as other:
        for number in range(3):
            upsert(spark, filled, TABLE, changed(spark, 10, 30, f"round {number}"), ["id"])
    found = names(filled)
    assert other.appended
    assert set(found) == set(range(40)) - other.deleted | other.appended
    assert {found[number] for number in range(10, 30)} == {"round 2"}
