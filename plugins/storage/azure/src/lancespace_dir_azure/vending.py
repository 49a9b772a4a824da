"""Temporary credentials for one table: a signature (SAS) for its directory, or for its container where that is asked.

Azure signs for a directory only in accounts with a hierarchical namespace. In a flat account the least it can sign for
beside a single file is the whole container, so that has to be asked for by name.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.properties import Property
from lancespace.storage import Credentials
from lancespace.storage.vending import split_location
from lancespace_dir_azure.options import OPTIONS
from lancespace_dir_azure.tokens import sign_in

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "credential_vendor.azure_"
_LONGEST = timedelta(days=7)
_SKEW = timedelta(minutes=5)
"""By so much the clocks of Azure and of this machine may differ."""

PROPERTIES = (
    Property(f"{_PREFIX}account_name", "Account of the tables, where it is to be said again; it must be the store's"),
    Property(f"{_PREFIX}duration_millis", "How long they live: up to 7 days", type=int, default=3_600_000),
    Property(
        f"{_PREFIX}scope",
        "What they open: the table's directory, which needs a hierarchical namespace, or all of its container",
        default="directory",
        choices=("directory", "container"),
    ),
)

SHARED = frozenset({"azure_storage_account_name", "azure_storage_endpoint", "allow_http"})
"""Options of pylance that a client needs too, and that hold no secret."""

_READ = {"read": True, "list": True}
_WRITE = {**_READ, "create": True, "write": True}
_PERMISSIONS = {"read": _READ, "write": _WRITE, "admin": {**_WRITE, "delete": True}}


def sign(
    location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any], lance: Mapping[str, str]
) -> Credentials:
    """A signature for what is below a location; ``lance`` are the catalog's own options for pylance."""
    account = _account(lance["azure_storage_account_name"], settings[f"{_PREFIX}account_name"])
    endpoint = lance.get("azure_storage_endpoint") or f"https://{account}.blob.core.windows.net"
    expiry = datetime.now(timezone.utc).replace(microsecond=0) + _life(settings[f"{_PREFIX}duration_millis"])
    signature = _signature(
        location,
        account,
        permission,
        is_directory=settings[f"{_PREFIX}scope"] == "directory",
        expiry=expiry,
        protocol="https" if endpoint.startswith("https://") else None,
        **_key(options, endpoint, expiry),
    )
    shared = {name: value for name, value in lance.items() if name in SHARED}
    return Credentials({**shared, "azure_storage_sas_key": signature}, int(expiry.timestamp() * 1000))


def _signature(location: str, account: str, permission: str, *, is_directory: bool, **arguments: Any) -> str:
    from azure.storage.blob import (
        BlobSasPermissions,
        ContainerSasPermissions,
        generate_blob_sas,
        generate_container_sas,
    )

    place, directory = split_location(location)
    container = place.partition("@")[0]
    allowed = _PERMISSIONS[permission]
    if not is_directory:
        return generate_container_sas(account, container, permission=ContainerSasPermissions(**allowed), **arguments)
    permissions = BlobSasPermissions(**allowed)
    return generate_blob_sas(account, container, directory, permission=permissions, is_directory=True, **arguments)


def _key(options: Mapping[str, str], endpoint: str, expiry: datetime) -> dict[str, Any]:
    """What to sign with: the account's key, or else one that Azure lends to whoever is signed in."""
    own = OPTIONS.resolve(options)
    if "account_key" in own:
        return {"account_key": own["account_key"]}
    if "sas_token" in own or own.get("skip_signature"):
        raise InvalidInputError(
            "Azure storage: who has but a signature, or none, can vend no credentials: give 'account_key', a service "
            "principal or a managed identity."
        )
    from azure.storage.blob import BlobServiceClient

    with sign_in(own) as identity, BlobServiceClient(endpoint, credential=identity) as client:
        start = datetime.now(timezone.utc) - _SKEW
        return {"user_delegation_key": client.get_user_delegation_key(start, expiry)}


def _account(account: str, said: str | None) -> str:
    if said and said != account:
        raise InvalidInputError(f"{_PREFIX}account_name is {said!r}, but the tables are in {account!r}: keep one.")
    return account


def _life(millis: int) -> timedelta:
    life = timedelta(milliseconds=millis)
    if not timedelta(seconds=1) <= life <= _LONGEST - _SKEW:
        raise InvalidInputError(
            f"{_PREFIX}duration_millis must be between 1000 and {(_LONGEST - _SKEW) // timedelta(milliseconds=1)} "
            f"(7 days less 5 minutes), not {millis}."
        )
    return life
