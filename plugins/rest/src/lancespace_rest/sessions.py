"""The HTTP session of a connection: pool, TLS, proxy, timeouts."""

from __future__ import annotations

import logging
import threading
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import requests
from lance_namespace import InvalidInputError
from requests.adapters import HTTPAdapter
from urllib3 import PoolManager, Timeout
from urllib3.connectionpool import HTTPConnectionPool

import lancespace
from lancespace.authoring import Settings
from lancespace_rest import deadlines
from lancespace_rest.connections import POOLS
from lancespace_rest.retries import RetryPolicy

_FILES = ("tls.ssl_ca_cert", "tls.cert_file", "tls.key_file")


class HttpSession(requests.Session):
    """A session whose requests have timeouts, keep no cookies and never take a password from ``~/.netrc``.

    It may be used from many threads at once. New connections read the TLS files anew, so files may be replaced.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        _check_tls(settings)
        self._timeout = (settings["timeout.connect"], settings["timeout.read"])
        self.retries = RetryPolicy(settings["retry.attempts"], settings["retry.max_wait"])
        adapter = _Adapter(settings)
        self.mount("http://", adapter)
        self.mount("https://", adapter)
        self.headers["User-Agent"] = f"lancespace/{lancespace.__version__}"
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.auth = lambda request: request  # With none, requests would look into ~/.netrc.
        self.verify = settings["tls.ssl_ca_cert"] or True
        self.cert = _certificate(settings)
        if settings["proxy"]:
            self.proxies = {"http": settings["proxy"], "https": settings["proxy"]}

    def start(self, request: requests.PreparedRequest) -> requests.Response:
        """Send a request and return at the head of its answer.

        The adapter is asked directly: a session would look for cookies, and read a redirect to see where it leads.
        """
        url = request.url or ""
        options = self.merge_environment_settings(url, None, stream=True, verify=None, cert=None)
        return self.get_adapter(url).send(request, timeout=self._limited(self._timeout), **options)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """As in requests, but never without a timeout, nor longer than the operation that is running may take."""
        options["timeout"] = self._limited(options.get("timeout"))
        return super().send(request, **options)

    def _limited(self, timeout: Any) -> Any:
        """Seconds to connect and to read: those of the connection where no others are asked for."""
        left = deadlines.current().remaining()
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        total = None if left == float("inf") else left
        return Timeout(total, connect=connect or self._timeout[0], read=read or self._timeout[1])

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """As in requests, but what the connection's properties say goes before what the environment says."""
        chosen = self.verify if verify is None else verify
        return super().merge_environment_settings(url, {**self.proxies, **(proxies or {})}, stream, chosen, cert)


class _Adapter(HTTPAdapter):
    """Makes the pools; their timeout is the one for sending, since each request has its own for the rest."""

    def __init__(self, settings: Settings) -> None:
        self._making = threading.Lock()
        self._options: dict[str, Any] = {"timeout": settings["timeout.read"]}
        if not settings["tls.assert_hostname"]:
            self._options["assert_hostname"] = False
        super().__init__(pool_connections=4, pool_maxsize=settings["pool.size"], max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **options, **self._options)
        _use_own_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        with self._making:
            manager = super().proxy_manager_for(proxy, **options, **self._options)
            _use_own_pools(manager)
            return manager

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        try:
            super().cert_verify(conn, url, verify, cert)  # type: ignore[no-untyped-call]
        except OSError as error:
            raise InvalidInputError(
                f"rest: {error}. Check the properties 'tls.*' and the environment variable REQUESTS_CA_BUNDLE."
            ) from error


def _use_own_pools(manager: PoolManager) -> None:
    if manager.pool_classes_by_scheme["http"] is HTTPConnectionPool:  # Otherwise it is that of a SOCKS proxy.
        manager.pool_classes_by_scheme = POOLS


class _HideData(logging.Filter):
    """Keeps the one query parameter that may hold secrets out of urllib3's debug log."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_without_data(argument) for argument in record.args)
        return True


def _without_data(argument: object) -> object:
    is_target = isinstance(argument, str) and "storage_options=" in argument
    return f"{str(argument).partition('?')[0]}?***" if is_target else argument


logging.getLogger("urllib3.connectionpool").addFilter(_HideData())


def _certificate(settings: Settings) -> str | tuple[str, str] | None:
    certificate, key = settings["tls.cert_file"], settings["tls.key_file"]
    return (certificate, key) if certificate and key else certificate


def _check_tls(settings: Settings) -> None:
    for name in _FILES:
        if settings[name] and not Path(settings[name]).is_file():
            raise InvalidInputError(f"rest: the property {name!r} names no file: {settings[name]!r}.")
    if settings["tls.key_file"] and not settings["tls.cert_file"]:
        raise InvalidInputError("rest: the property 'tls.key_file' needs 'tls.cert_file', the certificate of that key.")
    if not settings["tls.assert_hostname"] and not settings["tls.ssl_ca_cert"]:
        raise InvalidInputError(
            "rest: 'tls.assert_hostname' may be false only with 'tls.ssl_ca_cert': "
            "otherwise anybody with a certificate of any name could pose as the server."
        )
