from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import MethodType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lance_namespace import (
    DeclareTableRequest,
    DescribeTableRequest,
    DescribeTableResponse,
    InternalError,
    LanceNamespace,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)

from lancespace import Namespace, connect
from lancespace._operations import ALIASES
from lancespace.authoring import OPERATIONS, Backend, Connection, Property, from_ipc_file, hookimpl, paginate, registry

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.tests.conftest import Installer


class Echo(Backend):
    """Answers a few operations, some of them badly."""

    properties = (
        Property("root", "Where", identifies=True),
        Property("token", "Who", secret=True, identifies=True),
        Property("storage.", "Options of the store"),
    )

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.requests: list[Any] = []
        self.is_closed = False

    @hookimpl
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        self.requests.append(request)
        page, token = paginate([f"t{number:02}" for number in range(25)], request.page_token, request.limit or 10)
        return ListTablesResponse(tables=page, page_token=token)

    @hookimpl
    def list_namespaces(self) -> ListNamespacesResponse:
        return ListNamespacesResponse(namespaces=["a", "b"])

    @hookimpl
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse | None:
        """None, as a backend with a forgotten return answers."""

    @hookimpl
    def drop_table(self) -> None:
        raise PermissionError(13, "Permission denied", "/data/t.lance")

    @hookimpl
    def deregister_table(self) -> None:
        raise TableNotFoundError("There is no table 'x'.")

    @hookimpl
    def query_table(self) -> pa.RecordBatchReader:
        return pa.table({"n": [1, 2, 3]}).to_reader()

    @hookimpl
    def close(self) -> None:
        self.is_closed = True


def echo_of(namespace: Namespace) -> Echo:
    """The backend of a namespace: who answers its hook."""
    method = namespace._hooks.list_tables.get_hookimpls()[0].function
    assert isinstance(method, MethodType)
    backend = method.__self__
    assert isinstance(backend, Echo)
    return backend


@pytest.fixture
def echo(install: Installer) -> Namespace:
    install(registry.BACKENDS, "echo", Echo)
    return connect("echo", {"root": "/data"})


def test_namespace_is_a_lance_namespace(echo: Namespace):
    assert isinstance(echo, LanceNamespace)


@pytest.mark.parametrize("name", [*OPERATIONS, *ALIASES])
def test_every_operation_is_a_method_with_the_base_class_s_documentation(name: str):
    method = getattr(Namespace, name)

    assert method is not getattr(LanceNamespace, name)
    assert method.__name__ == name
    assert method.__doc__ == getattr(LanceNamespace, name).__doc__


def test_request_object_identifier_and_mapping_reach_the_backend_alike(echo: Namespace):
    echo.list_tables(ListTablesRequest(id=["sales"], limit=3))
    echo.list_tables("sales", limit=3)
    echo.list_tables(["sales"], limit=3)
    echo.list_tables({"id": ["sales"], "limit": 3})
    echo.list_tables(id="sales", limit=3)

    first, *others = echo_of(echo).requests
    assert first == ListTablesRequest(id=["sales"], limit=3)
    assert others == [first] * 4


def test_capabilities_are_what_the_backend_implements(echo: Namespace):
    assert echo.capabilities() == {
        "list_tables",
        "list_namespaces",
        "describe_table",
        "drop_table",
        "deregister_table",
        "query_table",
    }


def test_a_wrapper_alone_is_no_capability(install: Installer):
    install(registry.BACKENDS, "echo", Echo)

    assert connect("echo", {"wrappers": "metrics"}).capabilities() == connect("echo").capabilities()


def test_a_backend_may_narrow_its_capabilities(install: Installer):
    class Narrow(Echo):
        @hookimpl
        def supported_operations(self) -> Collection[str]:
            return ["list_tables", "create_table"]

    install(registry.BACKENDS, "narrow", Narrow)
    namespace = connect("narrow")

    assert namespace.capabilities() == {"list_tables"}
    with pytest.raises(UnsupportedOperationError):
        namespace.list_namespaces()


def test_unsupported_operation_says_which_backend_and_where_to_look(echo: Namespace):
    with pytest.raises(UnsupportedOperationError) as caught:
        echo.rename_table("a.b", new_table_name="c")

    assert str(caught.value) == (
        "The backend 'echo' does not support rename_table; see capabilities() for what it does."
    )


def test_no_answer_is_the_backend_s_fault(echo: Namespace):
    with pytest.raises(InternalError, match=r"^The backend 'echo' gave no answer to describe_table\.$"):
        echo.describe_table("t")


def test_foreign_exception_becomes_an_error_of_the_spec_and_keeps_its_cause(echo: Namespace):
    with pytest.raises(PermissionDeniedError, match=r"^drop_table 'a\.t': ") as caught:
        echo.drop_table("a.t")

    assert isinstance(caught.value.__cause__, PermissionError)


