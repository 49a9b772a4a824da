"""The storage plugin for ``gs://`` and ``gcs://``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsspec.asyn import sync

from lancespace.authoring import ObjectStorage, hookimpl
from lancespace_dir_gcp import vending
from lancespace_dir_gcp.causes import find_cause
from lancespace_dir_gcp.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsspec import AbstractFileSystem

_PATIENCE = 30
"""Seconds that pylance waits for an answer; gcsfs would wait for ever."""


class GcsStorage(ObjectStorage):
    """Google Cloud Storage.

    Where no credentials are given, pylance and gcsfs both take Google's application default credentials.
    """

    table = OPTIONS
    scheme = "gs"  # gcs is another name of it.
    batch = 100
    vendor_table = vending.PROPERTIES
    vend = staticmethod(vending.downscope)
    find_cause = staticmethod(find_cause)

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

    def list_keys(self, filesystem: AbstractFileSystem, bucket: str, prefix: str) -> Iterator[str]:
        """With the names only."""
        asked = {"prefix": prefix or None, "maxResults": 1000, "fields": "items/name,nextPageToken"}
        while True:
            page = filesystem.call("GET", "b/{}/o", bucket, json_out=True, **asked)
            yield from (entry["name"] for entry in page.get("items", ()))
            if "nextPageToken" not in page:
                return
            asked["pageToken"] = page["nextPageToken"]

    def delete_keys(self, filesystem: AbstractFileSystem, bucket: str, keys: list[str]) -> None:
        """In one of Google's batches; what only speaks like Google gets one request for each."""
        paths = [f"{bucket}/{key}" for key in keys]
        outcomes = sync(filesystem.loop, filesystem._delete_files, paths, self.batch)  # noqa: SLF001 - rm reads patterns
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not _says_absent(outcome):
                raise outcome

    @hookimpl
    def delete_unchanged(self, filesystem: AbstractFileSystem, path: str, version: str) -> bool:
        """Delete with ``ifGenerationMatch``."""
        bucket, key, _ = filesystem.split_path(path)
        try:
            filesystem.call("DELETE", "b/{}/o/{}", bucket, key, ifGenerationMatch=version)
        except (FileNotFoundError, FileExistsError):  # The latter is what gcsfs makes of a condition that failed.
            return False
        return True


def _says_absent(error: Exception) -> bool:
    """Whether it was gone already; what a batch says of one object, gcsfs passes on as text."""
    text = str(error)
    return isinstance(error, FileNotFoundError) or "No such object" in text or text.endswith(": 404")
