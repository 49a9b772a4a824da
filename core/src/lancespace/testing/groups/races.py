"""Many writers of one table: each one succeeds and is seen, or gets code 14."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lancespace.testing.client import Client
from lancespace.testing.fixtures import BackendFixtures
from lancespace.testing.requirements import Feature, for_each, needs
from lancespace.testing.samples import COUNT, row, sample, table_of
from lancespace.testing.staging import stage_append
from lancespace.testing.threads import race

_WRITERS = 4
_CONFLICT = "CONCURRENT_MODIFICATION"


@dataclass(frozen=True)
class _Race:
    """What each writer does, and what must be true of the table when those in ``won`` have succeeded."""

    act: Callable[[Client, int], Any]
    holds: Callable[[Client, list[int]], bool]
    reads: tuple[str, ...] = ("query_table",)
    """The operations that :attr:`holds` calls."""
    late: str = _CONFLICT
    """The code for a writer who came when it was done already."""
    only_one: bool = False


def _columns(client: Client) -> set[str]:
    return set(client.rows(["t"])[0])


def _index_names(client: Client) -> set[str]:
    return {index.index_name for index in client("list_table_indices", id=["t"]).indexes}


def _metadata(client: Client) -> dict[str, str]:
    return client("describe_table", id=["t"], load_detailed_metadata=True).var_schema.metadata or {}


def _field_metadata(client: Client) -> dict[str, str]:
    fields = client("describe_table", id=["t"], load_detailed_metadata=True).var_schema.fields
    return next(field.metadata for field in fields if field.name == "name") or {}


_RACES: Mapping[str, _Race] = {
    "insert_into_table": _Race(
        act=lambda client, who: client("insert_into_table", table_of([row(100 + who)]), id=["t"]),
        holds=lambda client, won: client.ids(["t"]) == [*range(COUNT), *(100 + who for who in won)],
    ),
    "merge_insert_into_table": _Race(
        act=lambda client, _: client.example("merge_insert_into_table", ["t"], timeout="10s"),
        holds=lambda client, _: client.ids(["t"]) == list(range(COUNT)),
    ),
    "update_table": _Race(
        act=lambda client, _: client("update_table", id=["t"], updates=[["name", "concat(name, '+')"]]),
        holds=lambda client, won: client.rows(["t"])[0]["name"] == "red apple" + "+" * len(won),
    ),
    "delete_from_table": _Race(
        act=lambda client, who: client("delete_from_table", id=["t"], predicate=f"id = {who}"),
        holds=lambda client, won: client.ids(["t"]) == [number for number in range(COUNT) if number not in won],
    ),
    "alter_table_add_columns": _Race(
        act=lambda client, who: client(
            "alter_table_add_columns", id=["t"], new_columns=[{"name": f"c{who}", "expression": "id"}]
        ),
        holds=lambda client, won: _columns(client) == {"id", "name", "vector", *(f"c{who}" for who in won)},
    ),
    "alter_table_alter_columns": _Race(
        act=lambda client, who: client(
            "alter_table_alter_columns", id=["t"], alterations=[{"path": "name", "rename": f"c{who}"}]
        ),
        holds=lambda client, won: _columns(client) == {"id", "vector", f"c{won[0]}"},
        late="TABLE_COLUMN_NOT_FOUND",
        only_one=True,
    ),
    "alter_table_drop_columns": _Race(
        act=lambda client, _: client("alter_table_drop_columns", id=["t"], columns=["name"]),
        holds=lambda client, _: _columns(client) == {"id", "vector"},
        late="TABLE_COLUMN_NOT_FOUND",
        only_one=True,
    ),
    "update_table_schema_metadata": _Race(
        act=lambda client, who: client("update_table_schema_metadata", id=["t"], metadata={"writer": str(who)}),
        holds=lambda client, won: _metadata(client) in [{"writer": str(who)} for who in won],
        reads=("describe_table",),
    ),
    "update_field_metadata": _Race(
        act=lambda client, who: client(
            "update_field_metadata", id=["t"], updates=[{"path": "name", "metadata": {f"k{who}": "v"}}]
        ),
        holds=lambda client, won: _field_metadata(client) == {f"k{who}": "v" for who in won},
        reads=("describe_table",),
    ),
    "create_table_index": _Race(
        act=lambda client, who: client(
            "create_table_index", id=["t"], column="vector", index_type="IVF_FLAT", num_partitions=1, name=f"i{who}"
        ),
        holds=lambda client, won: _index_names(client) == {f"i{who}" for who in won},
        reads=("list_table_indices",),
    ),
    "create_table_scalar_index": _Race(
        act=lambda client, who: client(
            "create_table_scalar_index", id=["t"], column="id", index_type="BTREE", name=f"i{who}"
        ),
        holds=lambda client, won: _index_names(client) == {f"i{who}" for who in won},
        reads=("list_table_indices",),
    ),
    "restore_table": _Race(
        act=lambda client, _: client("restore_table", id=["t"], version=1),
        holds=lambda client, _: client.ids(["t"]) == list(range(COUNT)),
    ),
    "create_table_tag": _Race(
        act=lambda client, _: client("create_table_tag", id=["t"], tag="x", version=1),
        holds=lambda client, _: list(client("list_table_tags", id=["t"]).tags) == ["x"],
        reads=("list_table_tags",),
        late="TABLE_TAG_ALREADY_EXISTS",
        only_one=True,
    ),
    "update_table_tag": _Race(
        act=lambda client, _: client("update_table_tag", id=["t"], tag="first", version=1),
        holds=lambda client, _: client("get_table_tag_version", id=["t"], tag="first").version == 1,
        reads=("get_table_tag_version", "create_table_tag"),
    ),
    "create_table_branch": _Race(
        act=lambda client, _: client("create_table_branch", id=["t"], name="x"),
        holds=lambda client, _: client.ids(["t"], branch="x") == list(range(COUNT)),
        late="TABLE_BRANCH_ALREADY_EXISTS",
        only_one=True,
    ),
}


class RaceTests(BackendFixtures):
    """Error Handling: code 14 (ConcurrentModification), for writers of one table."""

    @for_each({name: ("create_table", *each.reads) for name, each in _RACES.items()}, _CONFLICT)
    @needs()
    def test_racing_writers(self, client: Client, operation: str) -> None:
        """Error Handling: every writer succeeds and what he wrote is there, or he gets code 14 and it is not."""
        told = _RACES[operation]
        client("create_table", sample(), id=["t"])
        if operation == "update_table_tag":
            client.example("create_table_tag", ["t"])
        ended = race(lambda who: told.act(client, who), threads=_WRITERS)
        ended.check_losers({_CONFLICT, told.late})
        assert ended.won
        assert len(ended.won) == 1 or not told.only_one
        assert told.holds(client, list(ended.won))

    @for_each(["create_table_version", "batch_create_table_versions"], _CONFLICT)
    @needs("create_table", "describe_table", "count_table_rows", Feature.REACHABLE_TABLES)
    def test_racing_commits(self, client: Client, operation: str) -> None:
        """CreateTableVersion, BatchCreateTableVersions: of many who commit one version, one wins and has his rows."""
        client("create_table", sample(), id=["t"])
        storage = client.storage(client("describe_table", id=["t"]).location)
        staged = [stage_append(storage, stop=1 + who) for who in range(_WRITERS)]
        batch = operation.startswith("batch")

        def act(who: int) -> Any:
            entry = {"id": ["t"], **staged[who]}
            return client(operation, entries=[entry]) if batch else client(operation, **entry)

        ended = race(act, threads=_WRITERS)
        ended.check_losers({_CONFLICT})
        (winner,) = ended.won
        assert client("count_table_rows", id=["t"]).count == COUNT + 1 + winner

    @needs("declare_table", "insert_into_table", "query_table")
    def test_racing_first_inserts(self, client: Client) -> None:
        """InsertIntoTable: many first inserts into one declared table; all who succeeded have their rows there."""
        client("declare_table", id=["t"])
        ended = race(lambda who: client("insert_into_table", table_of([row(who)]), id=["t"]), threads=_WRITERS)
        ended.check_losers({_CONFLICT})
        assert ended.won
        assert client.ids(["t"]) == list(ended.won)
