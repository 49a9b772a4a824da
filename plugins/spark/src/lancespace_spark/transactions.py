"""What the transactions of a table tell; pylance 14 cannot show those of compactions that rewrote indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
