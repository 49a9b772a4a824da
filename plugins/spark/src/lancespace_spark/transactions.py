"""What the transactions of a table tell; pylance 14 cannot show those of compactions that rewrote indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lance_namespace import TableNotFoundError, TableVersionNotFoundError

from lancespace.authoring import translate

if TYPE_CHECKING:
    import lance

COMPACTION = "Rewrite"


def operation_of(dataset: lance.LanceDataset, version: int) -> str:
    """The kind of operation that made a version."""
    try:
        transaction = dataset.read_transaction(version)
    except TypeError:  # Raised for such a compaction, and for nothing else.
        return COMPACTION
    return "unknown operation" if transaction is None else type(transaction.operation).__name__


def properties_of(dataset: lance.LanceDataset, version: int) -> dict[str, Any]:
    """The properties that the writer of a version gave its transaction."""
    try:
        transaction = dataset.read_transaction(version)
    except TypeError:  # A compaction, which nobody gives any.
        return {}
    return dict((transaction.transaction_properties or {}) if transaction is not None else {})


def properties_down(dataset: lance.LanceDataset, after: int = 0) -> Iterator[dict[str, Any]]:
    """The properties of all versions after one, the latest first.

    Their numbers are tried one after the other, and listed only where one was cleaned up: to list the versions, Lance
    reads all of them.
    """
    for version in range(dataset.version, after, -1):
        try:
            found = properties_of(dataset, version)
        except (OSError, ValueError) as error:
            if not isinstance(translate(error), (TableNotFoundError, TableVersionNotFoundError)):
                raise
            break
        yield found
    else:
        return
    there = {entry["version"] for entry in dataset.versions()}
    for number in sorted(there & set(range(after + 1, version)), reverse=True):
        yield properties_of(dataset, number)
