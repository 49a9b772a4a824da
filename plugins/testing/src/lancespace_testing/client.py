"""How the tests talk to the namespace: requests of the spec in, answers or errors out, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from lance_namespace import LanceNamespaceError

from lancespace.authoring import OPERATIONS, error_class, model
from lancespace_testing import examples
from lancespace_testing.samples import Row, stream, unfile
from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa
    from lance_namespace import LanceNamespace
    from pydantic import BaseModel

    from lancespace.authoring import Storage

    Send = Callable[[LanceNamespace, str, BaseModel, "bytes | None"], Any]

_MANY = 1000
_FINAL = {"succeeded", "failed", "canceled"}


@dataclass(frozen=True)
class Client:
    """A connected namespace as a test sees it; call it with an operation and the fields of its request.

    Without ``id``, a request is about the table ``t``, or what else :mod:`~lancespace_testing.examples` has.
    """

    namespace: LanceNamespace
    supported: frozenset[str]
    """What the backend claims; a test that calls anything else is skipped."""
    send: Send
    storage: Callable[[str], Storage]
    """How the test itself gets at the table at a location; only where the backend has reachable tables."""

    def __call__(self, operation: str, data: pa.Table | bytes | None = None, **fields: Any) -> Any:
        """Send one request and return the answer."""
        if operation not in self.supported:
            pytest.skip(f"the backend does not support {operation}")
        return self._send(operation, data, {**examples.identifier_of(operation), **fields})

    def example(self, operation: str, identifier: list[str] | None = None, **fields: Any) -> Any:
        """Send the example of an operation, with some fields changed."""
        return self(operation, examples.data(operation), **{**examples.fields(operation, identifier), **fields})

    def refuses(self, code: str, operation: str, data: pa.Table | bytes | None = None, **fields: Any) -> None:
        """The request must fail with this code, and leave everything as it was."""
        __tracebackhide__ = True
        with self.unchanged(), raises(code):
            self(operation, data, **fields)

    def refuses_example(self, code: str, operation: str, identifier: list[str] | None = None, **fields: Any) -> None:
        """As :meth:`refuses`, for the example of an operation with some fields changed."""
        __tracebackhide__ = True
        with self.unchanged(), raises(code):
            self.example(operation, identifier, **fields)

    def finished(self, job: str | None) -> str:
        """How a job ended, in lower case."""
        assert job is not None
        look = partial(self, "describe_transaction", id=[job])
        status: str = until(look, lambda found: found.status.lower() in _FINAL).status
        return status.lower()

    def prepare(self, operation: str) -> None:
        """Make the world in which the example of an operation succeeds."""
        for earlier in examples.prerequisites(operation):
            self.example(earlier)

    def rows(self, identifier: list[str] = examples.TABLE, **fields: Any) -> list[Row]:
        """What ``query_table`` answers, in the order of the ids."""
        answer = self("query_table", **{"id": identifier, **examples.ALL_ROWS, **fields})
        found: list[Row] = unfile(answer.data).to_pylist()
        return sorted(found, key=lambda row: row.get("id", 0))

    def ids(self, identifier: list[str] = examples.TABLE, **fields: Any) -> list[int]:
        """The ids of the rows that ``query_table`` answers, sorted."""
        return [row["id"] for row in self.rows(identifier, **fields)]

    def version(self, identifier: list[str] = examples.TABLE) -> int:
        """The latest version of a table."""
        answer = self("list_table_versions", id=identifier, descending=True, limit=1)
        latest: int = answer.versions[0].version
        return latest

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """The block must leave the catalog and its tables as they were, as far as the backend can tell."""
        before = self.state()
        yield
        assert self.state() == before

    def state(self) -> dict[str, Any]:
        """The catalog in a comparable form, from those listings that the backend supports."""
        return dict(self._walk([]))

    def _walk(self, names: list[str]) -> Iterator[tuple[str, Any]]:
        tables = self._peek("list_tables", lambda answer: sorted(answer.tables), id=names, limit=_MANY)
        children = self._peek("list_namespaces", lambda answer: sorted(answer.namespaces), id=names, limit=_MANY)
        yield f"{names}", (tables, children)
        for table in tables if isinstance(tables, list) else []:
            yield f"{names} {table}", self._table_state([*names, table])
        for child in children if isinstance(children, list) else []:
            yield from self._walk([*names, child])

    def _table_state(self, table: list[str]) -> tuple[Any, ...]:
        return (
            self._peek("count_table_rows", lambda answer: answer.count, id=table),
            self._peek("list_table_versions", lambda answer: sorted(v.version for v in answer.versions), id=table),
            self._peek("list_table_tags", lambda answer: {k: v.version for k, v in answer.tags.items()}, id=table),
            self._peek("list_table_branches", lambda answer: sorted(answer.branches), id=table),
            self._peek("list_table_indices", lambda answer: sorted(i.index_name for i in answer.indexes), id=table),
        )

    def _peek(self, operation: str, read: Callable[[Any], Any], **fields: Any) -> Any:
        if operation not in self.supported:
            return None
        try:
            return read(self._send(operation, None, fields))
        except Exception as error:  # noqa: BLE001 - that a listing fails is part of the state too
            return code_of(error)

    def _send(self, operation: str, data: pa.Table | bytes | None, fields: dict[str, Any]) -> Any:
        request = model(OPERATIONS[operation].request).model_validate(fields)
        payload = data if data is None or isinstance(data, bytes) else stream(data)
        return self.send(self.namespace, operation, request, payload)


@contextmanager
def closing_if_possible(namespace: LanceNamespace) -> Iterator[None]:
    """Close a namespace at the end if it has a ``close``, which the spec does not ask for."""
    try:
        yield
    finally:
        close = getattr(namespace, "close", None)
        if close is not None:
            close()


def raises(*codes: str) -> Raises:
    """The block must fail with one of these codes of the spec: in the class of the code, carrying it, with a message.

    Several codes are for what the spec leaves open; each use says why.
    """
    return Raises(codes)


class Raises:
    """The context manager of :func:`raises`."""

    def __init__(self, codes: tuple[str, ...]) -> None:
        self._codes = codes

    def __enter__(self) -> None:
        """Nothing is needed before the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        __tracebackhide__ = True
        if error is None:
            pytest.fail(f"expected {self._expected()}, but nothing was raised")
        if not isinstance(error, Exception):
            return False
        if not any(_is(error, code) for code in self._codes):
            raise AssertionError(f"expected {self._expected()}, but got {_describe(error)}") from error
        return True

    def _expected(self) -> str:
        kinds = [error_class(code) for code in self._codes]
        return " or ".join(f"{kind.__name__} (code {int(kind.code)})" for kind in kinds)


def code_of(error: BaseException) -> str:
    """The name of an error's code; of a failure that is none of the spec's, the name of its class."""
    return error.code.name if isinstance(error, LanceNamespaceError) else type(error).__name__


def _is(error: Exception, code: str) -> bool:
    expected = error_class(code)
    return isinstance(error, expected) and error.code == expected.code and bool(str(error).strip())


def _describe(error: Exception) -> str:
    code = getattr(error, "code", None)
    return f"{type(error).__name__} (code {code if code is None else int(code)}): {error}"
