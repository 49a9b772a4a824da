"""Backfills on a real catalog, with real threads and real concurrent writers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    AlterTableBackfillColumnsRequest,
    InvalidInputError,
    TableColumnNotFoundError,
    UnsupportedOperationError,
)

from lancespace import connect
from lancespace_tables import _backfill as backfill
from lancespace_tables import _retries
from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lancespace import Namespace

ROWS, FRAGMENTS = 40, 4


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with connect("memory") as namespace:
        yield namespace


@pytest.fixture(params=[False, True], ids=["row addresses", "stable row ids"])
def table(namespace: Namespace, request: pytest.FixtureRequest) -> Namespace:
    """A table ``t`` of four fragments with a computed column ``twice``, not filled yet."""
    location = namespace.declare_table("t").location
    data = pa.table({"id": range(ROWS), "name": [str(number) for number in range(ROWS)]})
    lance.write_dataset(data, location, max_rows_per_file=ROWS // FRAGMENTS, enable_stable_row_ids=request.param)
    namespace.alter_table_add_columns("t", new_columns=[{"name": "twice", "computed": "id * 2"}])
    return namespace


def fill(namespace: Namespace, **fields: Any) -> Any:
    """Backfill, and the job when it is over."""
    fields.setdefault("column", "twice")
    job = namespace.alter_table_backfill_columns("t", **fields).job_id
    return until(lambda: namespace.describe_transaction(job), lambda found: found.status not in {"QUEUED", "RUNNING"})


def values(namespace: Namespace, column: str = "twice", **fields: Any) -> dict[int, Any]:
    rows = namespace.table("t").to_arrow(columns=["id", column], **fields).to_pylist()
    return {row["id"]: row[column] for row in rows}


def dataset(namespace: Namespace) -> lance.LanceDataset:
    return namespace.table("t").dataset()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The fragments that were computed, one entry for each time."""
    seen: list[int] = []
    original = backfill.fill_fragment

    def noted(task: backfill.FragmentTask) -> Any:
        seen.append(task.fragment_id)
        return original(task)

    monkeypatch.setattr(backfill, "fill_fragment", functools.wraps(original)(noted))
    return seen


def before_commit(monkeypatch: pytest.MonkeyPatch, *changes: Callable[[], Any]) -> None:
    """Have others change the table between the computation and the first commits."""
    original, left = backfill.Backfill._commit, list(changes)

    def commit(self: Any, *arguments: Any) -> Any:
        if left:
            left.pop(0)()
        return original(self, *arguments)

    monkeypatch.setattr(backfill.Backfill, "_commit", commit)


def test_whole_column_in_one_commit(table: Namespace):
    version = dataset(table).version

    job = fill(table)

    assert (job.status, job.properties["rows"], job.properties["about"]) == ("SUCCEEDED", str(ROWS), "t")
    assert values(table) == {number: number * 2 for number in range(ROWS)}
    assert dataset(table).version == version + 1
    assert len(dataset(table).get_fragments()) == FRAGMENTS, "no row is rewritten"


def test_where_fills_the_rows_that_match_and_leaves_the_others(table: Namespace):
    assert fill(table, where="id < 15").properties["rows"] == "15"
    table.update_table("t", predicate="id = 3", updates=[["twice", "-1"]])

    assert fill(table, where="twice IS NULL").properties["rows"] == str(ROWS - 15)

    assert values(table) == {number: -1 if number == 3 else number * 2 for number in range(ROWS)}


def test_where_that_nothing_matches_commits_nothing(table: Namespace):
    version = dataset(table).version

    assert fill(table, where="id < 0").properties["rows"] == "0"

    assert dataset(table).version == version


def test_deleted_rows_stay_deleted(table: Namespace):
    table.delete_from_table("t", predicate="id IN (0, 11, 12, 39)")

    assert fill(table).properties["rows"] == str(ROWS - 4)

    assert values(table) == {number: number * 2 for number in range(ROWS) if number not in {0, 11, 12, 39}}


def test_column_in_the_same_file_as_others(table: Namespace):
    """After a compaction, the old values of the column are in one file with all other columns."""
    table.update_table("t", updates=[["twice", "0"]])
    dataset(table).optimize.compact_files()

    assert fill(table).status == "SUCCEEDED"

    assert values(table) == {number: number * 2 for number in range(ROWS)}
    assert table.table("t").count("name = CAST(id AS STRING)") == ROWS


def test_index_on_the_column_finds_the_new_values(table: Namespace):
    table.update_table("t", updates=[["twice", "0"]])
    table.create_table_index("t", column="twice", index_type="BTREE")

    fill(table)

    assert (table.table("t").count("twice = 0"), table.table("t").count("twice = 8")) == (1, 1)


def test_on_a_branch(table: Namespace):
    table.create_table_branch("t", name="dev")

    assert fill(table, branch="dev").status == "SUCCEEDED"

    assert set(values(table).values()) == {None}
    rows = table.query_table("t", vector={}, k=ROWS, branch="dev", columns={"column_names": ["id", "twice"]})
    assert all(row["twice"] == row["id"] * 2 for row in pa.ipc.open_file(rows.data).read_all().to_pylist())


