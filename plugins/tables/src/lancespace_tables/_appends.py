"""Appends: those to one table that arrive together share a commit.

Each commit reads and writes a manifest that lists every fragment, and a commit that conflicts with another one is
repeated. Without shared commits, concurrent small appends spend most of their time and memory on conflicts.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from weakref import WeakValueDictionary

import lance
import pyarrow as pa
from lance.fragment import write_fragments
from lance.optimize import Compaction
from lance_namespace import InvalidTableStateError, LanceNamespaceError, ServiceUnavailableError

from lancespace.authoring import marks, translated
from lancespace_tables._access import MAIN_BRANCH, TableLocation
from lancespace_tables._layouts import to_layout

_MOST_COUNTED = 10_000
"""Tables whose commits are counted at a time."""


class NoDataError(InvalidTableStateError):
    """The table was declared and has no data yet: its first rows create it."""


@dataclass(eq=False)
class Append:
    """Rows of one caller for a branch of a table, all of them in memory, and the outcome of the commit."""

    ref: TableLocation
    branch: str | None
    schema: pa.Schema
    batches: Sequence[pa.RecordBatch]
    marks: dict[str, str] = field(default_factory=dict)
    """Properties for the transaction."""
    version: int | None = None
    failure: Exception | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The location and the branch."""
        return self.ref.location, self.branch or MAIN_BRANCH

    def goes_with(self, other: Append) -> bool:
        """Whether both can be one commit: the same table by the same credentials, and the same columns."""
        return self.ref == other.ref and self.schema.equals(other.schema, check_metadata=True)


@dataclass(eq=False)
class _Line:
    """The appends to one branch that wait until the current commit ends."""

    commits: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[Append] = field(default_factory=list)


class Appends:
    """The small appends of one process. Each commit contains all appends that wait when it begins."""

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[tuple[str, str], _Line] = WeakValueDictionary()
        self._commits: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def commit(self, append: Append) -> int:
        """Append the rows, and return the version that has them.

        Raises:
            NoDataError: The table has none yet; nothing was written.
        """
        with self._in_line(append) as line, line.commits:
            if group := self._take(line, append):
                _append_all(group)
                if append.version is not None and self._is_time_to_merge(append):
                    merge_small_fragments(append.ref, append.branch)
        if append.failure is not None:
            raise append.failure
        if append.version is None:
            raise ServiceUnavailableError(
                f"the commit with these rows for table {append.ref.name!r} was interrupted: "
                "check whether the table has them before you send them again"
            )
        return append.version

    @contextmanager
    def _in_line(self, append: Append) -> Iterator[_Line]:
        with self._lock:
            line = self._lines.setdefault(append.key, _Line())
            line.waiting.append(append)
        try:
            yield line
        finally:
            with self._lock:
                if append in line.waiting:  # The wait was interrupted: these rows must not be written any more.
                    line.waiting.remove(append)

    def _take(self, line: _Line, append: Append) -> list[Append]:
        """The appends to commit together with this one; none if another thread has taken this one already."""
        with self._lock:
            if append not in line.waiting:
                return []
            group = [each for each in line.waiting if each.goes_with(append)]
            line.waiting = [each for each in line.waiting if each not in group]
            return group

    def _is_time_to_merge(self, append: Append) -> bool:
        with self._lock:
            if append.key not in self._commits and len(self._commits) >= _MOST_COUNTED:
                self._commits.clear()
            self._commits[append.key] += 1
            if is_time := self._commits[append.key] >= INTERVAL:
                del self._commits[append.key]
            return is_time


def append_rows(ref: TableLocation, branch: str | None, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Append rows in a commit of their own, as they arrive, and return the version that has them.

    Raises:
        NoDataError: The table has none yet; nothing was read or written.
    """
    with translated(f"insert into table {ref.name!r}"):
        dataset, transaction = _written(ref, branch, schema, batches)
        rows = sum(fragment.physical_rows for fragment in transaction.operation.fragments)
        return _committed(ref, dataset, transaction, marks(num_inserted_rows=rows))


def _append_all(group: Sequence[Append]) -> None:
    """Write the rows of all appends and commit them once; if they cannot be written together, one by one."""
    one, about = group[0], f"insert into table {group[0].ref.name!r}"
    try:
        with translated(about):
            written = _written(one.ref, one.branch, one.schema, chain.from_iterable(each.batches for each in group))
    except LanceNamespaceError as error:
        one.failure = error
        if len(group) > 1:
            for each in group:
                each.failure = None
                _append_all([each])
        return
    try:
        with translated(about):
            version = _committed(one.ref, *written, dict(chain.from_iterable(each.marks.items() for each in group)))
    except LanceNamespaceError as error:
        for each in group:
            each.failure = error
    else:
        for each in group:
            each.version = version


def _written(
    ref: TableLocation, branch: str | None, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> tuple[lance.LanceDataset, Any]:
    """Write rows to new files, which belong to the table once the transaction is committed."""
    dataset = ref.latest(branch)
    if dataset is None:
        raise NoDataError(f"table {ref.name!r} was declared but has no data yet")
    rows = to_layout(pa.RecordBatchReader.from_batches(schema, batches), dataset.schema)
    return dataset, write_fragments(rows, dataset, mode="append", return_transaction=True)


def _committed(ref: TableLocation, dataset: lance.LanceDataset, transaction: Any, properties: dict[str, str]) -> int:
    transaction.transaction_properties = properties
    version: int = lance.LanceDataset.commit(dataset, transaction, **ref.committing()).version
    return version


_log = logging.getLogger(__name__)

INTERVAL = 64
"""How many commits of appends a process makes to a table before it merges the small fragments."""

SMALL_BYTES = 1 << 20
"""Fragments whose files are larger are left as they are."""


def merge_small_fragments(ref: TableLocation, branch: str | None) -> None:
    """Rewrite the small fragments that were appended last as one; earlier versions keep their files.

    The rows are safe already, so a failure is only logged: later appends try again. Fragments that an index covers are
    left out, since the index would have to be rewritten too.
    """
    try:
        with translated(f"merge the small fragments of table {ref.name!r}"):
            dataset = ref.open(branch=branch)
            merged = _small_tail(dataset)
            if len(merged) > 1:
                kept = [one.fragment_id for one in dataset.get_fragments() if one.fragment_id not in merged]
                Compaction.execute(dataset, {"excluded_fragment_ids": kept})
    except LanceNamespaceError as error:
        _log.warning("%s; later appends try again", error)


def _small_tail(dataset: lance.LanceDataset) -> set[int]:
    """The small fragments after the last one that is large or that an index covers."""
    indexed = {
        number for index in dataset.describe_indices() for segment in index.segments for number in segment.fragment_ids
    }
    tail: set[int] = set()
    for fragment in reversed(dataset.get_fragments()):
        sizes = [file.file_size_bytes for file in fragment.metadata.files]
        if fragment.fragment_id in indexed or None in sizes or sum(map(int, filter(None, sizes))) > SMALL_BYTES:
            break
        tail.add(fragment.fragment_id)
    return tail
