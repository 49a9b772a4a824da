"""A handle on one table of a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lancespace import identifiers
from lancespace._arrow import from_ipc_file
from lancespace._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import lance
    import pyarrow as pa

    from lancespace._namespace import Namespace


class Table:
    """A table by name: shorthands for what people do most, each one operation of the namespace.

    The handle holds no snapshot; every call sees the table as it is then.
    """

    def __init__(self, namespace: Namespace, identifier: list[str]) -> None:
        self.namespace = namespace
        self.id = identifier

    def __repr__(self) -> str:
        return f"<table {identifiers.show(self.id)} of {self.namespace.namespace_id()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from lancespace.html import table_html

        return table_html(self)

    def exists(self) -> bool:
        """Whether the catalog has it, declared or with data."""
        from lance_namespace import NamespaceNotFoundError, TableNotFoundError

        try:
            self.namespace.table_exists(self.id)
        except (TableNotFoundError, NamespaceNotFoundError):
            return False
        return True

    def count(self, predicate: str | None = None) -> int:
        """How many rows there are, or match a filter."""
        return self.namespace.count_table_rows(self.id, predicate=predicate).count or 0

    def query(self, *, tag: str | None = None, **fields: Any) -> pa.RecordBatchReader:
        """Query the table and stream the result; the fields are those of ``QueryTableRequest``.

        ``vector`` may be a plain list, ``columns`` a list of names or a dict of expressions, ``full_text_query`` a
        string. Without a ``k``, a search answers the 10 best rows and a filter all that match. ``tag`` is looked up
        first, and stands for the version and branch that it names.
        """
        if tag is not None:
            fields |= self._tagged(tag, fields)
        answer = self.namespace.call(OPERATIONS["query_table"], self.id, **fields)
        return from_ipc_file(answer.data) if hasattr(answer, "data") else answer

    def to_arrow(self, **fields: Any) -> pa.Table:
        """The result of :meth:`query`, whole and in memory."""
        return self.query(**fields).read_all()

    def _tagged(self, tag: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        from lance_namespace import InvalidInputError

        if fields.get("version") is not None or fields.get("branch") is not None:
            raise InvalidInputError(
                "a tag names a version and a branch already: leave out 'version' and 'branch', or 'tag'"
            )
        found = self.namespace.get_table_tag_version(self.id, tag=tag)
        return {"version": found.version, "branch": found.branch}

    def dataset(self, version: int | str | None = None, branch: str | None = None) -> lance.LanceDataset:
        """The table opened with the Lance SDK, at a version or tag (default: the latest) and branch (default: main).

        Commits on it go through the namespace where that manages versions. A backend that opens tables itself does it
        with its own credentials; any other is asked for some, again and again before they expire.
        """
        name = identifiers.show(self.id)
        hooks = self.namespace.extension("dataset", wanted_by=f"the dataset of table {name!r}")
        dataset: lance.LanceDataset = hooks.open_dataset(
            namespace=self.namespace, names=self.id, version=version, branch=branch
        )
        return dataset
