"""Several changes in one commit of the manifest: all of them happen, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    BatchDeleteTableVersionsRequest,
    CreateTableVersionRequest,
    LanceNamespaceError,
    UnsupportedOperationError,
)

from lancespace.tables.access import MAIN_BRANCH, name_of
from lancespace_dir.catalogs import Names, Place
from lancespace_dir.commits import after_commit
from lancespace_dir.versionrows import MANAGEMENT

if TYPE_CHECKING:
    from lancespace.tables.access import TableRef
    from lancespace_dir.managedversions import ManagedVersions
    from lancespace_dir.manifest.drafts import Draft
    from lancespace_dir.v2 import ManifestCatalog

Open = Callable[[Names, Place], "TableRef"]


class Step:
    """One operation of a batch."""

    def prepare(self, batch: Batch) -> None:
        """Look at everything that can be looked at before the commit, and refuse what cannot be."""
        raise NotImplementedError

    def apply(self, draft: Draft) -> Any:
        """Change the draft, in which the operations before are done; this may run more than once."""
        raise NotImplementedError

    def finish(self, result: Any) -> None:
        """Do what follows from the commit; what a crash leaves of it, readers make good."""

    def undo(self) -> None:
        """Take back what was prepared, because there is no commit."""


class Batch:
    """The operations of a batch, in order."""

    def __init__(self, catalog: ManifestCatalog, open_table: Open) -> None:
        self.catalog = catalog
        self.declared: dict[tuple[str, ...], Place] = {}
        """Tables that an earlier operation of this batch declares."""
        self._open = open_table

    def commit(self, steps: Sequence[tuple[str, Step]]) -> list[Any]:
        """Do all of it, and return the result of each; a step comes with the name of what it does.

        Raises:
            LanceNamespaceError: As the operation that failed does; the message begins with its position.
        """
        begun: list[Step] = []
        try:
            for position, (what, step) in enumerate(steps):
                begun.append(step)
                with _at(position, what):
                    step.prepare(self)
            results = self.catalog.manifest.mutate(lambda draft: _apply(draft, steps))
        except BaseException:
            for step in reversed(begun):
                step.undo()
            raise
        for (what, step), result in zip(steps, results, strict=True):
            with after_commit(what):
                step.finish(result)
        return results

    def place(self, names: Names) -> Place:
        """Where a table is, or will be after the operations before."""
        return self.declared.get(tuple(names)) or self.catalog.find(names)

    def versions(self, request: CreateTableVersionRequest | BatchDeleteTableVersionsRequest) -> ManagedVersions:
        """The versions of a table, if they are kept in the manifest: only then they can change together with others.

        Raises:
            UnsupportedOperationError: They are in storage.
        """
        names = request.id or []
        place = self.place(names)
        if request.branch not in {None, MAIN_BRANCH}:
            raise UnsupportedOperationError(
                f"the versions of branch {request.branch!r} of table {name_of(request)!r} are in storage, where they "
                "cannot change together with others: send the operation alone"
            )
        if not place.is_managed:
            raise UnsupportedOperationError(
                f"table {name_of(request)!r} keeps its versions in storage, where they cannot change together with "
                f"others: send the operation alone, or register the table again with mode='overwrite' and the property "
                f"{MANAGEMENT}=true"
            )
        return self.catalog.managed.of(self._open(names, place))


def _apply(draft: Draft, steps: Sequence[tuple[str, Step]]) -> list[Any]:
    results = []
    for position, (what, step) in enumerate(steps):
        with _at(position, what):
            results.append(step.apply(draft))
    return results


@contextmanager
def _at(position: int, what: str) -> Iterator[None]:
    """Say in an error which operation of the batch it is about."""
    try:
        yield
    except LanceNamespaceError as error:
        raise type(error)(f"operation {position} ({what}): {error}") from error
