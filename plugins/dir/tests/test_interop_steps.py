"""Both implementations on one root, step by step: after each change, every client must see what the model says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plugins.dir.tests.models import Model
from plugins.dir.tests.support import OK, OURS, PYLANCE, Client, Id, outcome, rows

NAMESPACES: tuple[Id, ...] = (("a",), ("a", "b"))
TABLES: tuple[Id, ...] = (("t",), ("u",), ("a", "t"), ("a", "b", "t"))

WHO = st.sampled_from([OURS, PYLANCE])
NAMESPACE = st.sampled_from(NAMESPACES)
TABLE = st.sampled_from(TABLES)
DATA = st.data()


class BothImplementations(RuleBasedStateMachine):
    """Changes by a randomly chosen implementation; pylance is only kept from what it is known to do wrongly."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.root = Path(self._directory.name)
        self.model = Model()
        self.clients = {who: Client(who, self.root) for who in (OURS, PYLANCE)}

    def teardown(self) -> None:
        self.clients[OURS].close()
        self._directory.cleanup()

    @initialize(who=WHO)
    def first_namespace(self, who: str) -> None:
        self.create_namespace(who, ("a",))

    @rule(who=WHO, names=NAMESPACE)
    def create_namespace(self, who: str, names: Id) -> None:
        self._expect(self.model.create_namespace(names), lambda: self.clients[who].create_namespace(names))

    @rule(who=WHO, names=NAMESPACE)
    def drop_namespace(self, who: str, names: Id) -> None:
        self._expect(self.model.drop_namespace(names), lambda: self.clients[who].drop_namespace(names))

    @rule(names=NAMESPACE)
    def drop_namespace_with_all_in_it(self, names: Id) -> None:
        expected = self.model.drop_namespace(names, cascade=True)
        self._expect(expected, lambda: self.clients[OURS].drop_namespace(names, behavior="Cascade"))

    @rule(who=WHO, names=TABLE)
    def declare(self, who: str, names: Id) -> None:
        who = self._able(who, names)
        expected = self.model.may_declare(who, names)
        self._expect(expected, lambda: self.clients[who].declare(names))
        if expected == OK:
            self.model.declare(who, names, self._place_of(names))

    @rule(who=WHO, names=TABLE)
    def create_table(self, who: str, names: Id) -> None:
        who = self._able(who, names)
        expected = self.model.may_create(who, names)
        self._expect(expected, lambda: self.clients[who].create_table(names))
        if expected == OK:
            self.model.create(who, names, self._place_of(names))

    @rule(who=WHO, data=DATA)
    def drop(self, who: str, data: st.DataObject) -> None:
        names = self._some_table(data)
        self._expect(self.model.drop(who, names), lambda: self.clients[who].drop(names))

    @rule(who=WHO, data=DATA)
    def deregister(self, who: str, data: st.DataObject) -> None:
        names = self._some_table(data)
        self._expect(self.model.deregister(who, names), lambda: self.clients[who].deregister(names))

    @precondition(lambda self: self.model.unnamed())
    @rule(who=WHO, names=TABLE, data=DATA)
    def register(self, who: str, names: Id, data: st.DataObject) -> None:
        location = data.draw(st.sampled_from(self.model.unnamed()))
        if self.model.is_shown(PYLANCE, location):
            names = (location.removesuffix(".lance"),)
        self._expect(self.model.register(who, names, location), lambda: self.clients[who].register(names, location))

    @rule(new=TABLE, data=DATA)
    def rename(self, new: Id, data: st.DataObject) -> None:
        names = self._some_table(data)
        self._expect(self.model.rename(names, new), lambda: self.clients[OURS].rename(names, new))

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        tables = {"$".join(names): ("table", location) for names, location in self.model.tables.items()}
        namespaces = {"$".join(names): ("namespace", None) for names in self.model.namespaces}
        found = {object_id: (row["object_type"], row["location"]) for object_id, row in rows(self.root).items()}
        assert found == tables | namespaces

    @invariant()
    def every_client_sees_the_model(self) -> None:
        fresh = Client(OURS, self.root)
        for client in (*self.clients.values(), fresh, Client(PYLANCE, self.root)):
            self._see_namespaces(client)
            self._see_tables(client)
        assert set(fresh.all_tables()) == {"$".join(names) for names in TABLES if self.model.place(OURS, names)}
        fresh.close()

    def _see_namespaces(self, client: Client) -> None:
        for names in NAMESPACES:
            assert client.has_namespace(names) == self.model.has(names), (client.who, names)
        for parent in ((), *self.model.namespaces):
            assert set(client.namespaces(parent)) == self.model.children(parent), (client.who, parent)

    def _see_tables(self, client: Client) -> None:
        for names in TABLES:
            place = self.model.place(client.who, names)
            assert client.place(names) == place, (client.who, names)
            assert client.has_table(names) == (place is not None), (client.who, names)
        for parent in ((), *self.model.namespaces):
            expected = {names[-1] for names in TABLES if names[:-1] == parent and self.model.place(client.who, names)}
            assert set(client.tables(parent)) == expected, (client.who, parent)

    def _expect(self, expected: str, call: Callable[[], object]) -> None:
        assert outcome(call) == expected

    def _place_of(self, names: Id) -> str:
        place = self.clients[OURS].place(names)
        assert place is not None
        return place

    def _some_table(self, data: st.DataObject) -> Id:
        """Mostly one that is there."""
        there = [names for names in TABLES if self.model.place(OURS, names) is not None]
        return data.draw(st.sampled_from([*there * 3, *TABLES]))

    def _able(self, who: str, names: Id) -> str:
        """Who enters a table: pylance does it in namespaces that do not exist, and over V1 or deregistered tables."""
        in_order = self.model.place(PYLANCE, names) == self.model.tables.get(names) and not self.model.is_held(names)
        return who if self.model.has(names[:-1]) and in_order else OURS


TestBothImplementations = BothImplementations.TestCase
TestBothImplementations.settings = settings(
    max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
