"""Running the server: one process or several, until they are told to stop."""

from __future__ import annotations

import os
import socket
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace import Namespace, connect
from lancespace_server.settings import API_KEYS_VARIABLE, ServerSettings

if TYPE_CHECKING:
    from uvicorn import Config

    from lancespace_server.types import App

_KEEP_ALIVE_SECONDS = 75
"""Longer than proxies keep their idle connections, so that it is they who close them."""

_HEALTH_SECONDS = 60
"""How long a worker may not answer its supervisor; importing Lance alone can take seconds on a busy machine."""

_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}},
    "loggers": {"uvicorn": {"level": "INFO"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}


@dataclass(frozen=True)
class AppFactory:
    """Makes the application in the process that serves; it travels to workers by pickle, secrets never by file."""

    source: Namespace | tuple[str, Mapping[str, str]]
    settings: ServerSettings

    def __call__(self) -> App:
        """Connect, and make the application."""
        from lancespace_server.application import create_app

        namespace = self.source if isinstance(self.source, Namespace) else open_namespace(*self.source, self.settings)
        return create_app(namespace, self.settings)


def open_namespace(backend: str, properties: Mapping[str, str], settings: ServerSettings) -> Namespace:
    """The namespace to be served, with the policy as its outermost wrapper if there is one."""
    given = dict(properties)
    if settings.policy is not None:
        given["wrappers"] = ",".join(filter(None, ("authz", given.get("wrappers"))))
        given["authz.policy"] = settings.policy
    return connect(backend, given)


def serve(
    namespace: Namespace | str,
    properties: Mapping[str, str] | None = None,
    settings: ServerSettings | None = None,
) -> None:
    """Serve a namespace until the process is told to stop (SIGTERM, SIGINT); what runs then is finished first.

    Args:
        namespace: The name of a backend, or a namespace that is connected already. The latter is closed at the end; it
            cannot be shared by several workers, and has the wrappers that it has.
        properties: The properties of the backend, if it is given by name.
        settings: How to serve; by default on 127.0.0.1:2333.

    Raises:
        InvalidInputError: If the settings would be unsafe or cannot work; the message says what to change.
    """
    chosen = settings or ServerSettings()
    chosen.check(has_env_keys=bool(os.environ.get(API_KEYS_VARIABLE)))
    source = namespace if isinstance(namespace, Namespace) else (namespace, dict(properties or {}))
    if isinstance(source, Namespace) and (chosen.workers > 1 or chosen.policy or properties):
        raise InvalidInputError(
            "A connected namespace has its properties already, and cannot be given to several workers or get a policy: "
            "pass the name of its backend and the properties instead."
        )
    if not isinstance(source, Namespace):
        open_namespace(*source, chosen).close()  # What is wrong with the properties is said here, and once.
    _run(AppFactory(source, chosen), chosen)


def _run(factory: AppFactory, settings: ServerSettings) -> None:
    from uvicorn import Server
    from uvicorn.supervisors import Multiprocess

    with ExitStack() as stack:
        listener = stack.enter_context(_listen(settings))
        if settings.workers > 1:
            # The numbers of all workers meet in this directory; it must be known before they import the client library.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = stack.enter_context(tempfile.TemporaryDirectory())
        config = _config(factory, settings)
        if settings.workers > 1:
            Multiprocess(config, sockets=[listener]).run()
        else:
            Server(config).run(sockets=[listener])


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((settings.host, settings.port))
    listener.set_inheritable(True)
    return listener


def _config(factory: AppFactory, settings: ServerSettings) -> Config:
    from uvicorn import Config

    from lancespace_server.protocol import GuardedProtocol

    only_certificates = not (settings.api_keys or settings.jwt_jwks or os.environ.get(API_KEYS_VARIABLE))
    demanded = ssl.CERT_REQUIRED if only_certificates else ssl.CERT_OPTIONAL
    return Config(
        factory,
        factory=True,
        http=GuardedProtocol,
        loop="uvloop" if os.name == "posix" else "asyncio",
        ws="none",
        lifespan="on",
        workers=settings.workers,
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_worker_healthcheck=_HEALTH_SECONDS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.shutdown_timeout),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        ssl_ca_certs=settings.tls_client_ca,
        ssl_cert_reqs=demanded if settings.tls_client_ca else ssl.CERT_NONE,
    )
