"""A process that is killed at any of its writes: the operation has happened or not, and a repeat gets through."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lancespace_dir.manifest.schema import NAMESPACE, Entry
from plugins.dir.tests.crashing import crashes
from plugins.dir.tests.support import (
    MODES,
    OK,
    OURS,
    PYLANCE,
    V1_ONLY,
    Client,
    Id,
    manifest_of,
    outcome,
    rows,
    write_table,
)

Seen = dict[str, object]

FILLER = 300
"""So many rows make the manifest one of several fragments, in which rows are deleted rather than rewritten."""


@dataclass(frozen=True)
class Case:
    """An operation that changes the catalog, and the error with which a repeat says that it has happened."""

    mode: str
    operation: str
    arguments: tuple[Any, ...]
    repeated: str
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        names = "-".join(".".join(argument) for argument in self.arguments if isinstance(argument, tuple))
        return "-".join((self.mode, self.operation, names, *self.options.values()))

    @property
    def properties(self) -> dict[str, str]:
        return MODES[self.mode]

    def run(self, client: Client) -> str:
        return outcome(lambda: getattr(client, self.operation)(*self.arguments, **self.options))


def cases() -> Iterator[Case]:
    for mode in ("V2", "compatibility"):
        yield Case(mode, "create_namespace", (("new",),), "NamespaceAlreadyExists")
        yield Case(mode, "drop_namespace", (("a", "b"),), "NamespaceNotFound")
        yield Case(mode, "drop_namespace", (("full",),), "NamespaceNotFound", {"behavior": "Cascade"})
        yield from table_cases(mode, ("a",))
    yield from table_cases("compatibility", ())
    yield from table_cases("V1", ())
    for operation in ("drop", "deregister"):
        yield Case("compatibility", operation, (("v",),), "TableNotFound")
    yield Case("compatibility", "rename", (("v",), ("w",)), "TableNotFound")
    yield Case("compatibility", "rename", (("v",), ("a", "w")), "TableNotFound")
    yield Case("compatibility", "rename", (("a", "t"), ("w",)), "TableNotFound")


def table_cases(mode: str, parent: Id) -> Iterator[Case]:
    new, table, hidden = (*parent, "new"), (*parent, "t"), (*parent, "h")
    yield Case(mode, "declare", (new,), "TableAlreadyExists")
    yield Case(mode, "create_table", (new,), "TableAlreadyExists")
    yield Case(mode, "register", (hidden, "h.lance"), "TableAlreadyExists")
    yield Case(mode, "deregister", (table,), "TableNotFound")
    yield Case(mode, "rename", (table, new), "TableNotFound")
    yield Case(mode, "drop", (table,), "TableNotFound")


def build(root: Path, mode: str) -> None:
    """A catalog in which every case can be run."""
    write_table(root, "h.lance")
    Client(OURS, root, **V1_ONLY).deregister(("h",))
    if mode == "V1":
        write_table(root, "t.lance")
        return
    client = Client(OURS, root, **MODES[mode])
    entries = [Entry(f"filler{number}", NAMESPACE) for number in range(FILLER)]
    for names in (("a",), ("a", "b"), ("full",), ("full", "x")):
        client.create_namespace(names)
    for table in (("t",), ("a", "t"), ("full", "t")):
        client.create_table(table)
    client.declare(("full", "x", "u"))
    if mode == "V2":
        manifest_of(client).mutate(lambda draft: draft.changes.update({entry.object_id: entry for entry in entries}))
    else:
        write_table(root, "v.lance")


def look(who: str, root: Path, properties: dict[str, str]) -> Seen:
    """All that a new client sees, but for where it is."""
    client = Client(who, root, **properties)
    seen: Seen = {}
    parents: list[Id] = [()]
    while parents:
        parent = parents.pop()
        children = [name for name in client.namespaces(parent) if not name.startswith("filler")]
        for name in sorted(children):
            seen[".".join((*parent, name))] = client.describe_namespace((*parent, name))
            parents.append((*parent, name))
        for name in sorted(client.tables(parent)):
            table = (*parent, name)
            if who == PYLANCE and not client.has_table(table):
                continue  # It lists the empty directory that a drop is about to remove.
            assert client.has_table(table)
            seen[".".join(table)] = "declared" if client.is_only_declared(table) else "created"
    client.close()
    return seen


def between(case: Case, who: str, before: Seen) -> Iterator[Seen]:
    """What else may be seen after a crash: a table that is declared before it is created.

    pylance goes by the directory of a root table, which is hidden before the table is renamed in the manifest.
    """
    name = ".".join(case.arguments[0])
    if case.operation == "create_table":
        yield {**before, name: "declared"}
    if case.operation == "rename" and who == PYLANCE:
        yield {other: what for other, what in before.items() if other != name}


def put_back(template: Path, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """For every mode a copy of a catalog, and the root to put it back to: a catalog knows its root."""
    made = {}
    for mode in MODES:
        folder = tmp_path_factory.mktemp(mode)
        (folder / "root").mkdir()
        build(folder / "root", mode)
        shutil.copytree(folder / "root", folder / "template")
        made[mode] = folder / "template", folder / "root"
    return made


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_killed_at_every_write(case: Case, templates: dict[str, tuple[Path, Path]]):
    template, root = templates[case.mode]
    put_back(template, root)
    before = {who: look(who, root, case.properties) for who in (OURS, PYLANCE)}
    assert case.run(Client(OURS, root, **case.properties)) == OK
    after = {who: look(who, root, case.properties) for who in (OURS, PYLANCE)}
    assert before[OURS] != after[OURS]

    put_back(template, root)
    moments = 0
    for moments in crashes(root, case.properties, case.operation, case.arguments, case.options):
        found = {who: look(who, root, case.properties) for who in (OURS, PYLANCE)}
        for who in (OURS, PYLANCE):
            assert found[who] in [before[who], after[who], *between(case, who, before[who])], (moments, who)
        has_happened = found[OURS] == after[OURS]
        repeated = case.run(Client(OURS, root, **case.properties))
        assert repeated == OK or (has_happened and repeated == case.repeated), (moments, repeated)
        assert look(OURS, root, case.properties) == after[OURS], moments
        look(PYLANCE, root, case.properties)
        rows(root)
        put_back(template, root)

    assert moments > 0
    assert look(OURS, root, case.properties) == after[OURS]
