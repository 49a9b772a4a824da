"""What can be set about the server. The command line is made from these fields."""

from __future__ import annotations

import dataclasses
import ipaddress
import math
import os
import re
from dataclasses import dataclass
from typing import Any

from lance_namespace import InvalidInputError

from lancespace_server.algorithms import KNOWN_ALGORITHMS

API_KEYS_VARIABLE = "LANCESPACE_SERVER_API_KEYS"
"""Environment variable with API keys, ``alice:KEY,bob:KEY``, for where a file is unwieldy."""

MIB = 1 << 20


_ORIGIN = re.compile(r"https?://[^/\s*]+")


def _setting(default: Any, doc: str, least: int | None = None, most: float = math.inf) -> Any:
    """A setting; ``least`` and ``most`` are for numbers."""
    return dataclasses.field(default=default, metadata={"doc": doc, "least": least, "most": most})


def _seconds(default: float, doc: str) -> Any:
    return dataclasses.field(default=default, metadata={"doc": doc, "is_time": True})


GROUPS = {
    "host": "where to serve",
    "api_keys": "who may call, and do what",
    "cors_origins": "web pages and logs",
    "max_json_bytes": "limits",
    "request_timeout": "limits of time",
}
"""The groups of settings in the help of the command line, by the first setting of each."""


