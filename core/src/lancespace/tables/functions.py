"""Virtual columns: the Python function that fills a column, kept as a pickle in the metadata of its fields."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, InvalidTableStateError

from lancespace.tables.fields import field_at

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

PREFIX = "virtual_column."
"""Begins the metadata keys of virtual columns."""
FUNCTION_KEY = f"{PREFIX}function"
"""The function, as JSON."""
GROUP_KEY = f"{PREFIX}id"
"""Equal for the columns that one function fills together."""
STRUCT_FIELD_KEY = f"{PREFIX}struct_field"
"""Which field of the function's answer the column takes, if that is a struct."""
CREATOR_KEY = f"{PREFIX}creator"
"""Who sent the function, as JSON; missing if callers were not identified."""
LARGEST = 1 << 20
"""Bytes of a pickle: it is in the table's manifest, which every reader reads."""


@dataclass(frozen=True)
class Function:
    """What the spec's ``virtual_column`` entry says of a function, under its names."""

    input_columns: list[str]
    udf: str
    udf_name: str
    udf_version: str
    image: str = ""
    udf_backend: str | None = None
    manifest: str | None = None
    manifest_checksum: str | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> Function | None:
        """The function in the metadata of a field; None if its column is not a virtual one."""
        text = metadata.get(FUNCTION_KEY)
        try:
            return None if text is None else cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise InvalidTableStateError(
                f"the metadata key {FUNCTION_KEY!r} is not what lancespace writes: drop the column and add it again"
            ) from error

    def to_json(self) -> str:
        """What is kept in the metadata."""
        return json.dumps(asdict(self), sort_keys=True)

    def check(self, dataset: lance.LanceDataset) -> None:
        """Refuse what could never be run; nothing is unpickled.

        Raises:
            InvalidInputError: Naming what is wrong.
            TableColumnNotFoundError: If an input is not in the table.
        """
        if not self.input_columns:
            raise InvalidInputError(f"the function {self.udf_name!r} needs at least one of 'input_columns'")
        for path in self.input_columns:
            field_at(dataset, path)
        if len(self._pickle()) > LARGEST:
            raise InvalidInputError(
                f"the function {self.udf_name!r} has {len(self._pickle())} bytes, {LARGEST} are allowed: "
                "put data that it needs into a table or a module"
            )
        self._check_sums()

    def load(self) -> Callable[[pa.RecordBatch], Any]:
        """Unpickle the function. This runs code of whoever wrote it: only with ``udf.enabled``."""
        self._check_sums()
        try:
            loaded = pickle.loads(self._pickle())  # noqa: S301 - the caller has asked for it by udf.enabled
        except Exception as error:
            raise InvalidInputError(
                f"the function {self.udf_name!r} cannot be unpickled by Python {platform.python_version()}"
                f"{self._pickled_by()}: {type(error).__name__}: {error}"
            ) from error
        if not callable(loaded):
            raise InvalidInputError(f"{self.udf_name!r} is not a function but {type(loaded).__name__}")
        function: Callable[[pa.RecordBatch], Any] = loaded
        return function

    def _pickle(self) -> bytes:
        try:
            return base64.b64decode(self.udf, validate=True)
        except ValueError as error:
            raise InvalidInputError(f"'udf' of the function {self.udf_name!r} is not base64: {error}") from error

    def _check_sums(self) -> None:
        if self.manifest is None and self.manifest_checksum is not None:
            raise InvalidInputError(f"the function {self.udf_name!r} has 'manifest_checksum' without 'manifest'")
        if self.manifest is not None and self.manifest_checksum is not None:
            _compare("the manifest", self.udf_name, self.manifest.encode(), self.manifest_checksum)
        told = self._manifest().get("udf_sha256")
        if told is not None:
            _compare("the pickle", self.udf_name, self._pickle(), str(told))

    def _manifest(self) -> Mapping[str, Any]:
        """The manifest, if it is a JSON object, as ours are."""
        try:
            found = json.loads(self.manifest or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _pickled_by(self) -> str:
        python = self._manifest().get("python")
        return f" (it was pickled by {python})" if python else ""


def _compare(what: str, name: str, content: bytes, checksum: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != checksum.lower():
        raise InvalidInputError(
            f"{what} of the function {name!r} has the SHA-256 {found}, not {checksum}: send it again"
        )
