"""Temporary credentials for one table: a signature (SAS) for its directory, or for its container where that is asked.

Azure signs for a directory only in accounts with a hierarchical namespace. In a flat account the least it can sign for
beside a single file is the whole container, so that has to be asked for by name.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import Property, check_life, split_location

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PREFIX = "credential_vendor.azure_"
_DURATION = f"{_PREFIX}duration_millis"
_LONGEST = timedelta(days=7) - timedelta(minutes=5)
"""Azure's own bound, less what its clock and that of this machine may differ."""

PROPERTIES = (
    Property(f"{_PREFIX}account_name", "Account of the tables, where it is to be said again; it must be the store's"),
    Property(_DURATION, "How long they live: up to 7 days", type=int, default=3_600_000),
    Property(
        f"{_PREFIX}scope",
        "What they open: the table's directory, which needs a hierarchical namespace, or all of its container",
        default="directory",
        choices=("directory", "container"),
    ),
)

_READ = {"read": True, "list": True}
_WRITE = {**_READ, "create": True, "write": True}
_PERMISSIONS = {"read": _READ, "write": _WRITE, "admin": {**_WRITE, "delete": True}}


def sign(
    location: str,
    permission: str,
    settings: Mapping[str, Any],
    lance: Mapping[str, str],
    key: Callable[[datetime], dict[str, Any]],
) -> tuple[dict[str, str], float]:
    """A signature for what is below a location, and when it expires.

    Args:
        location: What it opens.
        permission: What it allows.
        settings: The values of ``PROPERTIES``.
        lance: The catalog's own options for pylance.
        key: What to sign with, until a time.
    """
    account, said = lance["azure_storage_account_name"], settings[f"{_PREFIX}account_name"]
    if said and said != account:
        raise InvalidInputError(f"{_PREFIX}account_name is {said!r}, but the tables are in {account!r}: keep one.")
    life = check_life(_DURATION, settings[_DURATION], timedelta(seconds=1), _LONGEST)
    expiry = datetime.now(timezone.utc).replace(microsecond=0) + life
    signature = _signature(
        location,
        account,
        permission,
        is_directory=settings[f"{_PREFIX}scope"] == "directory",
        expiry=expiry,
        protocol=None if lance.get("azure_storage_endpoint", "").startswith("http://") else "https",
        **key(expiry),
    )
    return {"azure_storage_sas_key": signature}, expiry.timestamp()


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