@dataclass(frozen=True)
class ServerSettings:
    """All settings with safe defaults: loopback only, nobody from outside gets in without a credential."""

    host: str = _setting("127.0.0.1", "Address to listen on")
    port: int = _setting(2333, "Port to listen on; 0 takes a free one", least=0, most=65535)
    workers: int | None = _setting(
        None,
        "Processes that serve the catalog, each replaced when it dies; by default one per core. A catalog in memory is "
        "served by the process that was started, alone",
        least=1,
    )

    api_keys: str | None = _setting(
        None,
        f"File with a line 'name:SHA-256 of the key' per API key; the variable {API_KEYS_VARIABLE} takes plain ones",
    )
    jwt_jwks: str | None = _setting(None, "Path or https URL of the JWKS whose keys sign bearer tokens")
    jwt_issuer: str | None = _setting(None, "Issuer ('iss') that bearer tokens must have")
    jwt_audience: str | None = _setting(None, "Audience ('aud') that bearer tokens must have")
    jwt_algorithms: tuple[str, ...] = _setting(("RS256", "ES256"), "Signature algorithms that are accepted")
    jwt_roles_claim: str | None = _setting(
        None, "Claim of bearer tokens with the caller's roles or groups; a dot leads into a claim: realm_access.roles"
    )
    tls_certificate: str | None = _setting(None, "PEM file with the server's certificate chain")
    tls_key: str | None = _setting(None, "PEM file with the server's private key")
    tls_client_ca: str | None = _setting(None, "PEM file with the CA of client certificates, which then authenticate")
    no_authentication: bool = _setting(False, "Let everybody in, also from other machines")
    policy: str | None = _setting(None, "TOML file that says who may do what; everything is allowed without it")

    cors_origins: tuple[str, ...] = _setting((), "Origins of web pages that may call the server")
    access_log: bool = _setting(True, "Write a JSON line per request to standard output")

    max_json_bytes: int = _setting(4 * MIB, "Largest JSON body", least=1)
    max_data_bytes: int | None = _setting(None, "Largest Arrow body; unlimited if not given", least=1)
    max_batch_bytes: int = _setting(
        1024 * MIB, "Largest record batch of an Arrow body, which is held in memory", least=1
    )
    buffer_bytes: int = _setting(8 * MIB, "How much of a body may wait in memory, each way", least=1)
    spool_directory: str | None = _setting(None, "Where bodies of create_table wait until they are whole")
    functions: tuple[str, ...] = _setting(
        (), "SQL functions that callers may use beside those whose answers have a bounded size"
    )
    idempotency_file: str | None = _setting(
        None,
        "SQLite file that keeps the answers to writes with an Idempotency-Key for a day; by default in the "
        "state directory of the user or the systemd unit",
    )
    concurrency: int = _setting(32, "Operations that run at once, per worker; as many more that stream data", least=1)
    max_waiting: int = _setting(
        256, "Operations of either kind that may wait for their turn, per worker; more get a 503", least=0
    )
    max_per_principal: int | None = _setting(
        None,
        "Operations of one caller at once, per worker; more get a 429. By default, where callers authenticate, three "
        "quarters of concurrency + max_waiting",
        least=1,
    )
    max_bytes_per_principal: int | None = _setting(
        None,
        "Bytes of bodies and answers that the operations of one caller may have in memory together, per worker; more "
        "get a 429. By default half of max_worker_bytes",
        least=1,
    )
    max_worker_bytes: int | None = _setting(
        None,
        "Memory that a worker may take before it is replaced; by default its share of 80 % of the machine's",
        least=256 * MIB,
    )
    max_rate_per_principal: int | None = _setting(
        None, "Requests of one caller per second, per worker; more get a 429", least=1
    )
    max_rate_per_address: int | None = _setting(
        None, "Requests from one address per second, per worker; more get a 429", least=1
    )
    max_strangers_per_address: int = _setting(
        256, "Open connections from one address on which nobody has authenticated yet, per worker", least=1
    )
    max_connections: int = _setting(2048, "Open connections, per worker", least=1)
    request_timeout: float = _seconds(600.0, "Seconds that an operation may take")
    idle_timeout: float = _seconds(30.0, "Seconds that a caller may let pass without sending or taking anything")
    header_timeout: float = _seconds(10.0, "Seconds that a caller may take to send the head of a request")
    shutdown_timeout: float = _seconds(60.0, "Seconds that running operations have to finish when the server stops")

    def check(self) -> None:
        """Refuse what would be unsafe or cannot work, before anything listens.

        Raises:
            InvalidInputError: Saying which settings mend it.
        """
        for setting in dataclasses.fields(self):
            _check_value(setting, getattr(self, setting.name))
        self._check_tls()
        self._check_jwt()
        self._check_authentication()
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise InvalidInputError(
                    f"cors_origins names web pages by origin, such as https://app.example: {origin!r} is none."
                )

    def processes(self) -> int:
        """How many workers there are."""
        if self.workers is not None:
            return self.workers
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def takes_api_keys(self) -> bool:
        """Whether a file or the environment has keys."""
        return self.api_keys is not None or API_KEYS_VARIABLE in os.environ

    def authenticates(self) -> bool:
        """Whether callers need a credential; otherwise all of them are one principal."""
        return self.takes_api_keys() or self.jwt_jwks is not None or self.tls_client_ca is not None

    def _check_authentication(self) -> None:
        authenticates = self.authenticates()
        if self.policy is not None and not authenticates:
            raise InvalidInputError("A policy needs to know who is calling: give api_keys, jwt_jwks or tls_client_ca.")
        if authenticates and self.no_authentication:
            raise InvalidInputError("no_authentication contradicts the given credentials: keep one.")
        if not authenticates and not self.no_authentication and not is_loopback(self.host):
            raise InvalidInputError(
                f"Refusing to listen on {self.host!r} without authentication. Give api_keys, jwt_jwks or "
                "tls_client_ca; or listen on 127.0.0.1; or, if everybody may do everything, set no_authentication."
            )

    def _check_tls(self) -> None:
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise InvalidInputError("TLS needs both tls_certificate and tls_key.")
        if self.tls_client_ca and not self.tls_certificate:
            raise InvalidInputError("tls_client_ca needs TLS: give tls_certificate and tls_key too.")

    def _check_jwt(self) -> None:
        if self.jwt_jwks is None:
            return
        if not (self.jwt_issuer and self.jwt_audience):
            raise InvalidInputError("jwt_jwks needs jwt_issuer and jwt_audience: a token for others is not one for us.")
        if self.jwt_jwks.startswith("http:"):
            raise InvalidInputError(
                "jwt_jwks must be a file or an https URL: keys that come in the clear prove nothing."
            )
        unknown = set(self.jwt_algorithms) - KNOWN_ALGORITHMS
        if unknown or not self.jwt_algorithms:
            raise InvalidInputError(
                f"jwt_algorithms must name public-key algorithms only, of {', '.join(sorted(KNOWN_ALGORITHMS))}; "
                f"not {', '.join(sorted(unknown)) or 'none at all'}."
            )


def _check_value(setting: dataclasses.Field[Any], value: Any) -> None:
    """Refuse a value that nothing could work with."""
    name, least = setting.name, setting.metadata.get("least")
    if value == "" and setting.default is None:
        raise InvalidInputError(f"{name} is empty: give a value, or leave it out.")
    if setting.metadata.get("is_time") and not 0 < value < math.inf:
        raise InvalidInputError(f"{name} must be a number of seconds above 0, not {value:g}.")
    if least is not None and value is not None and not least <= value <= setting.metadata["most"]:
        most = setting.metadata["most"]
        allowed = f"at least {least}" if most == math.inf else f"from {least} to {most}"
        raise InvalidInputError(f"{name} must be {allowed}, not {value}.")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
