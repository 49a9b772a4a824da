"""Many at once on one catalog: one winner for a name, and nothing lost."""

from __future__ import annotations

from functools import partial

from lancespace_testing.client import Client
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import covers
from lancespace_testing.samples import COUNT, row, sample, table_of
from lancespace_testing.threads import THREADS, Outcomes, race

_ROUNDS = ("r0", "r1", "r2")
"""A race may end well by luck, so each is run for several names."""
_TAKEN = {"TABLE_ALREADY_EXISTS", "CONCURRENT_MODIFICATION"}
_AWAY = {"TABLE_NOT_FOUND", "CONCURRENT_MODIFICATION"}


class ConcurrencyTests(BackendFixtures):
    """Error Handling: code 14, and the promises that hold under concurrency."""

    @covers("create_table", "CONCURRENT_MODIFICATION")
    def test_one_creator_wins(self, client: Client) -> None:
        """CreateTable: of many who create one table, one wins and has his rows in it; the others get code 5 or 14."""
        for name in _ROUNDS:
            winner = _creators(name, client).winner(_TAKEN)
            assert client.ids([name]) == [winner]
        assert sorted(client("list_tables", id=[]).tables) == list(_ROUNDS)

    def test_existing_is_ok_for_all(self, client: Client) -> None:
        """CreateTable: of many who create one table with ExistOk, all succeed, and one has his rows in it."""
        for name in _ROUNDS:
            _creators(name, client, mode="ExistOk").check_losers({"CONCURRENT_MODIFICATION"})
            assert len(client.ids([name])) == 1

    def test_an_overwriter_replaces_or_conflicts(self, client: Client) -> None:
        """CreateTable: of many who overwrite one table, those who succeed replace it whole; the others get code 14."""
        for name in _ROUNDS:
            ended = _creators(name, client, mode="Overwrite")
            ended.check_losers({"CONCURRENT_MODIFICATION"})
            (last,) = client.ids([name])
            assert last in ended.won

    @covers("declare_table", "CONCURRENT_MODIFICATION")
    def test_one_declarer_wins(self, client: Client) -> None:
        """DeclareTable: of many who declare one table, one wins; the table is where he was told."""
        for name in _ROUNDS:
            ended = _alike(client, "declare_table", name)
            declared = ended.won[ended.winner(_TAKEN)]
            assert declared.location.endswith(client("describe_table", id=[name]).location)
        assert len(client("list_tables", id=[]).tables) == len(_ROUNDS)

    def test_one_namespace_creator_wins(self, client: Client) -> None:
        """CreateNamespace: of many who create one namespace, one wins; the others get code 2 or 14."""
        for name in _ROUNDS:
            _alike(client, "create_namespace", name).winner({"NAMESPACE_ALREADY_EXISTS", "CONCURRENT_MODIFICATION"})
        assert len(client("list_namespaces", id=[]).namespaces) == len(_ROUNDS)

    @covers("register_table", "CONCURRENT_MODIFICATION")
    def test_one_registrar_wins(self, client: Client, placed: str) -> None:
        """RegisterTable: of many who register one name, one wins; the others get code 5 or 14."""
        race(lambda _: client("register_table", location=placed)).winner(_TAKEN)
        assert client("list_tables", id=[]).tables == ["t"]

    @covers("rename_table", "CONCURRENT_MODIFICATION")
    def test_one_renamer_wins(self, table: Client) -> None:
        """RenameTable: of many who rename one table, one wins; the others get code 4 or 14, and there is one table."""
        winner = race(lambda who: table("rename_table", new_table_name=f"u{who}")).winner(_AWAY)
        assert table("list_tables", id=[]).tables == [f"u{winner}"]
        assert table.ids([f"u{winner}"]) == list(range(COUNT))

    def test_one_taker_of_a_name_wins(self, client: Client) -> None:
        """RenameTable: of many tables that are renamed to one name, one gets it, and the others keep theirs."""
        for who in range(THREADS):
            client("create_table", table_of([row(who)]), id=[f"t{who}"])
        ended = race(lambda who: client("rename_table", id=[f"t{who}"], new_table_name="u"))
        winner = ended.winner(_TAKEN)
        assert sorted(client("list_tables", id=[]).tables) == sorted([*(f"t{who}" for who in ended.lost), "u"])
        assert client.ids(["u"]) == [winner]

    def test_different_tables_do_not_conflict(self, client: Client) -> None:
        """CreateTable: who creates different tables is in nobody's way, and all of them are there."""
        client("create_namespace", id=["a"])
        ended = race(lambda who: client("create_table", table_of([row(who)]), id=["a", f"t{who}"]))
        ended.check_losers({})
        assert sorted(client("list_tables", id=["a"]).tables) == [f"t{who}" for who in range(THREADS)]
        assert [client.ids(["a", f"t{who}"]) for who in range(THREADS)] == [[who] for who in range(THREADS)]

    def test_different_entries_do_not_conflict(self, client: Client) -> None:
        """CreateNamespace, DeclareTable: nor is who creates different namespaces and declares different tables."""

        def act(who: int) -> None:
            client("create_namespace", id=[f"n{who}"])
            client("declare_table", id=[f"n{who}", "t"])

        race(act).check_losers({})
        assert sorted(client("list_namespaces", id=[]).namespaces) == [f"n{who}" for who in range(THREADS)]
        assert all(client("list_tables", id=[f"n{who}"]).tables == ["t"] for who in range(THREADS))

    def test_create_against_drop(self, client: Client) -> None:
        """CreateTable, DropTable: whatever the order was, there is a whole table afterwards or none at all."""

        def act(who: int) -> None:
            if who % 2:
                client("drop_table")
            else:
                client("create_table", sample())

        for _ in _ROUNDS:
            ended = race(act)
            ended.check_losers(_TAKEN, among=range(0, THREADS, 2))
            ended.check_losers(_AWAY, among=range(1, THREADS, 2))
            if client("list_tables", id=[], include_declared=False).tables:
                assert client("count_table_rows").count == COUNT
        client("create_table", sample(), mode="Overwrite")
        assert client.ids() == list(range(COUNT))

    def test_declare_against_drop_of_the_namespace(self, client: Client) -> None:
        """DropNamespace: a table never ends up in a namespace that is not there."""
        codes = {"NAMESPACE_NOT_FOUND", "NAMESPACE_NOT_EMPTY", "CONCURRENT_MODIFICATION"}
        for name in _ROUNDS:
            client("create_namespace", id=[name])
            ended = race(partial(_drop_or_declare, client, name), threads=4)
            ended.check_losers(codes)
            is_there = name in client("list_namespaces", id=[]).namespaces
            assert is_there != (0 in ended.won)
            assert is_there or len(ended.won) == 1

    def test_second_client_sees_it_at_once(self, client: Client, second: Client) -> None:
        """Error Handling: no client says "not found" of what another one has been told is there, nor the reverse."""
        assert second("list_tables", id=[]).tables == []
        client("create_namespace", id=["a"])
        client.example("create_table", ["a", "t"])
        assert second("list_tables", id=["a"]).tables == ["t"]
        second.refuses_example("TABLE_ALREADY_EXISTS", "create_table", ["a", "t"])
        second.example("insert_into_table", ["a", "t"])
        assert client("count_table_rows", id=["a", "t"]).count == 2 * COUNT
        second("drop_table", id=["a", "t"])
        client.refuses("TABLE_NOT_FOUND", "count_table_rows", id=["a", "t"])

    def test_one_creator_of_two_clients_wins(self, client: Client, second: Client) -> None:
        """CreateTable: one winner, too, where the creators are different clients."""
        for name in _ROUNDS:
            winner = _creators(name, client, second).winner(_TAKEN)
            assert second.ids([name]) == client.ids([name]) == [winner]


def _creators(name: str, *clients: Client, mode: str | None = None) -> Outcomes:
    """Many create one table, each with one row that has his number; the clients take turns."""
    return race(lambda who: clients[who % len(clients)]("create_table", table_of([row(who)]), id=[name], mode=mode))


def _alike(client: Client, operation: str, name: str) -> Outcomes:
    """Many do exactly the same."""
    return race(lambda _: client(operation, id=[name]))


def _drop_or_declare(client: Client, name: str, who: int) -> None:
    """The first drops a namespace while the others declare tables in it."""
    if who:
        client("declare_table", id=[name, f"t{who}"])
    else:
        client("drop_namespace", id=[name])
