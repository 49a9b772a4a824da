"""The storage plugin for ``az://``, ``abfs://`` and ``abfss://``."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.hookspecs import hookimpl
from lancespace_dir_azure import vending
from lancespace_dir_azure.accounts import account_in, make_connection_string
from lancespace_dir_azure.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsspec import AbstractFileSystem

    from lancespace.properties import Property
    from lancespace.storage import Credentials


def _leave_to_parent() -> None:
    """In a child that was forked: adlfs would wait, at its end, for the parent's event loop to close connections."""
    from fsspec.asyn import sync

    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
        alive = finalizer.peek()
        if alive is not None and alive[1] is sync:
            finalizer.detach()


if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(after_in_child=_leave_to_parent)


class AzureStorage:
    """Azure Blob Storage, and Data Lake Storage through the same door.

    Where no credentials are given, pylance asks the workload's and the machine's identity, and adlfs Azure's default
    chain, which has these too.
    """

    @hookimpl
    def lance_location(self, location: str) -> str:
        """The location as pylance knows it: it has no ``abfs``, and to it ``az`` and ``abfss`` are the same."""
        scheme, _, rest = location.partition("://")
        return f"az://{rest}" if scheme.lower() == "abfs" else location

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance."""
        lance = OPTIONS.for_lance(options)
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

    @hookimpl
    def put_if_absent(self, filesystem: AbstractFileSystem, path: str, data: bytes) -> bool:
        """Write with ``If-None-Match: *``."""
        try:
            filesystem.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        return True

    @hookimpl
    def delete_tree(self, filesystem: AbstractFileSystem, path: str, last: str | None) -> bool:
        """Delete in Azure's batches."""
        from lancespace_dir_azure import trees

        trees.delete_tree(filesystem, path, last)
        return True

    @hookimpl
    def delete_unchanged(self, filesystem: AbstractFileSystem, path: str, version: str) -> bool:
        """Delete with ``If-Match``."""
        from lancespace_dir_azure import trees

        return trees.delete_unchanged(filesystem, path, version)

    @hookimpl
    def vendor_properties(self) -> tuple[Property, ...]:
        """Credentials are vended as signatures."""
        return vending.PROPERTIES

    @hookimpl
    def vend_credentials(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> Credentials:
        """Sign for what is below a location."""
        lance = self.storage_options(location=location, options=options)
        return vending.sign(location, options, permission, settings, lance)


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
