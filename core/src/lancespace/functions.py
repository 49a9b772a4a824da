"""Python functions as columns: what to send to ``alter_table_add_columns`` for a virtual column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    Function = Callable[[pa.RecordBatch], pa.Array | pa.ChunkedArray]


def virtual_column(
    function: Function,
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
    import base64
    import hashlib
    import json
    import platform

    import cloudpickle

    from lancespace.tables.jsonarrow import type_to_json

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