def test_error_of_the_spec_passes_unchanged(echo: Namespace):
    with pytest.raises(TableNotFoundError, match=r"^There is no table 'x'\.$") as caught:
        echo.deregister_table("x")

    assert caught.value.__cause__ is None


def test_streamed_query_becomes_the_response_of_the_spec(echo: Namespace):
    data = echo.query_table("t").data

    assert isinstance(data, bytes)
    assert from_ipc_file(data).read_all() == pa.table({"n": [1, 2, 3]})


def test_table_handle_streams_a_query(echo: Namespace):
    assert echo.table("t").query().read_all() == pa.table({"n": [1, 2, 3]})


def test_walks_lose_and_repeat_nothing(echo: Namespace):
    assert list(echo.tables("sales")) == [f"t{number:02}" for number in range(25)]
    assert len(echo_of(echo).requests) == 3
    assert list(echo.namespaces()) == ["a", "b"]


def test_walk_fetches_a_page_when_it_is_needed(echo: Namespace):
    walk = echo.tables()
    assert echo_of(echo).requests == []

    next(walk)

    assert len(echo_of(echo).requests) == 1


def test_context_manager_closes(install: Installer):
    install(registry.BACKENDS, "echo", Echo)

    with connect("echo") as namespace:
        assert not echo_of(namespace).is_closed

    assert echo_of(namespace).is_closed


def test_deprecated_alias_warns_at_the_caller_and_works():
    with connect("memory") as namespace:
        with pytest.warns(DeprecationWarning, match="create_empty_table is deprecated, use declare_table") as caught:
            namespace.create_empty_table("t")

        assert caught[0].filename == __file__
        assert namespace.table("t").exists()


def test_identity_and_repr_show_no_secret(install: Installer):
    install(registry.BACKENDS, "echo", Echo)
    namespace = connect(
        "echo", {"root": "s3://me:hunter2@bucket", "token": "hunter2", "storage.secret_access_key": "hunter2"}
    )

    assert namespace.namespace_id() == "echo(root=s3://***@bucket, token=***)"
    assert "hunter2" not in repr(namespace)
    assert "hunter2" not in repr(namespace.table("t"))


def test_equal_connections_have_equal_identities(echo: Namespace):
    assert connect("echo", {"root": "/data"}).namespace_id() == echo.namespace_id()
    assert connect("echo", {"root": "/other"}).namespace_id() != echo.namespace_id()


def test_pickled_namespace_connects_anew(echo: Namespace):
    copy = pickle.loads(pickle.dumps(echo))

    assert type(copy) is Namespace
    assert copy.namespace_id() == echo.namespace_id()
    assert echo_of(copy) is not echo_of(echo)


def test_pickled_namespace_crosses_processes():
    script = "import pickle, sys; print(*sorted(pickle.load(sys.stdin.buffer).capabilities()))"
    with connect("memory", {"wrappers": "readonly"}) as namespace:
        answer = subprocess.run(
            [sys.executable, "-c", script], input=pickle.dumps(namespace), capture_output=True, check=True
        )

        assert set(answer.stdout.decode().split()) == namespace.capabilities()


def test_namespace_may_be_shared_between_threads():
    names = [f"t{number}" for number in range(25)]

    def declare_all(namespace: Namespace) -> list[str]:
        won = []
        for name in names:
            try:
                namespace.declare_table(DeclareTableRequest(id=[name]))
            except TableAlreadyExistsError:
                continue
            won.append(name)
        return won

    with connect("memory", {"wrappers": "metrics"}) as namespace, ThreadPoolExecutor(8) as pool:
        winners = [name for won in pool.map(declare_all, [namespace] * 8) for name in won]

        assert sorted(winners) == sorted(names)
        assert sorted(namespace.tables()) == sorted(names)


def test_table_handle_answers_for_a_real_table():
    with connect("memory") as namespace:
        orders = namespace.table("orders")
        assert not orders.exists()

        namespace.create_table("orders", [{"id": 1}, {"id": 2}])

        assert orders.exists()
        assert (orders.count(), orders.count("id > 1")) == (2, 1)
        assert orders.to_arrow(columns=["id"], filter="id = 2").to_pylist() == [{"id": 2}]
        assert orders.dataset().count_rows() == 2
        assert repr(orders) == f"<table orders of {namespace.namespace_id()}>"


def test_calls_are_counted_on_request_whether_they_succeed_or_not() -> None:
    namespace = connect("memory", {"ops_metrics_enabled": "true"})
    namespace.list_tables()
    with pytest.raises(TableNotFoundError):
        namespace.describe_table("missing")
    assert namespace.retrieve_ops_metrics() == {"list_tables": 1, "describe_table": 1}
    namespace.reset_ops_metrics()
    assert namespace.retrieve_ops_metrics() == {}


def test_calls_are_not_counted_by_default() -> None:
    namespace = connect("memory")
    namespace.list_tables()
    assert namespace.retrieve_ops_metrics() == {}
