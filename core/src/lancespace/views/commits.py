"""The one commit of a refresh: rows out, rows in, and what they were made from.

Two refreshes must not both add the rows of a new source fragment. Lance lets changes that touch different fragments
pass each other, so every refresh touches the first fragment that the view has, and the later of two is refused; in a
view without rows, it may only make the very next version. Indexes stay: Lance knows which fragments they cover.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
from lance.commit import CommitConflictError

from lancespace.views.state import State, data_files, file_of

if TYPE_CHECKING:
    from lancespace.tables.access import TableRef


def commit(ref: TableRef, view: lance.LanceDataset, state: State, added: list[Any]) -> bool:
    """Make the view what ``state`` says: its files that are not in it go, and these fragments come.

    False if somebody else changed the view meanwhile. Nothing was committed then, or, if they wrote to it around the
    catalog, the view has their rows beside; in both cases the caller looks again.
    """
    transaction = lance.Transaction(
        view.version, _operation(view, state, added), transaction_properties=state.properties()
    )
    try:
        committed = lance.LanceDataset.commit(view, transaction, max_retries=0, **ref.committing())
    except CommitConflictError:
        return False
    return data_files(committed) == state.files()


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
