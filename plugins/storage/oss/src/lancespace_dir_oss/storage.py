"""The storage plugin for ``oss://``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.hookspecs import hookimpl
from lancespace_dir_oss import vending
from lancespace_dir_oss.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lancespace.properties import Property
    from lancespace.storage import Credentials
    from lancespace_dir_oss.filesystem import OssFileSystem


class OssStorage:
    """Alibaba Cloud Object Storage Service."""

    @hookimpl
    def storage_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance."""
        _check(OPTIONS.resolve(options))
        return OPTIONS.for_lance(options)

    @hookimpl
    def filesystem(self, options: Mapping[str, str]) -> OssFileSystem:
        """An ossfs file system that never answers a listing from memory."""
        _check(OPTIONS.resolve(options))
        from lancespace_dir_oss.filesystem import OssFileSystem

        return OssFileSystem(**OPTIONS.for_fsspec(options))

    @hookimpl
    def put_if_absent(self, filesystem: OssFileSystem, path: str, data: bytes) -> bool:
        """Write with ``x-oss-forbid-overwrite``."""
        return filesystem.put_if_absent(path, data)

    @hookimpl
    def delete_tree(self, filesystem: OssFileSystem, path: str, last: str | None) -> bool:
        """Delete in OSS's batches."""
        filesystem.delete_tree(path, last)
        return True

    @hookimpl
    def vendor_properties(self) -> tuple[Property, ...]:
        """Credentials are vended with STS."""
        return vending.PROPERTIES

    @hookimpl
    def vend_credentials(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> Credentials:
        """Assume the role for what is below a location."""
        return vending.assume_role(location, options, permission, settings, self.storage_options(options=options))


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
