"""The storage plugin for ``oss://``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import ObjectStorage, hookimpl
from lancespace_dir_oss import vending
from lancespace_dir_oss.causes import find_cause
from lancespace_dir_oss.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lancespace_dir_oss.filesystem import OssFileSystem


class OssStorage(ObjectStorage):
    """Alibaba Cloud Object Storage Service."""

    table = OPTIONS
    scheme = "oss"
    vendor_table = vending.PROPERTIES
    vend = staticmethod(vending.assume_role)
    find_cause = staticmethod(find_cause)

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance."""
        _check(OPTIONS.resolve(options))
        return super().storage_options(location, options)

    @hookimpl
    def filesystem(self, options: Mapping[str, str]) -> OssFileSystem:
        """An ossfs file system that never answers a listing from memory."""
        _check(OPTIONS.resolve(options))
        from lancespace_dir_oss.filesystem import OssFileSystem

        return OssFileSystem(**OPTIONS.for_fsspec(options))

    def list_keys(self, filesystem: OssFileSystem, bucket: str, prefix: str) -> Iterator[str]:
        """As the file system does."""
        return filesystem.list_keys(bucket, prefix)

    def delete_keys(self, filesystem: OssFileSystem, bucket: str, keys: list[str]) -> None:
        """As the file system does."""
        filesystem.delete_keys(bucket, keys)


def _check(settings: Mapping[str, Any]) -> None:
    if "endpoint" not in settings:
        raise InvalidInputError(
            "OSS storage: give the option 'endpoint', as in https://oss-cn-hangzhou.aliyuncs.com, or set OSS_ENDPOINT."
        )
    if "access_key_id" not in settings and not settings.get("skip_signature"):
        raise InvalidInputError(
            "OSS storage: give the options 'access_key_id' and 'access_key_secret', or set OSS_ACCESS_KEY_ID and "
            "OSS_ACCESS_KEY_SECRET; for a public bucket give 'skip_signature': ossfs finds no other credentials."
        )
