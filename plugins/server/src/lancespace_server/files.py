"""The files that the settings name: what is wrong with them is said before there are workers."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    from lancespace_server.settings import ServerSettings


def check_files(settings: ServerSettings) -> None:
    """Find that everything is there and can be used.

    Raises:
        LanceNamespaceError: Naming the file, and the setting that it was given with.
    """
    from lancespace_server.auth import Authenticator
    from lancespace_server.auth.jwks import Jwks

    Authenticator(settings)
    if settings.jwt_jwks is not None and not (keys := Jwks(settings.jwt_jwks)).is_remote:
        keys.find(None)
    _check_certificates(settings)
    spool = settings.spool_directory
    if spool is not None and not (Path(spool).is_dir() and os.access(spool, os.W_OK | os.X_OK)):
        raise InvalidInputError(f"spool_directory: {spool!r} is no directory that can be written to: make it first.")


def _check_certificates(settings: ServerSettings) -> None:
    if settings.tls_certificate is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    except OSError as error:
        pair = f"tls_certificate {settings.tls_certificate!r} and tls_key {settings.tls_key!r}"
        raise InvalidInputError(f"{pair} cannot be used: {error}") from error
    if settings.tls_client_ca is None:
        return
    try:
        context.load_verify_locations(settings.tls_client_ca)
    except OSError as error:
        raise InvalidInputError(f"tls_client_ca {settings.tls_client_ca!r} cannot be used: {error}") from error
