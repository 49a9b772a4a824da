"""The storage plugin for ``az://``, ``abfs://`` and ``abfss://``."""

from __future__ import annotations

import asyncio
import os
import weakref
from datetime import datetime, timedelta, timezone
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fsspec.asyn import sync
from lance_namespace import InvalidInputError

from lancespace.authoring import ObjectStorage, hookimpl
from lancespace_dir_azure import vending
from lancespace_dir_azure.accounts import account_in, make_connection_string
from lancespace_dir_azure.causes import find_cause
from lancespace_dir_azure.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsspec import AbstractFileSystem

_SKEW = timedelta(minutes=5)
"""By so much the clocks of Azure and of this machine may differ."""


def _leave_to_parent() -> None:
    """In a child that was forked: adlfs would wait, at its end, for the parent's event loop to close connections."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
        alive = finalizer.peek()
        if alive is not None and alive[1] is sync:
            finalizer.detach()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(after_in_child=_leave_to_parent)


class AzureStorage(ObjectStorage):
    """Azure Blob Storage, and Data Lake Storage through the same door.

    Where no credentials are given, pylance asks the workload's and the machine's identity, and adlfs Azure's default
    chain, which has these too.
    """

    table = OPTIONS
    batch = 25
    """Deleted at once: Azure's own batches save no transactions, and some accounts and its emulator refuse them."""
    vendor_table = vending.PROPERTIES
    find_cause = staticmethod(find_cause)

    @hookimpl
    def lance_location(self, location: str) -> str:
        """The location as pylance knows it: it has no ``abfs``, and to it ``az`` and ``abfss`` are the same."""
        scheme, _, rest = location.partition("://")
        return f"az://{rest}" if scheme.lower() == "abfs" else location

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance."""
        lance = super().storage_options(location, options)
        return {**lance, "azure_storage_account_name": _account(location, lance.get("azure_storage_account_name"))}

    @hookimpl
    def filesystem(self, location: str, options: Mapping[str, str]) -> AbstractFileSystem:
        """An adlfs file system that never answers a listing from memory."""
        from adlfs import AzureBlobFileSystem

        settings = OPTIONS.resolve(options)
        account, endpoint = _account(location, settings.get("account_name")), settings.get("endpoint")
        arguments = {**OPTIONS.for_fsspec(options), "account_name": account}
        if settings.get("skip_signature"):
            arguments |= _connection(account, endpoint)
        elif "account_key" in settings or "sas_token" in settings:
            arguments |= _connection(account, endpoint, settings.get("account_key"), settings.get("sas_token"))
        elif endpoint and endpoint.startswith("http://"):
            raise InvalidInputError("Azure storage: a token is only sent over HTTPS: begin 'endpoint' with https://.")
        return _impatient(AzureBlobFileSystem(use_listings_cache=False, **arguments))

    def list_keys(self, filesystem: AbstractFileSystem, bucket: str, prefix: str) -> Iterator[str]:
        """The blobs, and the directories of an account that has real ones."""
        client = filesystem.service_client.get_container_client(bucket)
        pages = client.list_blob_names(name_starts_with=prefix or None).by_page()
        while (page := sync(filesystem.loop, _next_page, pages)) is not None:
            yield from page

    def delete_keys(self, filesystem: AbstractFileSystem, bucket: str, keys: list[str]) -> list[str]:
        """With one request for each, at once; the answer has the directories that are not empty yet."""
        not_empty: list[str] = sync(
            filesystem.loop, _delete, filesystem.service_client.get_container_client(bucket), keys
        )
        return not_empty

    @hookimpl
    def delete_unchanged(self, filesystem: AbstractFileSystem, path: str, version: str) -> bool:
        """Delete with ``If-Match``."""
        from azure.core import MatchConditions
        from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

        container, key, _ = filesystem.split_path(path)
        client = filesystem.service_client.get_container_client(container)
        quoted = '"{}"'.format(version.strip('"'))  # As it must be; in a listing, it is not.
        condition = {"etag": quoted, "match_condition": MatchConditions.IfNotModified}
        try:
            sync(filesystem.loop, client.delete_blob, key, **condition)
        except (ResourceModifiedError, ResourceNotFoundError):
            return False
        return True

    def vend(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, str], float]:
        """Sign with the account's key, or else with one that Azure lends to who is signed in."""
        own = OPTIONS.resolve(options)
        if "account_key" not in own and ("sas_token" in own or own.get("skip_signature")):
            raise InvalidInputError(
                "Azure storage: who has but a signature, or none, can vend no credentials: give 'account_key', a "
                "service principal or a managed identity."
            )

        def key(expiry: datetime) -> dict[str, Any]:
            if "account_key" in own:
                return {"account_key": own["account_key"]}
            filesystem = self.filesystem(location, options)
            start = datetime.now(timezone.utc) - _SKEW
            lend = filesystem.service_client.get_user_delegation_key
            return {"user_delegation_key": sync(filesystem.loop, lend, start, expiry)}

        return vending.sign(location, permission, settings, self.storage_options(location, options), key)


def _impatient(filesystem: AbstractFileSystem) -> AbstractFileSystem:
    """Try again after 2, 3 and 4 seconds or so; Azure's own measure is over a minute, and adlfs passes on no other."""
    policy = filesystem.service_client._config.retry_policy  # noqa: SLF001 - there is no other way to it
    policy.initial_backoff, policy.increment_base, policy.random_jitter_range = 0, 1.6, 1
    return filesystem


def _connection(account: str, endpoint: str | None, key: str | None = None, sas: str | None = None) -> dict[str, str]:
    """With a connection string adlfs asks nothing else, and looks for none in the environment."""
    return {"connection_string": make_connection_string(account, endpoint, key=key, sas=sas)}


def _account(location: str, given: str | None) -> str:
    named = account_in(location)
    if named and given and named != given:
        raise InvalidInputError(
            f"Azure storage: the location names the account {named!r}, but 'account_name' is {given!r}: keep one."
        )
    account = named or given
    if not account:
        raise InvalidInputError(
            "Azure storage: give the option 'account_name', or name the account in the location: "
            "az://container@account.blob.core.windows.net/path."
        )
    return account


async def _next_page(pages: Any) -> list[str] | None:
    async for page in pages:
        return [name async for name in page]
    return None


async def _delete(client: Any, keys: list[str]) -> list[str]:
    """Delete a batch; return the directories in it that are not empty yet."""
    outcomes = await asyncio.gather(*(_delete_blob(client, key) for key in keys), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [key for key, is_gone in zip(keys, outcomes, strict=True) if not is_gone]


async def _delete_blob(client: Any, key: str) -> bool:
    """Whether it is gone; a directory that is not empty is not."""
    from azure.core.exceptions import HttpResponseError

    try:
        await client.delete_blob(key)
    except HttpResponseError as error:
        if error.status_code == HTTPStatus.CONFLICT:
            return False
        if error.status_code != HTTPStatus.NOT_FOUND:
            raise
    return True
