"""One serving process: uvicorn on a socket that is bound already."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import ssl
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from uvicorn import Config, Server

from lancespace_server.protocol import GuardedProtocol
from lancespace_server.reloading import reload_on_signal
from lancespace_server.settings import API_KEYS_VARIABLE
from lancespace_server.stopping import STOP

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from lancespace_server.custody import Register
    from lancespace_server.serving import AppFactory
    from lancespace_server.settings import ServerSettings

_FAILED_TO_START = 3
"""uvicorn's exit code."""

_KEEP_ALIVE_SECONDS = 75
"""Longer than proxies keep their idle connections, so that it is they who close them."""

_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}


def work(
    listener: socket.socket,
    factory: AppFactory,
    settings: ServerSettings,
    register: Register | None,
    when_ready: Callable[[], None],
) -> None:
    """Serve until told to stop; ``when_ready`` is called once connections are taken.

    ``register`` is where connections are entered that a supervisor holds too.
    """
    reload_on_signal()
    _Server(_config(factory, settings), settings, register, when_ready).run(sockets=[listener])


def say(what: str) -> None:
    """Tell the operator, with one call, so that lines of several workers do not mix."""
    sys.stderr.write(f"lancespace_server: {what}\n")
    sys.stderr.flush()


class _Server(Server):
    """A server that says when it has begun and when it ends; uvicorn says the first before it listens."""

    def __init__(
        self, config: Config, settings: ServerSettings, register: Register | None, when_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._settings = settings
        self._register = register
        self._when_ready = when_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but without raising the signal again at the end: to stop when told to is a success."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Do what uvicorn does with sockets that are bound, which knows no limit for the handshake of TLS."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(_FAILED_TO_START)
        self.servers = [await self._listen(bound) for bound in sockets or ()]
        self.started = True
        self._when_ready()

    async def _listen(self, bound: socket.socket) -> asyncio.Server:
        config = self.config
        more: dict[str, Any] = {"ssl_handshake_timeout": self._settings.header_timeout} if config.ssl else {}
        return await asyncio.get_running_loop().create_server(
            lambda: GuardedProtocol(config, self.server_state, self.lifespan.state, register=self._register),
            sock=bound,
            ssl=config.ssl,
            backlog=config.backlog,
            **more,
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        STOP.begin()
        say(f"stopping process {os.getpid()}; what runs is finished first")
        await super().shutdown(sockets)


def _config(factory: AppFactory, settings: ServerSettings) -> Config:
    only_certificates = not (settings.api_keys or settings.jwt_jwks or os.environ.get(API_KEYS_VARIABLE))
    demanded = ssl.CERT_REQUIRED if only_certificates else ssl.CERT_OPTIONAL
    return Config(
        factory,
        factory=True,
        http=GuardedProtocol,
        loop="uvloop" if os.name == "posix" else "asyncio",
        ws="none",
        lifespan="on",
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_timeout),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        ssl_ca_certs=settings.tls_client_ca,
        ssl_cert_reqs=demanded if settings.tls_client_ca else ssl.CERT_NONE,
    )
