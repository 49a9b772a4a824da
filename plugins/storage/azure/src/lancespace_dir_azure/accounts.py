"""How Azure names an account: in a location, in a connection string, and as the emulator's only one."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

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
