"""drop_table beside another caller who drops the table and creates one of the same name, at every moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import lancespace
from lancespace.testing.samples import COUNT
from lancespace_dir.manifest.turns import Turns
from plugins.dir.tests.modes import Properties
from plugins.dir.tests.support import COMPATIBILITY, OK, OURS, V1_ONLY, Client, outcome, write_table

_CALLS = ("listdir", "open", "mkdir", "rename", "rmdir", "unlink", "link", "stat", "scandir")
"""All with which Python looks at a directory or changes one."""


class Pause:
    """Lets others act before the n-th call of the file system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, moment: int, meanwhile: Callable[[], object]) -> None:
        self._left = moment
        self._meanwhile = meanwhile
        self._thread = threading.get_ident()
        self.was_reached = False
        for name in _CALLS:
            monkeypatch.setattr(os, name, self._around(getattr(os, name)))

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def paused(*arguments: Any, **options: Any) -> Any:
            self._left -= threading.get_ident() == self._thread
            if self._left == 0 and not self.was_reached:
                self.was_reached = True
                self._meanwhile()
            return call(*arguments, **options)

        return paused


def moments(drop: Callable[[], object], meanwhile: Callable[[], object], setup: Callable[[], object]) -> Iterator[str]:
    """Run a drop with a pause before each of its calls in turn, and tell how it went."""
    for moment in count(1):
        setup()
        with pytest.MonkeyPatch.context() as patch:
            pause = Pause(patch, moment, meanwhile)
            answer = outcome(drop)
        yield answer
        if not pause.was_reached:
            return


@pytest.mark.parametrize(
    ("dropper", "other"),
    [(V1_ONLY, V1_ONLY), (COMPATIBILITY, V1_ONLY), (COMPATIBILITY, COMPATIBILITY)],
    ids=["V1", "compatibility beside V1", "compatibility"],
)
def test_a_drop_of_a_v1_table_spares_the_next_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dropper: Properties, other: Properties
):
    """Whoever saw the old table removes that and no other; the new one is whole and in its place at every moment."""
    number = iter(range(10_000))
    state: dict[str, Any] = {}

    def setup() -> None:
        root = state["root"] = tmp_path / str(next(number))
        write_table(root, "t.lance")
        monkeypatch.setattr(Turns, "mine", lambda _: nullcontext())  # A paused commit would keep the other waiting.
        state["mine"], state["theirs"] = Client(OURS, root, **dropper), Client(OURS, root, **other)

    def meanwhile() -> None:
        state["first"] = outcome(lambda: state["theirs"].drop(("t",)))
        state["created"] = outcome(lambda: state["theirs"].create_table(("t",)))

    outcomes = []
    for answer in moments(lambda: state["mine"].drop(("t",)), meanwhile, setup):
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
