"""Drops beside another caller who creates a table of the same name, or registers the files, at every moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lancespace
from lancespace_testing.samples import COUNT
from plugins.dir.tests.modes import Properties
from plugins.dir.tests.pausing import Pauses, pauses
from plugins.dir.tests.support import COMPATIBILITY, OK, OURS, V1_ONLY, Client, outcome, write_table

__all__ = ["pauses"]


def moments(
    pauses: Pauses, drop: Callable[[], object], meanwhile: Callable[[], object], setup: Callable[[], object]
) -> Iterator[str]:
    """Run a drop with a pause at each of its moments in turn, and tell how it went."""
    for moment in pauses.moments():
        setup()
        with pauses.at(moment, meanwhile):
            answer = outcome(drop)
        yield answer


@pytest.mark.parametrize(
    ("dropper", "other"),
    [(V1_ONLY, V1_ONLY), (COMPATIBILITY, V1_ONLY), (COMPATIBILITY, COMPATIBILITY)],
    ids=["V1", "compatibility beside V1", "compatibility"],
)
def test_a_drop_of_a_v1_table_spares_the_next_of_its_name(
    tmp_path: Path, pauses: Pauses, dropper: Properties, other: Properties
):
    """Whoever saw the old table removes that and no other; the new one is whole and in its place at every moment."""
    number = iter(range(10_000))
    state: dict[str, Any] = {}

    def setup() -> None:
        root = state["root"] = tmp_path / str(next(number))
        write_table(root, "t.lance")
        state["mine"], state["theirs"] = Client(OURS, root, **dropper), Client(OURS, root, **other)

    def meanwhile() -> None:
        state["first"] = outcome(lambda: state["theirs"].drop(("t",)))
        state["created"] = outcome(lambda: state["theirs"].create_table(("t",)))

    outcomes = []
    for answer in moments(pauses, lambda: state["mine"].drop(("t",)), meanwhile, setup):
        created, first = state.pop("created", None), state.pop("first", None)
        client = Client(OURS, state["root"], **other)
        assert client.has_table(("t",)) == (created == OK and (answer, first) != (OK, OK))
        if client.has_table(("t",)):
            with lancespace.connect("dir", {"root": str(state["root"]), **other}) as namespace:
                assert namespace.count_table_rows("t").count == COUNT
        if first == OK:
            outcomes.append(answer)
        client.close()
    looked_late = outcomes.count(OK)
    assert outcomes[:looked_late] == [OK] * looked_late, "before its first look it drops what it finds"
    assert set(outcomes[looked_late:]) <= {"TableNotFound", "ConcurrentModification"}
    assert len(outcomes) - looked_late > 5


@pytest.mark.parametrize(
    ("names", "call"),
    [(("t",), "drop"), (("a", "t"), "drop"), (("a",), "drop_namespace")],
    ids=["root", "V2", "cascade"],
)
def test_a_drop_spares_what_another_registers(tmp_path: Path, pauses: Pauses, names: tuple[str, ...], call: str):
    """A caller who registers the files under another name while they are dropped has all of them, or an error."""
    state: dict[str, Any] = {}
    table = ("t",) if names == ("t",) else ("a", "t")

    def setup() -> None:
        root = state["root"] = tmp_path / str(len(list(tmp_path.iterdir())))
        state["mine"], state["theirs"] = mine, theirs = Client(OURS, root), Client(OURS, root)
        mine.create_namespace(("a",))
        theirs.create_table(table)
        state["place"] = mine.place(table)

    def meanwhile() -> None:
        state["registered"] = outcome(lambda: state["theirs"].register(("u",), state["place"]))

    def drop() -> object:
        how = {"behavior": "Cascade"} if call == "drop_namespace" else {}
        return getattr(state["mine"], call)(names, **how)

    registered = []
    for answer in moments(pauses, drop, meanwhile, setup):
        assert answer == OK
        registered.append(state.pop("registered", None))
        with lancespace.connect("dir", {"root": str(state["root"])}) as namespace:
            assert namespace.list_all_tables().tables == (["u"] if registered[-1] == OK else [])
            if registered[-1] == OK:
                assert namespace.count_table_rows("u").count == COUNT
            else:
                assert not (state["root"] / state["place"] / "_versions").exists()
    assert OK in registered
    assert "InvalidTableState" in registered


@pytest.mark.parametrize("call", ["drop", "drop_namespace"])
def test_a_drop_spares_the_next_table_at_a_chosen_location(tmp_path: Path, pauses: Pauses, call: str):
    """A caller who declares a table where the dropped one was, and fills it, has all of it, or an error."""
    state: dict[str, Any] = {}

    def setup() -> None:
        root = state["root"] = tmp_path / str(len(list(tmp_path.iterdir())))
        state["mine"], state["theirs"] = mine, _ = Client(OURS, root), Client(OURS, root)
        mine.create_namespace(("a",))
        mine.declare(("a", "t"), location="place")
        mine.create_table(("a", "t"))

    def meanwhile() -> None:
        state["declared"] = outcome(lambda: state["theirs"].declare(("u",), location="place"))
        state["created"] = outcome(lambda: state["theirs"].create_table(("u",)))

    def drop() -> object:
        how = {"behavior": "Cascade"} if call == "drop_namespace" else {}
        return getattr(state["mine"], call)(("a",) if how else ("a", "t"), **how)

    created = []
    for answer in moments(pauses, drop, meanwhile, setup):
        assert answer == OK
        declared = state.pop("declared", None)
        created.append((declared, state.pop("created", None)))
        with lancespace.connect("dir", {"root": str(state["root"])}) as namespace:
            if created[-1] == (OK, OK):
                assert namespace.count_table_rows("u").count == COUNT, len(created)
    assert (OK, OK) in created
