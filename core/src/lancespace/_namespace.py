"""The namespace that a user holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError, UnsupportedOperationError

from lancespace import _requests as requests
from lancespace import identifiers
from lancespace._arrow import ArrowData, StreamedAnswer, to_ipc_file
from lancespace._connection import COUNTS_PROPERTY, Connection
from lancespace._counts import CallCounts
from lancespace._errors import is_failure, translate, translated
from lancespace._forks import process
from lancespace._lance_threads import call_on_python_thread
from lancespace._methods import OperationMethods
from lancespace._models import model
from lancespace._operations import OPERATIONS, Operation, Payload
from lancespace._paging import pages
from lancespace._properties import checked

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa
    from typing_extensions import Self

    from lancespace._arrow import ArrowLike
    from lancespace._connection import RequestLimits
    from lancespace._requests import RequestLike
    from lancespace._table import Table
    from lancespace.identifiers import Identifier


class Namespace(OperationMethods):
    """A connected namespace: a ``lance_namespace.LanceNamespace`` whose operations are answered by plugins.

    Every operation of the spec is a method. It takes the spec's request model, as the ecosystem passes it, or an
    identifier and the request's fields as keywords::

        ns.create_table("sales.orders", table, mode="overwrite")
        ns.list_tables("sales", limit=10).tables

    A namespace is safe to share between threads, and pickles by its name and properties: the other side connects anew.
    """

    def __init__(
        self, backend: str, properties: Mapping[str, str] | None = None, *, context_provider: object = None
    ) -> None:
        self._backend = backend
        self._properties = checked(properties)
        self._process = process.generation
        self._is_used = False
        self._connect(Connection(backend, self._properties, context_provider))

    def capabilities(self) -> frozenset[str]:
        """The names of the operations this namespace answers; any other raises ``UnsupportedOperationError``."""
        return self._capabilities

    def namespace_id(self) -> str:
        """A readable, stable identity without secrets, e.g. ``dir(root=/data)``."""
        identity: str = self._hooks.namespace_id()
        return identity

    @property
    def backend(self) -> Any:
        """The backend itself, for functions that its own package offers beside the operations."""
        self._enter_process()
        return self._connection.backend

    def connection_args(self) -> tuple[str, dict[str, str]]:
        """The backend's name and the properties, to connect again elsewhere; they may hold secrets.

        Raises:
            InvalidInputError: If the namespace has a context provider that was given as an object.
        """
        if self._connection.context_provider is not None:
            raise InvalidInputError(
                "A namespace with a context_provider object cannot be sent to another process or job: "
                "name its class in the property 'dynamic_context_provider.impl' instead."
            )
        return self._backend, {**self._properties, **self._connection.backend.absolute_properties()}

    def table(self, identifier: Identifier) -> Table:
        """A handle on one table; nothing is opened before it is used."""
        from lancespace._table import Table

        return Table(self, identifiers.parse(identifier))

    def tables(self, identifier: Identifier = ()) -> Iterator[str]:
        """All table names of a namespace, page by page as they are consumed."""
        return self._walk(self.list_tables, identifier, "tables")

    def namespaces(self, identifier: Identifier = ()) -> Iterator[str]:
        """All child namespaces of a namespace, page by page as they are consumed."""
        return self._walk(self.list_namespaces, identifier, "namespaces")

    def sql(self, statement: str, parameters: Mapping[str, Any] | None = None) -> pa.RecordBatchReader:
        """Run a query over the tables of this namespace and stream the result; see ``lancespace_sql.sql``.

        Raises:
            UnsupportedOperationError: If ``lancespace-sql`` is not installed; the message has the pip line.
        """
        return self.extension("sql", wanted_by="sql()").run_sql(
            namespace=self, statement=statement, parameters=parameters
        )

    def extension(self, name: str, *, wanted_by: str) -> Any:
        """The hooks of the connection, with those of an extension among them; it is loaded on first use."""
        self._enter_process()
        self._connection.use_extension(name, wanted_by=wanted_by)
        return self._hooks

    def retrieve_ops_metrics(self) -> dict[str, int]:
        """How often each operation was called, if the property ``ops_metrics_enabled`` is true; otherwise nothing."""
        return self._counts.read()

    def reset_ops_metrics(self) -> None:
        """Count from zero again."""
        self._counts.reset()

    def limit_expressions(self, limits: RequestLimits) -> None:
        """Refuse expressions and searches beyond these limits from now on, also those that are kept in tables."""
        self._connection.limits = limits

    def close(self) -> None:
        """Give back what the plugins hold; the namespace is not to be used afterwards.

        In a forked process nothing happens: what it holds is the parent's.
        """
        if self._process == process.generation:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<lancespace {self.namespace_id()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from lancespace.html import namespace_html

        return namespace_html(self)

    def __reduce__(self) -> tuple[Callable[..., Namespace], tuple[Any, ...]]:
        return _reconnect, (type(self), *self.connection_args())

    def call(self, operation: Operation, request: RequestLike, data: ArrowLike = None, **fields: Any) -> Any:
        """Answer one operation of the table; query results may come as a reader, which streams."""
        answer = self._ask(operation, request, data, fields)
        return answer.reader() if isinstance(answer, StreamedAnswer) else answer

    def _ask(self, operation: Operation, request: RequestLike, data: ArrowLike, fields: Mapping[str, Any]) -> Any:
        """What the hook answers; every method of the spec comes through here."""
        if not self._is_used or self._process != process.generation:
            self._enter_process()
        checked = requests.build(operation, request, fields)
        self._counts.add(operation.name)
        if self._connection.limits is not None:
            self._connection.limits.check_request(operation, checked)
        if operation.name not in self._capabilities:
            raise UnsupportedOperationError(self._unsupported(operation))
        hook = getattr(self._hooks, operation.name)
        try:
            extra = {"data": ArrowData(data)} if operation.takes_data else {}
            answer = call_on_python_thread(hook, request=checked, **extra)
        except LanceNamespaceError:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            raise translate(error, about=_about(operation, checked)) from error
        if answer is None:
            raise InternalError(f"The backend {self._backend!r} gave no answer to {operation.name}.")
        return answer

    def _answer(self, operation: Operation, request: RequestLike, data: ArrowLike, fields: Mapping[str, Any]) -> Any:
        """The answer in the form of the spec: streamed query results become the response model."""
        answer = self._ask(operation, request, data, fields)
        if isinstance(answer, StreamedAnswer):
            return answer.response()
        if operation.result is Payload.ARROW_FILE and not isinstance(answer, model(operation.response)):
            with translated(operation.name):
                return model(operation.response)(data=to_ipc_file(answer))
        return answer

    def _connect(self, connection: Connection) -> None:
        self._connection = connection
        self._hooks = connection.hooks
        self._capabilities = self._find_capabilities()
        self._counts = CallCounts(enabled=connection.settings[COUNTS_PROPERTY.name])

    def _enter_process(self) -> None:
        """Before the first use, and before the first one after a fork: clients, locks and threads stay behind there.

        Raises:
            UnsupportedOperationError: If it needs Lance, which the parent has used.
        """
        if self._connection.backend.uses_lance:
            process.use_lance()
        if self._process != process.generation:
            limits, provider = self._connection.limits, self._connection.context_provider
            properties = {**self._properties, **self._connection.backend.absolute_properties()}
            self._connect(Connection(self._backend, properties, provider))
            self._connection.limits = limits
            self._process = process.generation
        self._is_used = True

    def _find_capabilities(self) -> frozenset[str]:
        answered = {
            name
            for name in OPERATIONS
            if any(not (impl.wrapper or impl.hookwrapper) for impl in getattr(self._hooks, name).get_hookimpls())
        }
        narrowed = self._hooks.supported_operations()
        return frozenset(answered if narrowed is None else answered & set(narrowed))

    def _unsupported(self, operation: Operation) -> str:
        return f"The backend {self._backend!r} does not support {operation.name}; see capabilities() for what it does."

    def _walk(self, listing: Callable[..., Any], identifier: Identifier, attribute: str) -> Iterator[str]:
        for page in pages(lambda token: listing(identifier, page_token=token)):
            yield from getattr(page, attribute)


def _about(operation: Operation, request: Any) -> str:
    names = getattr(request, "id", None)
    return f"{operation.name} {identifiers.show(names)!r}" if names else operation.name


def _reconnect(kind: type[Namespace], backend: str, properties: Mapping[str, str]) -> Namespace:
    """Unpickle: the same kind of namespace, connected anew."""
    namespace = kind.__new__(kind)
    Namespace.__init__(namespace, backend, properties)
    return namespace


def connect(backend: str, properties: Mapping[str, str] | None = None) -> Namespace:
    """Connect to a namespace by the name of its backend, e.g. ``connect("dir", {"root": "/data"})``.

    Property values are strings, as in every other Lance namespace client. Nothing is created or written: a directory
    that does not exist yet, or may only be read, connects all the same.

    Raises:
        InvalidInputError: If the backend or a property is unknown or ill-typed; the message lists the known ones.
        UnsupportedOperationError: If the backend is known but not installed; the message has the pip line.
    """
    return Namespace(backend, properties)
