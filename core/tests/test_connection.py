from __future__ import annotations

import threading
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from lance_namespace import (
    InternalError,
    InvalidInputError,
    ListTablesResponse,
    PermissionDeniedError,
    UnsupportedOperationError,
)

from lancespace import connect
from lancespace.authoring import Around, Backend, Connection, OperationWrapper, Property, hookimpl, registry

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from core.tests.conftest import Installer


class Tiny(Backend):
    properties = (Property("root", "Where", identifies=True), Property("storage.", "Options of the store"))

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.tables: list[str] = []
        self.closed = 0

    @hookimpl
    def list_tables(self) -> ListTablesResponse:
        return ListTablesResponse(tables=[*self.tables])

    @hookimpl
    def close(self) -> None:
        self.closed += 1


def tiny(connection: Connection) -> Tiny:
    """The backend of a connection: who answers its hook."""
    method = connection.hooks.list_tables.get_hookimpls()[0].function
    assert isinstance(method, MethodType)
    backend = method.__self__
    assert isinstance(backend, Tiny)
    return backend


def test_misspelt_hook_is_refused_at_connect_and_named(install: Installer):
    class Misspelt(Backend):
        @hookimpl
        def list_tabels(self, request: Any) -> None: ...

    install(registry.BACKENDS, "misspelt", Misspelt)

    with pytest.raises(InternalError, match=r"^The plugin 'misspelt' cannot be registered: unknown hook 'list_tabels'"):
        connect("misspelt")


def test_wrong_argument_is_refused_at_connect_and_named(install: Installer):
    class Wrong(Backend):
        @hookimpl
        def list_tables(self, requets: Any) -> None: ...

    install(registry.BACKENDS, "wrong", Wrong)

    with pytest.raises(InternalError) as caught:
        connect("wrong")

    message = str(caught.value)
    assert message.startswith("The plugin 'wrong' cannot be registered: ")
    assert "hook 'list_tables'" in message
    assert "{'requets'}" in message


def test_failing_constructor_leaves_as_an_error_of_the_spec(install: Installer):
    class Failing(Backend):
        def __init__(self, connection: Connection) -> None:
            super().__init__(connection)
            raise PermissionError(13, "Permission denied", "/secret-place")

    install(registry.BACKENDS, "failing", Failing)

    with pytest.raises(PermissionDeniedError, match="connect to 'failing'") as caught:
        connect("failing")

    assert isinstance(caught.value.__cause__, PermissionError)


def test_connections_share_nothing(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)
    first, second = Connection("tiny", {}), Connection("tiny", {"root": "/b"})

    tiny(first).tables.append("only here")

    assert first.hooks.list_tables(request=None).tables == ["only here"]
    assert second.hooks.list_tables(request=None).tables == []
    assert (first.settings["root"], second.settings["root"]) == (None, "/b")


def test_close_reaches_every_plugin_once(install: Installer):
    class Closing(OperationWrapper):
        closed: ClassVar[list[str]] = []

        @hookimpl
        def close(self) -> None:
            self.closed.append("wrapper")

    install(registry.BACKENDS, "tiny", Tiny)
    install(registry.WRAPPERS, "closing", Closing)
    connection = Connection("tiny", {"wrappers": "closing"})

    connection.close()
    connection.close()

    assert tiny(connection).closed == 1
    assert Closing.closed == ["wrapper"]


class Recording(OperationWrapper):
    """Writes its name before and after an operation."""

    name = ""
    events: ClassVar[list[str]] = []

    def around(self, operation: Any, request: Any) -> Around:  # noqa: ARG002 - the signature of every wrapper
        self.events.append(f"{self.name} before")
        answer = yield
        self.events.append(f"{self.name} after")
        return answer


@pytest.fixture
def recorders(install: Installer) -> list[str]:
    """Wrappers called outer and inner, and what they write."""
    install(registry.BACKENDS, "tiny", Tiny)
    for name in ("outer", "inner"):
        install(registry.WRAPPERS, name, type(name, (Recording,), {"name": name}))
    Recording.events.clear()
    return Recording.events


def test_wrappers_run_in_the_order_in_which_they_are_named(recorders: list[str]):
    connect("tiny", {"wrappers": "outer, inner"}).list_tables()

    assert recorders == ["outer before", "inner before", "inner after", "outer after"]


def test_wrapper_and_backend_may_have_the_same_name(install: Installer):
    install(registry.BACKENDS, "readonly", Tiny)

    assert connect("readonly", {"wrappers": "readonly"}).list_tables().tables == []


def test_unknown_wrapper_is_answered_with_the_installed_ones(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)

    with pytest.raises(InvalidInputError, match=r"There is no wrapper 'audti'\. Installed: .*audit"):
        connect("tiny", {"wrappers": "audti"})


def test_ill_typed_wrappers_are_refused(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)

    with pytest.raises(InvalidInputError, match="tiny: the property 'wrappers' must be a string, not list"):
        connect("tiny", {"wrappers": ["audit"]})  # type: ignore[dict-item]


