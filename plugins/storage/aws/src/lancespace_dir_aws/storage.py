"""The storage plugin for ``s3://`` and ``s3a://``."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from lancespace.authoring import ObjectStorage, hookimpl
from lancespace_dir_aws import vending
from lancespace_dir_aws.causes import find_cause
from lancespace_dir_aws.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsspec import AbstractFileSystem

_TRIES = 10

_TOO_MANY = 429

_PATIENCE = {"connect_timeout": 5, "read_timeout": 30}
"""In seconds; as pylance has it."""

_ROUNDS = 2
"""How often s3fs lets botocore, which tries again by itself, do so: a body that breaks off needs a second round."""


class S3Storage(ObjectStorage):
    """Amazon S3 and the stores that speak its protocol.

    Without keys, pylance and s3fs both follow AWS's chain: environment, profile, web identity, container, instance.
    """

    table = OPTIONS
    scheme = "s3"  # Hadoop's s3a is the same.
    vendor_table = vending.PROPERTIES
    vend = staticmethod(vending.assume_role)
    find_cause = staticmethod(find_cause)

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance, which wants the bucket in the host's name where requests are addressed that way."""
        lance = super().storage_options(location, options)
        if "aws_endpoint" in lance and lance.get("aws_virtual_hosted_style_request") == "true":
            endpoint = _with_bucket(_without_bucket(lance["aws_endpoint"], location), location)
            lance |= {"aws_endpoint": endpoint, "aws_endpoint_url_s3": endpoint}
        return lance

    @hookimpl
    def filesystem(self, location: str, options: Mapping[str, str]) -> AbstractFileSystem:
        """An s3fs file system that never answers a listing from memory; retries wait with jitter."""
        from s3fs import S3FileSystem

        arguments = OPTIONS.for_fsspec(options)
        config: dict[str, Any] = {**_PATIENCE, **arguments.pop("config_kwargs", {})}
        config.setdefault("retries", {})["mode"] = "standard"
        if config.get("s3", {}).get("addressing_style") == "virtual" and "endpoint_url" in arguments:
            arguments["endpoint_url"] = _without_bucket(arguments["endpoint_url"], location)
        filesystem = S3FileSystem(use_listings_cache=False, config_kwargs=config, **arguments)
        filesystem.retries = _ROUNDS
        if filesystem.session is None:
            filesystem.session = _session(filesystem.kwargs)
        return filesystem

    @hookimpl
    def put_if_absent(self, filesystem: AbstractFileSystem, path: str, data: bytes) -> bool:
        """Write with ``If-None-Match: *``, again while S3 answers that it cannot tell yet."""
        for _ in range(_TRIES):
            try:
                return super().put_if_absent(filesystem, path, data)
            except OSError as error:
                code = _error_code(error)
                if code == "PreconditionFailed":
                    return False
                if code != "ConditionalRequestConflict":
                    raise
        raise BlockingIOError(errno.EBUSY, "S3 kept answering that another write is under way: try again later", path)

    def list_keys(self, filesystem: AbstractFileSystem, bucket: str, prefix: str) -> Iterator[str]:
        """With ``ListObjectsV2``."""
        asked = {"Bucket": bucket, "Prefix": prefix}
        while True:
            page = filesystem.call_s3("list_objects_v2", **asked)
            yield from (entry["Key"] for entry in page.get("Contents", ()))
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def delete_keys(self, filesystem: AbstractFileSystem, bucket: str, keys: list[str]) -> None:
        """With ``DeleteObjects``; s3fs would not say what could not be deleted."""
        objects = [{"Key": key} for key in keys]
        answer = filesystem.call_s3("delete_objects", Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        for refused in answer.get("Errors", ()):
            code, message = refused.get("Code"), refused.get("Message")
            number = errno.EACCES if code == "AccessDenied" else errno.EIO
            raise OSError(number, f"S3 did not delete it: {code}: {message}", f"{bucket}/{refused.get('Key')}")

    @hookimpl
    def delete_unchanged(self, filesystem: AbstractFileSystem, path: str, version: str) -> bool | None:
        """Delete with ``If-Match``; some stores that speak S3 do not have that."""
        bucket, key, _ = filesystem.split_path(path)
        try:
            filesystem.call_s3("delete_object", Bucket=bucket, Key=key, IfMatch=version)
        except OSError as error:
            code = _error_code(error)
            if isinstance(error, FileNotFoundError) or code in {"PreconditionFailed", "NoSuchKey", "404", "412"}:
                return False
            if code == "NotImplemented":
                return None
            raise
        return True


def _session(arguments: dict[str, Any]) -> Any:
    """The session that s3fs would make of these arguments; its clients ask again, too, after an answer 429."""
    from aiobotocore.session import AioSession  # type: ignore[import-untyped]

    session = AioSession(**arguments)
    session.register("needs-retry.s3", _name_throttling)
    return session


def _name_throttling(response: tuple[Any, Any] | None, **_: Any) -> None:
    """Call it by S3's own name for it, by which botocore knows what to try again: other stores have others, or none."""
    answer = response[1] if response else {}
    if answer.get("ResponseMetadata", {}).get("HTTPStatusCode") == _TOO_MANY:
        answer.setdefault("Error", {})["Code"] = "SlowDown"


def _error_code(error: OSError) -> str:
    """The code S3 answered; s3fs keeps the answer as the cause, and knows only AWS's own wording of a refusal."""
    answer: dict[str, Any] = getattr(error.__cause__, "response", {})
    code: str = answer.get("Error", {}).get("Code", "")
    return code


def _bucket(location: str) -> str:
    return urlsplit(location).netloc


def _with_bucket(endpoint: str, location: str) -> str:
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(netloc=f"{_bucket(location)}.{parts.netloc}"))


def _without_bucket(endpoint: str, location: str) -> str:
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(netloc=parts.netloc.removeprefix(f"{_bucket(location)}.")))