def test_appends_meanwhile_are_kept_as_they_are(table: Namespace, monkeypatch: pytest.MonkeyPatch, computed: list[int]):
    before_commit(monkeypatch, lambda: table.insert_into_table("t", [{"id": 100, "name": "new", "twice": 5}]))

    assert fill(table).status == "SUCCEEDED"

    assert values(table) == {**{number: number * 2 for number in range(ROWS)}, 100: 5}
    assert sorted(computed) == [0, 1, 2, 3], "nothing is computed twice for an append"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda ns: ns.delete_from_table("t", predicate="id = 5"), {5: None}),
        (lambda ns: ns.update_table("t", predicate="id = 5", updates=[["id", "500"]]), {5: None, 500: 1000}),
    ],
    ids=["delete", "update"],
)
def test_only_what_others_change_is_computed_again(
    table: Namespace, monkeypatch: pytest.MonkeyPatch, computed: list[int], change: Any, expected: dict[int, Any]
):
    before_commit(monkeypatch, lambda: change(table))

    assert fill(table).status == "SUCCEEDED"

    wanted = {number: number * 2 for number in range(ROWS)} | expected
    assert values(table) == {number: value for number, value in wanted.items() if value is not None}
    assert [computed.count(number) for number in range(FRAGMENTS)] == [2, 1, 1, 1]


def test_compaction_meanwhile(table: Namespace, monkeypatch: pytest.MonkeyPatch):
    before_commit(monkeypatch, dataset(table).optimize.compact_files)

    assert fill(table).status == "SUCCEEDED"

    assert values(table) == {number: number * 2 for number in range(ROWS)}


def test_change_of_an_input_between_two_commits(table: Namespace, monkeypatch: pytest.MonkeyPatch):
    """What was computed from the old input must not be committed over the new one."""

    def rewrite_ids() -> None:
        latest = dataset(table)
        last = latest.get_fragments()[-1]
        new = last.scanner(columns={"id": "id + 1000", "_rowaddr": "_rowaddr"}).to_table()
        changed, fields = last.update_columns(new, left_on="_rowaddr")
        operation = lance.LanceOperation.Update(updated_fragments=[changed], fields_modified=fields)
        lance.LanceDataset.commit(latest, operation, latest.version)

    before_commit(monkeypatch, lambda: None, rewrite_ids)

    assert fill(table, commit_granularity=1, concurrency=1).status == "SUCCEEDED"

    found = values(table)
    assert sorted(found) == [*range(30), *range(1030, 1040)]
    assert all(value == number * 2 for number, value in found.items())


def test_another_definition_meanwhile(table: Namespace, monkeypatch: pytest.MonkeyPatch):
    def redefine() -> None:
        table.alter_table_drop_columns("t", columns=["twice"])
        table.alter_table_add_columns("t", new_columns=[{"name": "twice", "computed": "id * 3"}])

    before_commit(monkeypatch, redefine)

    job = fill(table)

    assert job.status == "FAILED"
    assert "was changed meanwhile: send the request again" in job.properties["message"]
    assert set(values(table).values()) == {None}


def test_gives_up_if_others_never_stop(table: Namespace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_retries, "ROUNDS", 2)
    deletes = [functools.partial(table.delete_from_table, "t", predicate=f"id = {number}") for number in (1, 2)]
    before_commit(monkeypatch, *deletes)

    job = fill(table)

    assert job.status == "FAILED"
    assert "send the request again" in job.properties["message"]


def test_commits_of_some_fragments_each(table: Namespace):
    version = dataset(table).version

    assert fill(table, commit_granularity=3).status == "SUCCEEDED"

    assert dataset(table).version == version + 2
    assert values(table) == {number: number * 2 for number in range(ROWS)}


def test_a_repeat_after_some_commits_computes_only_the_rest(
    table: Namespace, monkeypatch: pytest.MonkeyPatch, computed: list[int]
):
    def crash() -> None:
        raise OSError("no space left")

    before_commit(monkeypatch, lambda: None, lambda: None, crash)
    assert fill(table, commit_granularity=1, concurrency=1).status == "FAILED"

    assert fill(table).status == "SUCCEEDED"

    assert sorted(computed) == [0, 1, 2, 3]
    assert values(table) == {number: number * 2 for number in range(ROWS)}


def test_a_repeat_after_success_computes_all_again(table: Namespace, computed: list[int]):
    fill(table)
    fill(table)

    assert len(computed) == 2 * FRAGMENTS


def test_some_fragments(table: Namespace, computed: list[int]):
    fill(table, num_frags=2)

    assert sorted(computed) == [0, 1]
    assert [number for number, value in values(table).items() if value is not None] == list(range(20))


def test_fragments_of_a_version(table: Namespace):
    version = dataset(table).version
    table.insert_into_table("t", [{"id": 100, "name": "new"}])

    fill(table, read_version=version)

    assert values(table) == {**{number: number * 2 for number in range(ROWS)}, 100: None}

    dataset(table).optimize.compact_files()
    job = fill(table, read_version=version)
    assert job.status == "FAILED"
    assert "leave out 'read_version'" in job.properties["message"]


@pytest.mark.parametrize(
    ("fields", "expected", "words"),
    [
        ({"column": "name"}, InvalidInputError, "neither a computed nor a virtual column"),
        ({"column": "nope"}, TableColumnNotFoundError, "nope"),
        ({"where": "nope = 1"}, TableColumnNotFoundError, "nope"),
        ({"where": "id = )"}, InvalidInputError, "sql parser error"),
        ({"num_frags": 0}, InvalidInputError, "'num_frags' must be at least 1"),
        ({"cluster": "big"}, UnsupportedOperationError, "no cluster to choose"),
        ({"manifest": "env"}, UnsupportedOperationError, "no manifest to choose"),
    ],
)
def test_bad_requests_start_no_job(namespace: Namespace, fields: dict[str, Any], expected: Any, words: str):
    namespace.create_table("t", [{"id": 1, "name": "a"}])
    namespace.alter_table_add_columns("t", new_columns=[{"name": "twice", "computed": "id * 2"}])

    with pytest.raises(expected, match=words):
        namespace.alter_table_backfill_columns(
            AlterTableBackfillColumnsRequest(**{"id": ["t"], "column": "twice", **fields})
        )