def test_properties_of_a_wrapper_are_known_only_with_it(install: Installer, tmp_path: Path):
    install(registry.BACKENDS, "tiny", Tiny)
    given = {"audit.path": str(tmp_path / "log")}

    with pytest.raises(InvalidInputError, match=r"tiny does not know the property 'audit\.path'"):
        connect("tiny", given)

    assert connect("tiny", {**given, "wrappers": "audit"}).capabilities() == {"list_tables"}


def test_unknown_property_is_refused_before_the_backend_is_built(install: Installer):
    built: list[Any] = []

    class Counting(Tiny):
        def __init__(self, connection: Connection) -> None:
            built.append(connection)
            super().__init__(connection)

    install(registry.BACKENDS, "counting", Counting)

    with pytest.raises(InvalidInputError, match="Did you mean 'root'"):
        connect("counting", {"rot": "/x"})

    assert built == []


class HeapStorage:
    """A second store beside local files."""

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:
        return {"heap_location": location, **options}

    @hookimpl
    def filesystem(self) -> MemoryFileSystem:
        return MemoryFileSystem()

    @hookimpl
    def put_if_absent(self, filesystem: MemoryFileSystem, path: str, data: bytes) -> bool:
        if filesystem.exists(path):
            return False
        filesystem.pipe_file(path, data)
        return True


def test_one_connection_reaches_two_stores(install: Installer, tmp_path: Path):
    install(registry.BACKENDS, "tiny", Tiny)
    install(registry.STORAGE, "heap", HeapStorage)
    connection = Connection("tiny", {})
    heap, local = connection.storage("heap://shelf"), connection.storage(f"{tmp_path}/shelf")

    for storage in (heap, local):
        path = storage.path(storage.uri("note"))
        storage.put_if_absent(path, b"hello")
        assert storage.filesystem.cat_file(path) == b"hello"
        with pytest.raises(FileExistsError):
            storage.put_if_absent(path, b"again")

    assert (tmp_path / "shelf" / "note").read_bytes() == b"hello"
    assert (heap.options, local.options) == ({"heap_location": "heap://shelf"}, {})


def test_storage_gets_the_connection_s_options_unless_others_are_given(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)
    install(registry.STORAGE, "heap", HeapStorage)
    connection = Connection("tiny", {"storage.region": "eu"})

    assert connection.storage("heap://a").options == {"heap_location": "heap://a", "region": "eu"}
    assert connection.storage("heap://a", {"region": "us"}).options == {"heap_location": "heap://a", "region": "us"}


def test_wrappers_are_around_storage_too(install: Installer, tmp_path: Path):
    seen: list[str] = []

    class Watching:
        properties = ()

        def __init__(self, connection: Connection) -> None: ...

        @hookimpl(wrapper=True)
        def put_if_absent(self, path: str) -> Generator[None, bool, bool]:
            seen.append(path)
            return (yield)

    install(registry.BACKENDS, "tiny", Tiny)
    install(registry.WRAPPERS, "watching", Watching)

    Connection("tiny", {"wrappers": "watching"}).storage(str(tmp_path)).put_if_absent(f"{tmp_path}/note", b"x")

    assert seen == [f"{tmp_path}/note"]


def test_storage_plugin_is_loaded_once_even_by_many_threads(install: Installer):
    loaded: list[object] = []

    class Counted(HeapStorage):
        def __init__(self) -> None:
            loaded.append(self)

    install(registry.BACKENDS, "tiny", Tiny)
    install(registry.STORAGE, "heap", Counted)
    connection = Connection("tiny", {})
    barrier = threading.Barrier(8)

    def reach() -> None:
        barrier.wait()
        connection.storage("heap://shelf")

    threads = [threading.Thread(target=reach) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(loaded) == 1


def test_engine_is_loaded_when_it_is_needed(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)
    connection = Connection("tiny", {})
    assert connection.hooks.describe_job(job_id="x") is None
    assert not connection._manager.has_plugin("engine:local")

    connection.use_engine()
    connection.use_engine()

    assert connection._manager.has_plugin("engine:local")
    connection.close()


def test_engine_that_is_not_there(install: Installer, monkeypatch: pytest.MonkeyPatch):
    install(registry.BACKENDS, "tiny", Tiny)
    connection = Connection("tiny", {"engine": "spark"})
    monkeypatch.setenv(registry.SELECT_VARIABLE, "")

    with pytest.raises(UnsupportedOperationError, match=r"'spark' needs the spark engine: pip install"):
        connection.use_engine()


@pytest.mark.parametrize(
    ("backend", "properties", "message"),
    [
        ("memory", "pl", "Properties must be a dictionary, .* not str"),
        ("memory", [("root", "/data")], "Properties must be a dictionary, .* not list"),
        ("memory", {1: "x"}, "Names of properties must be strings, not int"),
        ("memory", 0, "Properties must be a dictionary, .* not int"),
        (None, None, "The name of a backend must be a string, not NoneType"),
        ([], {}, "The name of a backend must be a string, not list"),
        ("", {}, "There is no backend ''"),
    ],
)
def test_what_is_no_connection_is_an_invalid_input(backend: Any, properties: Any, message: str):
    with pytest.raises(InvalidInputError, match=message):
        connect(backend, properties)
