"""How Azure names an account, in a location, in a connection string and as the emulator's only one; and its tokens."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken

EMULATOR = {
    "account_name": "devstoreaccount1",
    # The one key of every emulator, in Microsoft's documentation: it opens nothing else.
    "account_key": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}
_FIELDS = {
    "accountname": "account_name",
    "accountkey": "account_key",
    "sharedaccesssignature": "sas_token",
    "blobendpoint": "endpoint",
}
_NEVER = 2**40  # A token's expiry is not ours to know: the service refuses it when the time has come.


def account_in(location: str) -> str | None:
    """The account that a location names: ``abfss://container@account.dfs.core.windows.net/path``."""
    parts = urlsplit(location)
    return (parts.hostname or "").partition(".")[0] if parts.username else None


def emulator() -> dict[str, str]:
    """The options of the emulator on this machine, where pylance looks for it too."""
    host = os.environ.get("AZURITE_BLOB_STORAGE_URL", "http://127.0.0.1:10000").rstrip("/")
    return {**EMULATOR, "endpoint": f"{host}/{EMULATOR['account_name']}"}


def parse_connection_string(text: str) -> dict[str, str]:
    """The options that a connection string stands for."""
    if not re.fullmatch(r"\s*([^=;\s]+=[^;]*;?\s*)+", text):
        raise ValueError("must be a connection string: 'AccountName=...;AccountKey=...'")
    fields = {key.strip().lower(): value for key, _, value in (part.partition("=") for part in text.split(";"))}
    if fields.get("usedevelopmentstorage", "").lower() == "true":
        return emulator()
    options = {name: fields[field] for field, name in _FIELDS.items() if fields.get(field)}
    protocol, suffix = fields.get("defaultendpointsprotocol", "https"), fields.get("endpointsuffix", "core.windows.net")
    if "endpoint" not in options and (protocol, suffix) != ("https", "core.windows.net"):
        options["endpoint"] = f"{protocol}://{options.get('account_name', '')}.blob.{suffix}"
    return options


def make_connection_string(
    account: str, endpoint: str | None, *, key: str | None = None, sas: str | None = None
) -> str:
    """The one way to tell adlfs of any endpoint and the key or signature for it; with neither it is anonymous."""
    fields = {
        "BlobEndpoint": endpoint or f"https://{account}.blob.core.windows.net",
        "AccountName": account,
        "AccountKey": key,
        "SharedAccessSignature": sas.removeprefix("?") if sas and not key else None,
    }
    return ";".join(f"{name}={value}" for name, value in fields.items() if value)


class StaticToken:
    """A credential that always has the same token; it implements Azure's ``AsyncTokenCredential``."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        """The token, whatever it is asked for."""
        from azure.core.credentials import AccessToken

        return AccessToken(self._token, _NEVER)

    async def close(self) -> None:
        """Nothing is held open."""


@functools.lru_cache(maxsize=128)
def static_token(token: str) -> StaticToken:
    """Equal tokens are one object, so that fsspec finds the file system it has made."""
    return StaticToken(token)
