"""Many writers of one table: each one succeeds and is seen, or gets code 14."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lancespace_testing.client import Client
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, for_each, needs
from lancespace_testing.samples import COUNT, row, sample, table_of
from lancespace_testing.staging import stage_append
from lancespace_testing.threads import race

_WRITERS = 4
_CONFLICT = "CONCURRENT_MODIFICATION"


@dataclass(frozen=True)
class _Race:
    """What each writer does, and what must be true of the table when those in ``won`` have succeeded."""

    act: Callable[[Client, int], Any]
    holds: Callable[[Client, list[int]], bool]
    late: str = _CONFLICT
    """The code for a writer who came when it was done already."""
    only_one: bool = False


def _columns(client: Client) -> set[str]:
    return set(client.rows()[0])


def _index_names(client: Client) -> set[str]:
    return {index.index_name for index in client("list_table_indices").indexes}


def _metadata(client: Client) -> dict[str, str]:
    return client("describe_table", load_detailed_metadata=True).var_schema.metadata or {}


def _field_metadata(client: Client) -> dict[str, str]:
    fields = client("describe_table", load_detailed_metadata=True).var_schema.fields
    return next(field.metadata for field in fields if field.name == "name") or {}


_RACES: Mapping[str, _Race] = {
    "insert_into_table": _Race(
        act=lambda client, who: client("insert_into_table", table_of([row(100 + who)])),
        holds=lambda client, won: client.ids() == [*range(COUNT), *(100 + who for who in won)],
    ),
    "merge_insert_into_table": _Race(
        act=lambda client, _: client.example("merge_insert_into_table", timeout="10s"),
        holds=lambda client, _: client.ids() == list(range(COUNT)),
    ),
    "update_table": _Race(
        act=lambda client, _: client("update_table", updates=[["name", "concat(name, '+')"]]),
        holds=lambda client, won: client.rows()[0]["name"] == "red apple" + "+" * len(won),
    ),
    "delete_from_table": _Race(
        act=lambda client, who: client("delete_from_table", predicate=f"id = {who}"),
        holds=lambda client, won: client.ids() == [number for number in range(COUNT) if number not in won],
    ),
    "alter_table_add_columns": _Race(
        act=lambda client, who: client(
            "alter_table_add_columns", new_columns=[{"name": f"c{who}", "expression": "id"}]
        ),
        holds=lambda client, won: _columns(client) == {"id", "name", "vector", *(f"c{who}" for who in won)},
    ),
    "alter_table_alter_columns": _Race(
        act=lambda client, who: client(
            "alter_table_alter_columns", alterations=[{"path": "name", "rename": f"c{who}"}]
        ),
        holds=lambda client, won: _columns(client) == {"id", "vector", f"c{won[0]}"},
        late="TABLE_COLUMN_NOT_FOUND",
        only_one=True,
    ),
    "alter_table_drop_columns": _Race(
        act=lambda client, _: client("alter_table_drop_columns", columns=["name"]),
        holds=lambda client, _: _columns(client) == {"id", "vector"},
        late="TABLE_COLUMN_NOT_FOUND",
        only_one=True,
    ),
    "update_table_schema_metadata": _Race(
        act=lambda client, who: client("update_table_schema_metadata", metadata={"writer": str(who)}),
        holds=lambda client, won: _metadata(client) in [{"writer": str(who)} for who in won],
    ),
    "update_field_metadata": _Race(
        act=lambda client, who: client(
            "update_field_metadata", updates=[{"path": "name", "metadata": {f"k{who}": "v"}}]
        ),
        holds=lambda client, won: _field_metadata(client) == {f"k{who}": "v" for who in won},
    ),
    "create_table_index": _Race(
        act=lambda client, who: client(
            "create_table_index", column="vector", index_type="IVF_FLAT", num_partitions=1, name=f"i{who}"
        ),
        holds=lambda client, won: _index_names(client) == {f"i{who}" for who in won},
    ),
    "create_table_scalar_index": _Race(
        act=lambda client, who: client("create_table_scalar_index", column="id", index_type="BTREE", name=f"i{who}"),
        holds=lambda client, won: _index_names(client) == {f"i{who}" for who in won},
    ),
    "restore_table": _Race(
        act=lambda client, _: client("restore_table", version=1),
        holds=lambda client, _: client.ids() == list(range(COUNT)),
    ),
    "create_table_tag": _Race(
        act=lambda client, _: client("create_table_tag", tag="x", version=1),
        holds=lambda client, _: list(client("list_table_tags").tags) == ["x"],
        late="TABLE_TAG_ALREADY_EXISTS",
        only_one=True,
    ),
    "update_table_tag": _Race(
        act=lambda client, _: client("update_table_tag", tag="first", version=1),
        holds=lambda client, _: client("get_table_tag_version", tag="first").version == 1,
    ),
    "create_table_branch": _Race(
        act=lambda client, _: client("create_table_branch", name="x"),
        holds=lambda client, _: client.ids(branch="x") == list(range(COUNT)),
        late="TABLE_BRANCH_ALREADY_EXISTS",
        only_one=True,
    ),
}


class RaceTests(BackendFixtures):
    """Error Handling: code 14 (ConcurrentModification), for writers of one table."""

    @for_each(list(_RACES), _CONFLICT)
    def test_racing_writers(self, client: Client, operation: str) -> None:
        """Error Handling: every writer succeeds and what he wrote is there, or he gets code 14 and it is not."""
        told = _RACES[operation]
        client("create_table", sample())
        if operation == "update_table_tag":
            client.example("create_table_tag")
        ended = race(lambda who: told.act(client, who), threads=_WRITERS)
        ended.check_losers({_CONFLICT, told.late})
        assert ended.won
        assert len(ended.won) == 1 or not told.only_one
        assert told.holds(client, list(ended.won))

    @for_each(["create_table_version", "batch_create_table_versions"], _CONFLICT)
    @needs(Feature.REACHABLE_TABLES)
    def test_racing_commits(self, table: Client, operation: str) -> None:
        """CreateTableVersion, BatchCreateTableVersions: of many who commit one version, one wins and has his rows."""
        storage = table.storage(table("describe_table").location)
        staged = [stage_append(storage, stop=1 + who) for who in range(_WRITERS)]
        batch = operation.startswith("batch")

        def act(who: int) -> Any:
            entry = {"id": ["t"], **staged[who]}
            return table(operation, entries=[entry]) if batch else table(operation, **entry)

        winner = race(act, threads=_WRITERS).winner({_CONFLICT})
        assert table("count_table_rows").count == COUNT + 1 + winner

    def test_racing_first_inserts(self, client: Client) -> None:
        """InsertIntoTable: many first inserts into one declared table; all who succeeded have their rows there."""
        client("declare_table")
        ended = race(lambda who: client("insert_into_table", table_of([row(who)])), threads=_WRITERS)
        ended.check_losers({_CONFLICT})
        assert ended.won
        assert client.ids() == list(ended.won)
