"""The storage plugin for ``gs://`` and ``gcs://``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lancespace.hookspecs import hookimpl
from lancespace_dir_gcp import vending
from lancespace_dir_gcp.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsspec import AbstractFileSystem

    from lancespace.properties import Property
    from lancespace.storage import Credentials

_PATIENCE = 30
"""Seconds that pylance waits for an answer; gcsfs would wait for ever."""


class GcsStorage:
    """Google Cloud Storage.

    Where no credentials are given, pylance and gcsfs both take Google's application default credentials.
    """

    @hookimpl
    def lance_location(self, location: str) -> str:
        """The location as pylance knows it: ``gcs`` is another name of ``gs``."""
        _, _, rest = location.partition("://")
        return f"gs://{rest}"

    @hookimpl
    def storage_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance."""
        return OPTIONS.for_lance(options)

    @hookimpl
    def filesystem(self, options: Mapping[str, str]) -> AbstractFileSystem:
        """A gcsfs file system that never answers a listing from memory.

        The default credentials are asked for by name: else gcsfs, finding none, would silently go on anonymously.
        """
        # With it gcsfs asks each bucket over gRPC what kind it is, and waits a minute for stores that have no gRPC.
        os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        from gcsfs.core import GCSFileSystem

        arguments = {"token": "google_default", "requests_timeout": _PATIENCE, **OPTIONS.for_fsspec(options)}
        session = {"trust_env": True, **arguments.pop("session_kwargs", {})}  # Proxies of the environment, as pylance.
        return GCSFileSystem(use_listings_cache=False, session_kwargs=session, **arguments)

    @hookimpl
    def put_if_absent(self, filesystem: AbstractFileSystem, path: str, data: bytes) -> bool:
        """Write with ``ifGenerationMatch=0``."""
        try:
            filesystem.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        return True

    @hookimpl
    def delete_tree(self, filesystem: AbstractFileSystem, path: str, last: str | None) -> bool:
        """Delete in Google's batches."""
        from lancespace_dir_gcp import trees

        trees.delete_tree(filesystem, path, last)
        return True

    @hookimpl
    def delete_unchanged(self, filesystem: AbstractFileSystem, path: str, version: str) -> bool:
        """Delete with ``ifGenerationMatch``."""
        bucket, key, _ = filesystem.split_path(path)
        try:
            filesystem.call("DELETE", "b/{}/o/{}", bucket, key, ifGenerationMatch=version)
        except (FileNotFoundError, FileExistsError):  # The latter is what gcsfs makes of a condition that failed.
            return False
        return True

    @hookimpl
    def vendor_properties(self) -> tuple[Property, ...]:
        """Credentials are vended as downscoped tokens."""
        return vending.PROPERTIES

    @hookimpl
    def vend_credentials(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> Credentials:
        """Exchange a token for one that opens what is below a location."""
        return vending.downscope(location, options, permission, settings, self.storage_options(options=options))
