"""OSS as a file system: ossfs, with some of its habits changed."""

from __future__ import annotations

import errno
import functools
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import oss2  # type: ignore[import-untyped]
import requests
from ossfs import OSSFileSystem
from ossfs.exceptions import translate_oss_error

Answer = TypeVar("Answer")

_PATIENCE = 30
"""Seconds to wait for a connection, and for each part of an answer."""

_PAUSES = (0.2, 0.4, 0.8, 1.6)
"""Seconds to wait at most before each further try."""

_DETAILS = re.compile(
    r"\{'status': \d+, .*'Code': '(?P<code>[\w.]+)', 'Message': (?P<quote>['\"])(?P<message>.*?)(?P=quote).*\}\}"
)
"""How ossfs prints an answer that it has no class for."""
_NO_ANSWER = re.compile(
    r"\{'status': -\d+, .*'details': ['\"]RequestError: (?P<reason>.*?)(?: \(Caused by .*)?['\"]\}", re.DOTALL
)


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

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        """Write a file, if need be unless it exists: in one request of any size, as uploads in parts have no condition.

        Raises:
            FileExistsError: If it exists.
        """
        if mode != "create":
            super().pipe_file(path, value, **kwargs)
            return
        bucket, key = self.split_path(path)
        try:
            self._call_oss("put_object", key, value, bucket=bucket, headers={"x-oss-forbid-overwrite": "true"})
        except OSError as error:
            if getattr(error.__cause__, "code", None) == "FileAlreadyExists":
                raise FileExistsError(path) from error
            raise

    def list_keys(self, bucket: str, prefix: str) -> Iterator[str]:
        """The keys that begin with a prefix, page by page."""
        asked = {"prefix": prefix, "max_keys": 1000, "continuation_token": ""}
        while True:
            page = self._call_oss("list_objects_v2", bucket=bucket, **asked)
            yield from (entry.key for entry in page.object_list)
            if not page.is_truncated:
                return
            asked["continuation_token"] = page.next_continuation_token

    def delete_keys(self, bucket: str, keys: list[str]) -> None:
        """Delete a batch of objects; what is already gone is no error."""
        deleted = self._call_oss("batch_delete_objects", keys, bucket=bucket).deleted_keys
        for refused in set(keys) - set(deleted):
            raise OSError(errno.EIO, "OSS did not delete it", f"{bucket}/{refused}")

    def _call_oss(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
        """Ask the store, and again for what may pass: ossfs gives up early, and never pauses."""
        ask = functools.partial(super()._call_oss, method_name, *args, retry=1, **kwargs)
        try:
            return _patiently(ask, _may_pass)
        except OSError as error:
            _make_readable(error)
            raise

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """The content of a file, also if an answer breaks off: that comes after the call that is patient by itself."""
        read = functools.partial(super().cat_file, path, start, end, **kwargs)
        content: bytes = _patiently(read, lambda error: isinstance(error, requests.RequestException))
        return content

    def _get_bucket(self, bucket_name: str, connect_timeout: int | None = None) -> oss2.Bucket:
        try:
            return oss2.Bucket(
                self._auth,
                self._endpoint,
                bucket_name,
                is_cname=self._addressing_style == "cname",
                is_path_style=self._addressing_style == "path",
                session=self._session,
                connect_timeout=connect_timeout or _PATIENCE,
            )
        except oss2.exceptions.ClientError as error:  # The name can be none of a bucket.
            raise FileNotFoundError(bucket_name) from error

    def _transfer_object_info_to_dict(self, bucket: str, obj: Any) -> dict[str, Any]:
        """With the entity tag, too: the time has whole seconds only."""
        described: dict[str, Any] = super()._transfer_object_info_to_dict(bucket, obj)
        return {**described, "ETag": obj.etag} if getattr(obj, "etag", None) else described

    def _ls_dir(self, path: str, delimiter: str = "/", prefix: str = "", **kwargs: Any) -> list[dict[str, Any]]:
        bucket, key = self.split_path(path.strip("/"))
        start = f"{key}/{prefix}" if key else prefix
        timeout = kwargs.get("connect_timeout")
        try:
            entries: list[dict[str, Any]] = _patiently(
                lambda: self._get_object_info_list(bucket, start, delimiter, timeout), _may_pass
            )
        except oss2.exceptions.OssError as error:
            failure = translate_oss_error(error)
            _make_readable(failure)
            raise failure from error
        return [{**entry, "name": entry["name"].rstrip("/")} for entry in entries]


def _patiently(ask: Callable[[], Answer], may_pass: Callable[[BaseException], bool]) -> Answer:
    """Ask the store; what may pass is tried again, after a random pause."""
    for longest in _PAUSES:
        try:
            return ask()
        except (OSError, oss2.exceptions.OssError) as error:
            if not may_pass(error):
                raise
        time.sleep(random.uniform(0, longest))  # noqa: S311 - jitter, not a secret
    return ask()


def _may_pass(error: BaseException) -> bool:
    """Whether the store could not be reached, or could not answer now; an answer may also break off."""
    return _is_passing(error) or _is_passing(error.__cause__)


def _is_passing(error: BaseException | None) -> bool:
    if isinstance(error, oss2.exceptions.RequestError | requests.RequestException):
        return True
    return isinstance(error, oss2.exceptions.ServerError) and (error.status >= 500 or error.status == 429)  # noqa: PLR2004


def _make_readable(error: OSError) -> None:
    """Take what only programs read out of the message of ossfs."""
    if error.strerror:
        error.strerror = _NO_ANSWER.sub(r"\g<reason>", _DETAILS.sub(r"\g<message> (\g<code>)", error.strerror))
