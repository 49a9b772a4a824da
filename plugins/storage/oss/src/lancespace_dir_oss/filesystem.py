"""OSS as a file system: ossfs, with some of its habits changed."""

from __future__ import annotations

from typing import Any

import oss2  # type: ignore[import-untyped]
from ossfs import OSSFileSystem
from ossfs.exceptions import translate_oss_error


class OssFileSystem(OSSFileSystem):  # type: ignore[misc] # ossfs has no types.
    """An ossfs file system that always asks the store, says so when it is refused, and can write on a condition.

    ossfs remembers every listing, fails if told not to, and shows a directory that may not be listed as an empty one.
    """

    def __init__(self, *, addressing_style: str = "virtual", anonymous: bool = False, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._addressing_style = addressing_style
        if anonymous:
            self._auth = oss2.AnonymousAuth()

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        """The entries of a directory.

        Raises:
            FileNotFoundError: If there is none; where directories are but prefixes, that is one without entries.
        """
        entries: list[Any] = super().ls(path, detail=detail, **kwargs)
        if not entries and self.split_path(path)[1]:
            raise FileNotFoundError(path)
        return entries

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists, in one request of any size: ossfs has no condition for uploads in parts."""
        bucket, key = self.split_path(path)
        condition = {"x-oss-forbid-overwrite": "true"}
        try:
            self._call_oss("put_object", key, data, bucket=bucket, headers=condition)
        except OSError as error:
            if getattr(error.__cause__, "code", None) == "FileAlreadyExists":
                return False
            raise
        return True

    def _get_bucket(self, bucket_name: str, connect_timeout: int | None = None) -> oss2.Bucket:
        try:
            return oss2.Bucket(
                self._auth,
                self._endpoint,
                bucket_name,
                is_cname=self._addressing_style == "cname",
                is_path_style=self._addressing_style == "path",
                session=self._session,
                connect_timeout=connect_timeout,
            )
        except oss2.exceptions.ClientError as error:  # The name can be none of a bucket.
            raise FileNotFoundError(bucket_name) from error

    def _ls_dir(self, path: str, delimiter: str = "/", prefix: str = "", **kwargs: Any) -> list[dict[str, Any]]:
        bucket, key = self.split_path(path.strip("/"))
        start = f"{key}/{prefix}" if key else prefix
        try:
            entries: list[dict[str, Any]] = self._get_object_info_list(
                bucket, start, delimiter, kwargs.get("connect_timeout")
            )
        except oss2.exceptions.OssError as error:
            raise translate_oss_error(error) from error
        return [{**entry, "name": entry["name"].rstrip("/")} for entry in entries]
