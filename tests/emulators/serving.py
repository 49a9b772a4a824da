"""A stand-in is a service: a function from a request to an answer."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.emulators.loopback import Answer, LoopbackHandler, LoopbackServer, Request, running

Service = Callable[[Request], Answer]


class _Handler(LoopbackHandler):
    server: _Server

    def handle_request(self, request: Request) -> None:
        """Send what the service answers."""
        self.send(self.server.service(request))


class _Server(LoopbackServer):
    def __init__(self, service: Service) -> None:
        super().__init__(_Handler)
        self.service = service


@contextmanager
def serving(service: Service, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a service on a free port; the address is ``http://127.0.0.1:...``, or ``https://`` with TLS."""
    server = _Server(service)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.endpoint = server.endpoint.replace("http:", "https:")
    with running(server):
        yield server.endpoint
