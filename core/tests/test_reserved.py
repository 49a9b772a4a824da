"""Metadata that callers cannot set, whichever operation carries it."""

from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import InvalidInputError

from lancespace import connect
from lancespace._requests import build
from lancespace._reserved import RESERVED_PREFIXES, _fields_of
from lancespace.authoring import OPERATIONS, model

_VIRTUAL = {"input_columns": ["id"], "image": "", "udf": "", "udf_name": "f", "udf_version": "1"}


def _requests(metadata: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A request for every operation that takes metadata, in every place that it takes some."""
    output = {"column": "c", "data_type": {"type": "int64"}, "struct_field": "c", "nullable": True}
    manifest = {"version": 2, "manifest_path": "m"}
    return {
        "create_namespace": {"id": ["n"], "properties": metadata},
        "declare_table": {"id": ["t"], "properties": metadata},
        "register_table": {"id": ["t"], "location": "l", "properties": metadata},
        "create_table": {"id": ["t"], "mode": "overwrite", "properties": metadata},
        "update_table": {"id": ["t"], "updates": [["a", "1"]], "properties": metadata},
        "update_table_schema_metadata": {"id": ["t"], "metadata": metadata},
        "update_field_metadata": {"id": ["t"], "updates": [{"path": "a", "metadata": metadata}]},
        "create_table_version": {"id": ["t"], **manifest, "metadata": metadata},
        "batch_create_table_versions": {"entries": [{"id": ["t"], **manifest, "metadata": metadata}]},
        "batch_commit_tables": {"operations": [{"declare_table": {"id": ["t"], "properties": metadata}}]},
        "alter_table_add_columns": {
            "id": ["t"],
            "new_columns": [
                {"name": "c", "virtual_column": {**_VIRTUAL, "outputs": [{**output, "metadata": metadata}]}}
            ],
        },
        "alter_table_alter_columns": {
            "id": ["t"],
            "alterations": [{"path": "c", "virtual_column": {"field_metadata": metadata}}],
        },
    }


def test_every_operation_with_metadata_is_tried():
    with_metadata = {name for name, row in OPERATIONS.items() if any(_fields_of(model(row.request)))}

    assert with_metadata == _requests({}).keys()


@pytest.mark.parametrize("operation", _requests({}))
@pytest.mark.parametrize("prefix", RESERVED_PREFIXES)
def test_reserved_names_are_refused_and_others_are_not(operation: str, prefix: str):
    row = OPERATIONS[operation]
    build(row, None, _requests({"mine": "x", prefix[:-1]: "x"})[operation])

    with pytest.raises(InvalidInputError, match=f"{operation}: the property '{prefix}forged' is reserved"):
        build(row, None, _requests({"mine": "x", f"{prefix}forged": "x"})[operation])


def test_a_batch_is_refused_as_a_whole():
    with connect("memory") as namespace:
        forged = {"id": ["forged"], "properties": {"lancespace.view": "{}"}}
        with pytest.raises(InvalidInputError, match="reserved"):
            namespace.batch_commit_tables(operations=[{"declare_table": {"id": ["good"]}}, {"declare_table": forged}])

        assert list(namespace.tables()) == []


def test_replaced_field_metadata_leaves_a_computed_column_computed():
    with connect("memory") as namespace:
        namespace.create_table("t", [{"a": 1}])
        namespace.alter_table_add_columns("t", new_columns=[{"name": "b", "computed": "a + 1"}])
        answer = namespace.update_field_metadata(
            "t", updates=[{"path": "b", "metadata": {"unit": "m"}, "replace": True}]
        )

        assert (answer.fields or {})["b"] == {"unit": "m", "computed_column.expression": "a + 1"}
