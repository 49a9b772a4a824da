"""Appends: those to one table that arrive together share a commit.

Each commit reads and writes a manifest that lists every fragment, and a commit that conflicts with another one is
repeated. Without shared commits, concurrent small appends spend most of their time and memory on conflicts.
"""

from __future__ import annotations

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
from lance_namespace import InvalidTableStateError, LanceNamespaceError, ServiceUnavailableError

from lancespace.errors import translated
from lancespace.tables.access import MAIN_BRANCH, TableRef
from lancespace.tables.layouts import fitted
from lancespace.tables.smallfragments import INTERVAL, merge_small_fragments
from lancespace.writes import marks

_MOST_COUNTED = 10_000
"""Tables whose commits are counted at a time."""


class NoDataError(InvalidTableStateError):
    """The table was declared and has no data yet: its first rows create it."""


@dataclass(eq=False)
class Append:
    """Rows of one caller for a branch of a table, all of them in memory, and the outcome of the commit."""

    ref: TableRef
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


def append_rows(ref: TableRef, branch: str | None, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
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
    ref: TableRef, branch: str | None, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> tuple[lance.LanceDataset, Any]:
    """Write rows to new files, which belong to the table once the transaction is committed."""
    dataset = ref.latest(branch)
    if dataset is None:
        raise NoDataError(f"table {ref.name!r} was declared but has no data yet")
    rows = fitted(pa.RecordBatchReader.from_batches(schema, batches), dataset.schema)
    return dataset, write_fragments(rows, dataset, mode="append", return_transaction=True)


def _committed(ref: TableRef, dataset: lance.LanceDataset, transaction: Any, properties: dict[str, str]) -> int:
    transaction.transaction_properties = properties
    version: int = lance.LanceDataset.commit(dataset, transaction, **ref.committing()).version
    return version
