"""A model of the directory catalog in compatibility mode: what must hold after each change by either implementation."""

from __future__ import annotations

from dataclasses import dataclass, field

from plugins.dir.tests.support import OK, OURS, Id


@dataclass
class Directory:
    """A table directory that is in storage."""

    is_created: bool
    is_of_manifest: bool
    """Whether ours reserved it for a table of the manifest; beside a manifest, it does not show a table by itself."""
    is_hidden: bool = False


@dataclass
class Model:
    """Rows of the manifest, and directories.

    What each implementation shows follows from these. pylance looks for root tables among the directories alone, where
    the spec says the manifest first: what we keep elsewhere than in ``<name>.lance`` it does not see. It also leaves
    the directory of a root table that it deregistered in sight.
    """

    namespaces: set[Id] = field(default_factory=set)
    tables: dict[Id, str] = field(default_factory=dict)
    """The location of every table that has a row."""
    directories: dict[str, Directory] = field(default_factory=dict)

    def place(self, who: str, names: Id) -> str | None:
        """The location under which an implementation shows a table."""
        own = f"{names[0]}.lance"
        shown = own if len(names) == 1 and self.is_shown(who, own) else None
        if who != OURS and len(names) == 1:
            return shown
        return self.tables.get(names, shown)

    def children(self, parent: Id) -> set[str]:
        """The names of child namespaces."""
        return {names[-1] for names in self.namespaces if names[:-1] == parent}

    def has(self, parent: Id) -> bool:
        """Whether there is such a namespace."""
        return not parent or parent in self.namespaces

    def unnamed(self) -> list[str]:
        """The directories that no row leads to."""
        return sorted(set(self.directories) - set(self.tables.values()))

    def is_shown(self, who: str, location: str) -> bool:
        """Whether a directory shows a table by itself."""
        directory = self.directories.get(location)
        if directory is None or not location.endswith(".lance") or directory.is_hidden:
            return False
        return who != OURS or not directory.is_of_manifest

    def is_held(self, names: Id) -> bool:
        """Whether the directory of a root table's name holds one that the manifest does not have under this name."""
        location = f"{names[0]}.lance"
        return len(names) == 1 and location in self.directories and self.tables.get(names) != location

    def create_namespace(self, names: Id) -> str:
        if not self.has(names[:-1]):
            return "NamespaceNotFound"
        if names in self.namespaces:
            return "NamespaceAlreadyExists"
        self.namespaces.add(names)
        return OK

    def drop_namespace(self, names: Id, *, cascade: bool = False) -> str:
        if names not in self.namespaces:
            return "NamespaceNotFound"
        below = [other for other in (*self.namespaces, *self.tables) if other[:-1][: len(names)] == names]
        if below and not cascade:
            return "NamespaceNotEmpty"
        for location in [self.tables.pop(other) for other in list(self.tables) if other in below]:
            self.directories.pop(location, None)
        self.namespaces -= {names, *below}
        return OK

    def may_declare(self, who: str, names: Id) -> str:
        """The outcome of a declare; the location of the new table is the implementation's choice."""
        if self.place(OURS, names) is not None:
            return "TableAlreadyExists"
        return OK if self.has(names[:-1]) or who != OURS else "NamespaceNotFound"

    def declare(self, who: str, names: Id, location: str) -> None:
        self.tables[names] = location
        self.directories.setdefault(location, Directory(is_created=False, is_of_manifest=who == OURS))

    def may_create(self, who: str, names: Id) -> str:
        """The outcome of a create: a table that is only declared can be created."""
        location = self.place(OURS, names)
        if location is None or location not in self.directories or not self.directories[location].is_created:
            return OK if self.has(names[:-1]) or location is not None or who != OURS else "NamespaceNotFound"
        return "TableAlreadyExists"

    def create(self, who: str, names: Id, location: str) -> None:
        if who != OURS or self.place(OURS, names) is None:
            self.declare(who, names, location)  # Ours leaves a table that only its directory declares to V1.
        self.directories[location].is_created = True

    def register(self, who: str, names: Id, location: str) -> str:
        """The outcome of a register, and its effect."""
        is_own = len(names) == 1 and location == f"{names[0]}.lance"
        if who == OURS and not (location in self.directories and self.directories[location].is_created):
            return "InvalidInput"
        if not self.has(names[:-1]):
            return "NamespaceNotFound"
        if names in self.tables or (who == OURS and not is_own and self.place(OURS, names) is not None):
            return "TableAlreadyExists"
        self.tables[names] = location
        if who == OURS and is_own:
            self.directories[location].is_hidden = False
        return OK

    def deregister(self, who: str, names: Id) -> str:
        """Ours hides the directory that would otherwise still show the table; pylance does not."""
        location = self.place(OURS, names) if who == OURS else self.tables.get(names)
        if location is None:
            return self._missing(who, names)
        self.tables.pop(names, None)
        if who == OURS and names == (location.removesuffix(".lance"),) and location in self.directories:
            self.directories[location].is_hidden = True
        return OK

    def drop(self, who: str, names: Id) -> str:
        """Ours also drops V1 tables, deregistered ones among them; pylance knows only rows."""
        location = self.tables.get(names) or (self._v1(names) if who == OURS else None)
        if location is None:
            return self._missing(who, names)
        self.tables.pop(names, None)
        self.directories.pop(location, None)
        return OK

    def rename(self, names: Id, target: Id) -> str:
        """Only ours can; the directory stays, and is hidden if it shows the old name."""
        location = self.place(OURS, names)
        if location is None:
            return self._missing(OURS, names)
        if self.place(OURS, target) is not None:
            return "TableAlreadyExists"
        if not self.has(target[:-1]):
            return "NamespaceNotFound"
        self.tables.pop(names, None)
        self.tables[target] = location
        if location in self.directories and location in {f"{names[0]}.lance", f"{target[0]}.lance"}:
            self.directories[location].is_hidden = target != (location.removesuffix(".lance"),)
        return OK

    def _v1(self, names: Id) -> str | None:
        """The directory of a root table that is shown or deregistered, if there is one."""
        own = f"{names[0]}.lance"
        is_hidden = own in self.directories and self.directories[own].is_hidden
        return own if len(names) == 1 and (is_hidden or self.is_shown(OURS, own)) else None

    def _missing(self, who: str, names: Id) -> str:
        return "TableNotFound" if self.has(names[:-1]) or who != OURS else "NamespaceNotFound"
