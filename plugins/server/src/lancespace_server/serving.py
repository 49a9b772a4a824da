"""Running the server until it is told to stop: in workers, or in this process if the catalog is in its memory."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace import Namespace, connect
from lancespace.authoring import keep_freed_memory
from lancespace_server.files import check_files
from lancespace_server.settings import ServerSettings

if TYPE_CHECKING:
    from lancespace_server.custody import Register
    from lancespace_server.types import App

_READ_AHEAD_VARIABLE, _READ_AHEAD_BYTES = "LANCE_DEFAULT_IO_BUFFER_SIZE", str(64 << 20)
"""How far Lance reads ahead of a caller that takes its results slowly: by default 2 GB, for each query."""

_BACKLOG = 2048
"""As uvicorn has it."""

_OF_ONE_PROCESS = "memory"
"""The backend whose catalog no other process sees."""


@dataclass(frozen=True)
class AppFactory:
    """Makes the application in the process that serves; it travels to workers by pickle, secrets never by file."""

    source: Namespace | tuple[str, Mapping[str, str]]
    settings: ServerSettings

    def __call__(self) -> App:
        """Connect, and make the application."""
        from lancespace_server.application import create_app

        namespace = self.source if isinstance(self.source, Namespace) else connect(*self.source)
        return create_app(namespace, self.settings)

    def about(self) -> str:
        """What is served, without secrets."""
        if isinstance(self.source, Namespace):
            return self.source.namespace_id()
        with connect(*self.source) as namespace:  # What is wrong with it is said here, and once.
            return namespace.namespace_id()


def open_namespace(backend: str, properties: Mapping[str, str], settings: ServerSettings) -> Namespace:
    """A namespace for :func:`create_app`, with the policy of the settings, if there is one."""
    from lancespace_server.authorization import with_policy

    return connect(backend, with_policy(properties, settings.policy, settings.api_keys))


def serve(
    namespace: Namespace | str,
    properties: Mapping[str, str] | None = None,
    settings: ServerSettings | None = None,
) -> None:
    """Serve a namespace until the process is told to stop (SIGTERM, SIGINT); what runs then is finished first.

    Args:
        namespace: The name of a backend, or a namespace that is connected already. The latter is served in this
            process, without a supervisor, and closed at the end; it has the wrappers that it has.
        properties: The properties of the backend, if it is given by name.
        settings: How to serve; by default on 127.0.0.1:2333.

    Raises:
        InvalidInputError: If the settings would be unsafe or cannot work; the message says what to change.
    """
    from lancespace_server.authorization import with_policy

    chosen = settings or ServerSettings()
    chosen.check()
    if isinstance(namespace, Namespace) and ((chosen.workers or 1) > 1 or chosen.policy is not None or properties):
        raise InvalidInputError(
            "A connected namespace has its properties already, and cannot be given to several workers or get a policy: "
            "pass the name of its backend and the properties instead."
        )
    is_in_memory = namespace == _OF_ONE_PROCESS or _has_memory_root(properties)
    if is_in_memory and (chosen.workers or 1) > 1:
        raise InvalidInputError("The memory backend has its catalog in one process: serve it with workers=1.")
    check_files(chosen)
    given = with_policy(properties or {}, chosen.policy, chosen.api_keys)
    factory = AppFactory(namespace if isinstance(namespace, Namespace) else (namespace, given), chosen)
    _run(factory, chosen, is_alone=is_in_memory or isinstance(namespace, Namespace))


def _has_memory_root(properties: Mapping[str, str] | None) -> bool:
    """Whether the catalog is in the memory of one process, though the backend keeps others elsewhere."""
    return (properties or {}).get("root", "").startswith("memory://")


def _run(factory: AppFactory, settings: ServerSettings, *, is_alone: bool) -> None:
    """Serve in this process if the catalog is in its memory, and otherwise in workers."""
    from lancespace_server import worker
    from lancespace_server.supervisor import Supervisor

    os.environ.setdefault(_READ_AHEAD_VARIABLE, _READ_AHEAD_BYTES)
    keep_freed_memory()
    with _listen(settings) as listener:
        bound = replace(settings, port=listener.getsockname()[1])
        about = factory.about()
        announcement = f"startup complete, serving {about} on {_url(bound)}"
        if is_alone:
            worker.work(listener, factory, bound, None, lambda: worker.say(announcement))
            return

    with tempfile.TemporaryDirectory() as shared:
        # The numbers of all workers meet there; it must be known before they import the client library.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        factory = replace(factory, settings=_with_ledger(factory.settings, about, shared))
        listen = functools.partial(_listen, bound, is_shared=True)
        workers = Supervisor(bound, run_worker, factory, bound, listen=listen, bury=_forget_numbers)
        workers.run(when_ready=lambda: worker.say(announcement))


def _with_ledger(settings: ServerSettings, about: str, folder: str) -> ServerSettings:
    """The settings with one file of idempotency keys for all workers, made before they meet there.

    By default it is in the state directory of the user or of the systemd unit, so that the keys outlive the server.
    """
    from lancespace_server.idempotency import Ledger
    from lancespace_server.worker import say

    path = settings.idempotency_file
    if path is None:
        try:
            path = _state_file(about)
            Ledger(path).close()
        except (OSError, RuntimeError, InvalidInputError) as error:
            say(f"idempotency keys are forgotten when the server stops ({error}): set idempotency_file to keep them")
            path = f"{folder}/writes"
    Ledger(path).close()
    return replace(settings, idempotency_file=path)


def _state_file(about: str) -> str:
    """One file per catalog and host: SQLite's files cannot be shared between hosts, and a home directory can."""
    unit, home = os.environ.get("STATE_DIRECTORY", "").partition(":")[0], os.environ.get("XDG_STATE_HOME")
    state = Path(unit) if unit else Path(home or Path.home() / ".local" / "state") / "lancespace"
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(state / f"writes-{hashlib.sha256(f'{socket.gethostname()} {about}'.encode()).hexdigest()[:16]}")


def _url(settings: ServerSettings) -> str:
    scheme = "https" if settings.tls_certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"


def _forget_numbers(process_id: int) -> None:
    """What a worker that died had under way is not under way any more; what it had counted counts."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process_id)  # type: ignore[no-untyped-call]


def run_worker(
    factory: AppFactory,
    settings: ServerSettings,
    listener: socket.socket,
    register: Register,
    when_ready: Callable[[], None],
) -> None:
    """Serve in this process; it has a socket of its own, among which the kernel spreads the connections."""
    from lancespace_server import worker

    keep_freed_memory()
    with listener:
        worker.work(listener, factory, settings, None if settings.tls_certificate else register, when_ready)


def _listen(settings: ServerSettings, *, is_shared: bool = False) -> socket.socket:
    """A socket at the address; one that is not shared finds out whether another server is there already."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((settings.host, settings.port))
    if is_shared:
        listener.listen(_BACKLOG)
    return listener
