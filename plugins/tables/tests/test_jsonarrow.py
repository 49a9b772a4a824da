from __future__ import annotations

import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import CreateTableRequest, DescribeTableRequest, InvalidInputError

from lancespace.authoring import ArrowData
from lancespace_tables._json_schema import schema_to_json, type_from_json, type_to_json

WHOLE = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int64": pa.int64(),
    "uint16": pa.uint16(),
    "uint64": pa.uint64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "utf8": pa.string(),
    "large_utf8": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "fixed_size_binary": pa.binary(5),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "time32": pa.time32("ms"),
    "time64": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "duration": pa.duration("us"),
    "decimal128": pa.decimal128(10, 2),
    "decimal256": pa.decimal256(40, 3),
    "list": pa.list_(pa.int32()),
    "large_list": pa.large_list(pa.field("item", pa.string(), nullable=False)),
    "fixed_size_list": pa.list_(pa.float32(), 4),
    "struct": pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("y", pa.list_(pa.string()))]),
    "map": pa.map_(pa.string(), pa.int32()),
}
"""Types that survive the way there and back, by name."""

NARROWED = {
    "time32": pa.time32("s"),
    "time64": pa.time64("ns"),
    "timestamp": pa.timestamp("ns", "UTC"),
    "duration": pa.duration("s"),
    "utf8": pa.dictionary(pa.int8(), pa.string()),
    "fixed_size_binary": pa.uuid(),
}
"""Types whose JSON tells less, as it does in the other implementations."""


@pytest.mark.parametrize(("name", "kind"), [*WHOLE.items(), *NARROWED.items()])
def test_names(name, kind):
    assert type_to_json(kind).type == name


@pytest.mark.parametrize("kind", WHOLE.values(), ids=str)
def test_there_and_back(kind):
    outer = pa.struct([pa.field("a", kind, nullable=True, metadata={"k": "v"})])
    back = type_from_json(type_to_json(outer).model_dump(exclude_none=True))
    assert pa.schema([("o", back)]).equals(pa.schema([("o", outer)]), check_metadata=True)


def test_it_tells_the_same_as_pylance(tmp_path):
    fields = [
        pa.field(f"{name}_{number}", kind) for number, (name, kind) in enumerate([*WHOLE.items(), *NARROWED.items()])
    ]
    schema = pa.schema(
        [field.with_metadata({"k": "v"}) for field in fields if field.type != pa.uuid()], metadata={"a": "b"}
    )
    row = pa.Table.from_arrays([pa.array([None], field.type) for field in schema], schema=schema)
    namespace = DirectoryNamespace(root=str(tmp_path))
    namespace.create_table(CreateTableRequest(id=["t"]), b"".join(ArrowData(row).ipc_stream()))
    theirs = namespace.describe_table(DescribeTableRequest(id=["t"], load_detailed_metadata=True)).var_schema
    assert schema_to_json(schema) == theirs


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string"}, pa.string()),
        ({"type": "DOUBLE"}, pa.float64()),
        ({"type": "timestamp[ns]"}, pa.timestamp("ns")),
        ({"type": "timestamp[ms, tz=Europe/Berlin]"}, pa.timestamp("ms", "Europe/Berlin")),
        ({"type": "time32[s]"}, pa.time32("s")),
        ({"type": "duration[ns]"}, pa.duration("ns")),
    ],
)
def test_what_people_write(given, expected):
    assert type_from_json(given) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "weird"}, "unknown data type 'weird'; known are binary, bool, date32"),
        ({"kind": "int64"}, "is not a data type: write it as {'type': 'int64'}"),
        ({"type": "fixed_size_binary"}, "'fixed_size_binary' needs a 'length'"),
        ({"type": "decimal128"}, "'decimal128' needs a 'length'"),
        ({"type": "list"}, "a 'list' needs exactly one field, not 0"),
        (
            {"type": "map", "fields": [{"name": "x", "nullable": True, "type": {"type": "utf8"}}]},
            "a struct of key and value",
        ),
        ({"type": "timestamp[days]"}, "'timestamp\\[days\\]' is not a data type"),
        (
            {"type": "decimal128", "length": 99000},
            "'decimal128' is not a data type: precision should be between 1 and 38",
        ),
    ],
)
def test_what_is_no_type(given, words):
    with pytest.raises(InvalidInputError, match=words):
        type_from_json(given)


@pytest.mark.parametrize(
    "kind", [pa.month_day_nano_interval(), pa.string_view(), pa.dense_union([pa.field("a", pa.int8())])]
)
def test_what_lance_cannot_store(kind):
    with pytest.raises(InvalidInputError, match="has no place in a Lance table"):
        type_to_json(kind)
