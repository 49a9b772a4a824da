"""What a view's rows were made from: part of the commit that brings them, so neither is there without the other.

A refresh divides its work into units: the rows that come of one fragment of the source or, where a query cannot be
divided, all rows. Every unit has data files of its own in the view, so it is known which files to replace.

Two refreshes must not both add the rows of a new source fragment. Lance lets changes that touch different fragments
pass each other, so every refresh touches the first fragment that the view has, and the later of two is refused; in a
view without rows, it may only make the very next version. Indexes stay: Lance knows which fragments they cover.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import lance
from lance.commit import CommitConflictError
from lance_namespace import ConcurrentModificationError, TableNotFoundError

from lancespace.authoring import identifiers, translate
from lancespace_tables import TableLocation

STATE = "lancespace.view.state"
"""The property of the transaction that made a version of the view."""

_VERSION = 1
_LOOK_BACK = 100
"""The number of latest versions (indexes and metadata make some) among which the last refresh is found."""


@dataclass(frozen=True)
class State:
    """The rows of a view: which versions of its sources they were made from, and the files of each unit."""

    sources: Mapping[str, int]
    """Versions, by joined identifier."""
    units: Mapping[str, tuple[str, ...]]
    limit: int | None = None
    """The ``output_limit`` that was applied; the view may have fewer rows than its sources give."""
    found_at: int = field(default=0, compare=False)
    """The version of the view whose transaction says so."""

    def files(self) -> set[str]:
        """All data files of the view."""
        return {file for files in self.units.values() for file in files}

    def properties(self) -> dict[str, str]:
        """As the transaction carries it."""
        content = {"version": _VERSION, "sources": dict(self.sources), "units": dict(self.units), "limit": self.limit}
        return {STATE: json.dumps(content, separators=(",", ":"))}

    def shown(self) -> str:
        """The versions of the sources, for people: ``{"sales.orders": 7}``."""
        return json.dumps({identifiers.show(identifiers.split(key)): at for key, at in sorted(self.sources.items())})


def read_state(view: lance.LanceDataset) -> State | None:
    """The state that describes exactly the rows that are there now.

    None if the view was never refreshed, or another writer has changed its files since: then nothing is known of it.
    """
    files = data_files(view)
    if files is None:
        return None
    return next((state for state in _states(view) if state.files() == files), None)


def data_files(view: lance.LanceDataset) -> set[str] | None:
    """The data files of a view; None if a file is not whole, so that no refresh can have made it like that."""
    fragments = [fragment.metadata for fragment in view.get_fragments()]
    if any(fragment.deletion_file is not None for fragment in fragments):
        return None
    return {file_of(fragment) for fragment in fragments}


def file_of(fragment: Any) -> str:
    """The data file of a fragment that a refresh wrote."""
    name: str = fragment.files[0].path
    return name


def _states(view: lance.LanceDataset) -> Iterator[State]:
    for version in range(view.version, max(0, view.version - _LOOK_BACK), -1):
        try:
            transaction = view.read_transaction(version)
        except OSError as error:
            if isinstance(translate(error), TableNotFoundError):
                return  # This version and those before it were cleaned up.
            raise
        text = None if transaction is None else (transaction.transaction_properties or {}).get(STATE)
        state = None if text is None else _read(text, version)
        if state is not None:
            yield state


def _read(text: str, version: int) -> State | None:
    """The state that a transaction carries; None if it is of another version, or of another tool."""
    try:
        content = json.loads(text)
        if content["version"] != _VERSION:
            return None
        units = {key: tuple(map(str, files)) for key, files in content["units"].items()}
        sources = {key: int(at) for key, at in content["sources"].items()}
        return State(sources, units, content["limit"], version)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def commit(ref: TableLocation, view: lance.LanceDataset, state: State, added: list[Any]) -> None:
    """Make the view what ``state`` says: its files that are not in it go, and these fragments come.

    Raises:
        ConcurrentModificationError: Another writer changed the view meanwhile. Nothing was committed then, or, if it
            wrote to the view around the catalog, the view has its rows too; in both cases the caller reads it again.
    """
    transaction = lance.Transaction(
        view.version, _operation(view, state, added), transaction_properties=state.properties()
    )
    try:
        committed = lance.LanceDataset.commit(view, transaction, max_retries=0, **ref.committing())
    except CommitConflictError as error:
        raise ConcurrentModificationError("the view was changed while it was refreshed") from error
    if data_files(committed) != state.files():
        raise ConcurrentModificationError("the view has rows that were written around the catalog")


def _operation(view: lance.LanceDataset, state: State, added: list[Any]) -> Any:
    present = [fragment.metadata for fragment in view.get_fragments()]
    if not present:
        return lance.LanceOperation.Overwrite(view.lance_schema, added)
    kept = state.files() - {file_of(fragment) for fragment in added}
    gone = [fragment for fragment in present if fragment.deletion_file is not None or file_of(fragment) not in kept]
    touched = [] if present[0] in gone else present[:1]
    return lance.LanceOperation.Update(
        removed_fragment_ids=[fragment.id for fragment in gone], updated_fragments=touched, new_fragments=added
    )
