"""What the versions of a table tell of its jobs: what they have committed, and which files are part of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import lance

MARK = "lancespace.job"
TASKS = "lancespace.tasks"
"""Properties of the transaction of a job: its mark, and the keys of the tasks whose rows it made visible."""
_DIGITS = 16
"""So much of a key is kept: it only tells the tasks of one job apart."""


def properties(mark: str, keys: Iterable[str]) -> dict[str, str]:
    """What a commit carries, so that a repeat of its job knows it again, whatever became of its files."""
    return {MARK: mark, TASKS: " ".join(key[:_DIGITS] for key in keys)}


def are_committed(dataset: lance.LanceDataset | None, mark: str, keys: Iterable[str]) -> dict[str, bool]:
    """Of each task, whether a commit of the job has its rows: as long as the table has the version."""
    done: set[str] = set()
    for entry in [] if dataset is None else dataset.versions():
        named = _properties_of(dataset, entry["version"])
        if named.get(MARK) == mark:
            done.update(named[TASKS].split())
    return {key: key[:_DIGITS] in done for key in keys}


def unnamed(dataset: lance.LanceDataset | None, files: Iterable[str]) -> set[str]:
    """Those data files that no version of the table refers to."""
    left = set(files)
    if dataset is None:
        return left
    for version in sorted((entry["version"] for entry in dataset.versions()), reverse=True):
        if not left:
            break
        fragments = dataset.checkout_version(version).get_fragments()
        left.difference_update(file.path for one in fragments for file in one.metadata.files)
    return left


def _properties_of(dataset: Any, version: int) -> Mapping[str, str]:
    try:
        transaction = dataset.read_transaction(version)
    except TypeError:  # pylance 14 cannot show the transaction of a compaction that rewrote indexes.
        return {}
    found: Mapping[str, str] | None = None if transaction is None else transaction.transaction_properties
    return found or {}
