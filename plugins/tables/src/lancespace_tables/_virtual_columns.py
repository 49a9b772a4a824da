"""Virtual columns: the Python function that fills a column, kept as a pickle in the metadata of its fields."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import platform
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import lance
import pyarrow as pa
from lance_namespace import InvalidInputError, InvalidTableStateError
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.add_virtual_column_output_entry import AddVirtualColumnOutputEntry
from lance_namespace_urllib3_client.models.alter_columns_entry import AlterColumnsEntry

from lancespace.authoring import PRINCIPAL
from lancespace_tables._fields import decoded, field_at, metadata_at
from lancespace_tables._json_schema import type_from_json, type_to_json

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
        """Unpickle the function. This runs the code in it: only with ``udf.enabled``."""
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
        stated = self._manifest().get("udf_sha256")
        if stated is not None:
            _compare("the pickle", self.udf_name, self._pickle(), str(stated))

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


_FUNCTION = frozenset(Function.__dataclass_fields__)


def group_of(dataset: lance.LanceDataset, path: str) -> dict[str, dict[str, str]]:
    """The virtual columns that are filled together with this one, itself included, and their metadata."""
    wanted = metadata_at(dataset, path).get(GROUP_KEY)
    every = {field.name: decoded(field) for field in dataset.schema}
    return {name: metadata for name, metadata in every.items() if metadata.get(GROUP_KEY) == wanted}


def virtual_fields(dataset: lance.LanceDataset, entry: AddColumnsEntry) -> list[pa.Field]:
    """The columns that one function will fill, declared and without values."""
    described = entry.virtual_column
    if described is None or entry.name not in {output.column for output in described.outputs}:
        raise InvalidInputError(f"column {entry.name!r} must be the 'column' of one of its virtual column's 'outputs'")
    function = Function(**described.model_dump(include=set(_FUNCTION)))
    function.check(dataset)
    binding = {**(described.field_metadata or {}), FUNCTION_KEY: function.to_json(), GROUP_KEY: uuid.uuid4().hex}
    creator = _creator()
    if creator is not None:
        binding[CREATOR_KEY] = creator
    return [_field(output, binding) for output in described.outputs]


def altered_metadata(dataset: lance.LanceDataset, entry: AlterColumnsEntry) -> dict[str, dict[str, str | None]]:
    """The new metadata of all columns whose function is replaced; what the entry leaves out stays."""
    function = Function.of(metadata_at(dataset, entry.path))
    if function is None or entry.virtual_column is None:
        raise InvalidInputError(f"column {entry.path!r} is not a virtual column: add one with alter_table_add_columns")
    if entry.rename is not None or entry.data_type is not None or entry.nullable is not None:
        raise InvalidInputError(f"column {entry.path!r}: 'virtual_column' needs a request of its own")
    given = entry.virtual_column.model_dump(exclude_none=True)
    changes = {name: value for name, value in given.items() if name in _FUNCTION}
    if "manifest" in changes or "udf" in changes:  # What was said of the old one does not hold for the new.
        changes = {"manifest": None, "manifest_checksum": None, **changes}
    changed = replace(function, **changes)
    changed.check(dataset)
    metadata: dict[str, str | None] = {
        **(entry.virtual_column.field_metadata or {}),
        FUNCTION_KEY: changed.to_json(),
        CREATOR_KEY: _creator(),
    }
    return {f"`{name}`": metadata for name in group_of(dataset, entry.path)}


def _creator() -> str | None:
    """Who is acting, as the metadata has it."""
    principal = PRINCIPAL.get()
    return None if principal is None else json.dumps(principal._asdict())


def _field(output: AddVirtualColumnOutputEntry, binding: Mapping[str, Any]) -> pa.Field:
    if not output.nullable:
        raise InvalidInputError(
            f"column {output.column!r} has no values before its backfill: make it nullable, and change that afterwards"
        )
    metadata = {**(output.metadata or {}), **binding, STRUCT_FIELD_KEY: output.struct_field}
    return pa.field(output.column, type_from_json(output.data_type), metadata=metadata)


def virtual_column(
    function: Callable[[pa.RecordBatch], Any],
    *,
    inputs: Sequence[str],
    outputs: Mapping[str, pa.DataType],
    name: str | None = None,
    version: str = "1",
    auto_backfill: bool = False,
) -> dict[str, Any]:
    """The entry of ``new_columns`` that adds the columns which a function computes.

    The function gets a ``pyarrow.RecordBatch`` of its inputs and answers an array of as many values. For several
    outputs that is a struct array with a field for each. It travels by reference if other processes can import it,
    otherwise (a lambda, a function of a script or notebook) with its code.

    Args:
        function: What computes the values.
        inputs: Paths of the columns that it gets, in this order and by these names.
        outputs: The new columns and their types.
        name: What messages call the function; by default, its own name.
        version: What you call this state of it.
        auto_backfill: Whether to start filling the columns at once.
    """
    import cloudpickle

    pickled = cloudpickle.dumps(function)
    manifest = json.dumps({"python": platform.python_version(), "udf_sha256": hashlib.sha256(pickled).hexdigest()})
    return {
        "name": next(iter(outputs)),
        "virtual_column": {
            "input_columns": list(inputs),
            "outputs": [
                {
                    "column": column,
                    "struct_field": column,
                    "data_type": type_to_json(kind).model_dump(by_alias=True, exclude_none=True),
                    "nullable": True,
                }
                for column, kind in outputs.items()
            ],
            "image": "",
            "udf": base64.b64encode(pickled).decode(),
            "udf_name": name or getattr(function, "__name__", type(function).__name__),
            "udf_version": version,
            "auto_backfill": auto_backfill,
            "manifest": manifest,
            "manifest_checksum": hashlib.sha256(manifest.encode()).hexdigest(),
        },
    }
