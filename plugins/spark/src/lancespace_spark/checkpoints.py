"""Which stream a checkpoint belongs to: Spark keeps the stream's id in it, for as long as it goes on from there."""

from __future__ import annotations

import json

from lance_namespace import InvalidInputError

_FSSPEC = {"s3a": "s3", "s3n": "s3"}
"""Schemes that only Hadoop knows, and what the same store is called elsewhere."""


def query_id(location: str) -> str:
    """The id of the stream whose checkpoint is there.

    The location itself would not do: whoever removes a checkpoint to begin anew has another stream in the same place,
    and a relative path names as many places as there are working directories.

    Raises:
        InvalidInputError: If it cannot be read here, as Hadoop may know stores that Python does not.
    """
    import fsspec

    scheme, separator, rest = location.partition(":")
    known = f"{_FSSPEC.get(scheme, scheme)}{separator}{rest}"
    try:
        with fsspec.open(f"{known.rstrip('/')}/metadata", "rt", encoding="utf-8") as metadata:
            return str(json.load(metadata)["id"])
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InvalidInputError(
            f"the id of the stream cannot be read from its checkpoint {location!r} ({type(error).__name__}: {error}): "
            "name the stream with the option 'stream_id', and give it another name whenever its checkpoint begins anew"
        ) from error
