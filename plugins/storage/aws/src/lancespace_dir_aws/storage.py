"""The storage plugin for ``s3://`` and ``s3a://``."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from lancespace.hookspecs import hookimpl
from lancespace_dir_aws import vending
from lancespace_dir_aws.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsspec import AbstractFileSystem

    from lancespace.properties import Property
    from lancespace.storage import Credentials

_TRIES = 10

_TOO_MANY = 429

_PATIENCE = {"connect_timeout": 5, "read_timeout": 30}
"""In seconds; as pylance has it."""

_ROUNDS = 2
"""How often s3fs lets botocore, which tries again by itself, do so: a body that breaks off needs a second round."""


class S3Storage:
    """Amazon S3 and the stores that speak its protocol.

    Without keys, pylance and s3fs both follow AWS's chain: environment, profile, web identity, container, instance.
    """

    @hookimpl
    def lance_location(self, location: str) -> str:
        """The location as pylance knows it: Hadoop's ``s3a`` is S3's own ``s3``."""
        _, _, rest = location.partition("://")
        return f"s3://{rest}"

    @hookimpl
    def storage_options(self, location: str, options: Mapping[str, str]) -> dict[str, str]:
        """The options for pylance, which wants the bucket in the host's name where requests are addressed that way."""
        lance = OPTIONS.for_lance(options)
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
            written = _put(filesystem, path, data)
            if written is not None:
                return written
        raise BlockingIOError(errno.EBUSY, "S3 kept answering that another write is under way: try again later", path)

    @hookimpl
    def delete_tree(self, filesystem: AbstractFileSystem, path: str, last: str | None) -> bool:
        """Delete with ``DeleteObjects``."""
        from lancespace_dir_aws import trees

        trees.delete_tree(filesystem, path, last)
        return True

    @hookimpl
    def delete_files(self, filesystem: AbstractFileSystem, paths: Sequence[str]) -> bool:
        """Delete with ``DeleteObjects``."""
        from lancespace_dir_aws import trees

        trees.delete_files(filesystem, paths)
        return True

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

    @hookimpl
    def vendor_properties(self) -> tuple[Property, ...]:
        """Credentials are vended with STS."""
        return vending.PROPERTIES

    @hookimpl
    def vend_credentials(
        self, location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
    ) -> Credentials:
        """Assume the role for what is below a location."""
        lance = self.storage_options(location=location, options=options)
        return vending.assume_role(location, options, permission, settings, lance)


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


def _put(filesystem: AbstractFileSystem, path: str, data: bytes) -> bool | None:
    """Whether it was written; None if another write was under way, which may yet fail."""
    try:
        filesystem.pipe_file(path, data, mode="create")
    except OSError as error:
        code = _error_code(error)
        if code == "ConditionalRequestConflict":
            return None
        if isinstance(error, FileExistsError) or code == "PreconditionFailed":
            return False
        raise
    return True


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
