from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    DescribeTableRequest,
    InvalidInputError,
    InvalidTableStateError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)

from lancespace_tables._column_values import COMPUTED_KEY


@pytest.fixture
def table(backend):
    inner = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.string())])
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), metadata={"unit": "piece"}),
            pa.field("name", pa.string()),
            pa.field("inner", inner),
        ],
        metadata={"owner": "ann"},
    )
    rows = [{"id": 1, "name": "a", "inner": {"x": 1, "y": "b"}}, {"id": 2, "name": None, "inner": None}]
    backend.call("create_table", pa.Table.from_pylist(rows, schema))
    return backend


def schema(backend: Any, **fields: Any) -> Any:
    return backend.open(DescribeTableRequest(id=["t"], **fields)).schema


def version(backend: Any) -> Any:
    return backend.call("describe_table_version").version.version


def add(backend: Any, *columns: Any, **fields: Any) -> Any:
    return backend.call("alter_table_add_columns", new_columns=list(columns), **fields).version


def alter(backend: Any, *alterations: Any, **fields: Any) -> Any:
    return backend.call("alter_table_alter_columns", alterations=list(alterations), **fields).version


VIRTUAL = {
    "input_columns": ["id"],
    "outputs": [{"column": "v", "struct_field": "v", "data_type": {"type": "int64"}, "nullable": True}],
    "image": "image",
    "udf": "AAAA",
    "udf_name": "f",
    "udf_version": "1",
}


class TestAdd:
    def test_expressions_fill_all_rows_in_one_commit(self, table):
        assert add(table, {"name": "double", "expression": "id * 2"}, {"name": "word", "expression": "'x'"}) == 2
        assert [(row["double"], row["word"]) for row in table.rows()] == [(2, "x"), (4, "x")]

    def test_computed_columns_are_declared(self, table):
        assert add(table, {"name": "double", "computed": "id * 2"}, {"name": "big", "computed": "upper(name)"}) == 2
        assert [(row["double"], row["big"]) for row in table.rows()] == [(None, None)] * 2
        field = schema(table).field("double")
        assert (field.type, field.metadata) == (pa.int64(), {COMPUTED_KEY.encode(): b"id * 2"})
        assert schema(table).field("big").type == pa.string()
        add(table, {"name": "constant", "computed": "1.5"})
        assert schema(table).field("constant").type == pa.float64()

    def test_on_a_branch(self, table):
        table.call("create_table_branch", name="dev")
        add(table, {"name": "n", "expression": "1"}, branch="dev")
        assert "n" in schema(table, branch="dev").names
        assert "n" not in schema(table).names

    @pytest.mark.parametrize(
        ("columns", "expected", "words"),
        [
            ([], InvalidInputError, "at least one column"),
            ([{"name": "n"}], InvalidInputError, "'n' needs either 'expression' or 'computed'"),
            ([{"name": "n", "expression": "1", "computed": "1"}], InvalidInputError, "'n' needs either"),
            ([{"name": "n", "expression": "1"}, {"name": "m", "computed": "1"}], InvalidInputError, "two requests"),
            (
                [{"name": "n", "expression": "1"}, {"name": "n", "expression": "2"}],
                InvalidInputError,
                "'n' is given twice",
            ),
            ([{"name": "w", "virtual_column": VIRTUAL}], InvalidInputError, "'w' must be the 'column' of one of"),
            ([{"name": "v", "computed": "1", "virtual_column": VIRTUAL}], InvalidInputError, "'v' needs either"),
            ([{"name": "v", "computed": "1"}, {"name": "v", "virtual_column": VIRTUAL}], InvalidInputError, "twice"),
            ([{"name": "n", "expression": "nope + 1"}], TableColumnNotFoundError, "nope"),
            ([{"name": "n", "computed": "nope + 1"}], TableColumnNotFoundError, "nope"),
            ([{"name": "n", "expression": "id + )"}], InvalidInputError, "sql parser error"),
            ([{"name": "n", "computed": "id + )"}], InvalidInputError, "sql parser error"),
            ([{"name": "id", "expression": "1"}], TableSchemaValidationError, "id already exists"),
            ([{"name": "id", "computed": "1"}], TableSchemaValidationError, "id already exists"),
            (
                [{"name": "n", "expression": "1"}, {"name": "id", "expression": "1"}],
                TableSchemaValidationError,
                "already exists",
            ),
        ],
    )
    def test_bad_input_changes_nothing(self, table, columns, expected, words):
        with pytest.raises(expected, match=words):
            add(table, *columns)
        assert version(table) == 1


class TestAlter:
    def test_rename_type_and_nullability(self, table):
        assert alter(table, {"path": "name", "rename": "title"}, {"path": "id", "data_type": {"type": "int32"}}) == 2
        assert alter(table, {"path": "id", "nullable": False}) == 3
        assert schema(table).names == ["id", "title", "inner"]
        assert (schema(table).field("id").type, schema(table).field("id").nullable) == (pa.int32(), False)
        alter(table, {"path": "id", "nullable": True})
        assert schema(table).field("id").nullable

    def test_a_nested_field(self, table):
        alter(table, {"path": "inner.x", "rename": "z"})
        assert schema(table).field("inner").type.field("z").type == pa.int32()

    def test_on_a_branch(self, table):
        table.call("create_table_branch", name="dev")
        alter(table, {"path": "name", "rename": "title"}, branch="dev")
        assert "name" in schema(table).names

    @pytest.mark.parametrize(
        ("alterations", "expected", "words"),
        [
            ([], InvalidInputError, "at least one alteration"),
            ([{"path": "id"}], InvalidInputError, "'id': give at least one of 'rename', 'data_type' and 'nullable'"),
            (
                [{"path": "nope", "rename": "x"}],
                TableColumnNotFoundError,
                "nope",
            ),
            ([{"path": "inner.nope", "rename": "x"}], TableColumnNotFoundError, "inner.nope"),
            ([{"path": "id", "rename": "name"}], TableSchemaValidationError, "Duplicate field name"),
            ([{"path": "name", "data_type": {"type": "int64"}}], TableSchemaValidationError, "Cannot cast column"),
            ([{"path": "name", "nullable": False}], TableSchemaValidationError, "name"),
            ([{"path": "id", "data_type": {"type": "weird"}}], InvalidInputError, "unknown data type 'weird'"),
            ([{"path": "id", "data_type": {"kind": "int64"}}], InvalidInputError, "is not a data type"),
            ([{"path": "id", "virtual_column": {"udf": "AAAA"}}], InvalidInputError, "'id' is not a virtual column"),
            ([{"path": "name", "rename": "x"}, {"path": "nope", "rename": "y"}], TableColumnNotFoundError, "nope"),
        ],
    )
    def test_bad_input_changes_nothing(self, table, alterations, expected, words):
        with pytest.raises(expected, match=words):
            alter(table, *alterations)
        assert version(table) == 1

    def test_the_type_of_an_indexed_column_stays(self, table):
        table.call("create_table_index", column="id", index_type="BTREE")
        with pytest.raises(InvalidTableStateError, match="Drop the index"):
            alter(table, {"path": "id", "data_type": {"type": "int32"}})


class TestDrop:
    def test_columns_and_nested_fields(self, table):
        answer = table.call("alter_table_drop_columns", columns=["name", "inner.x"])
        assert answer.version == 2
        assert answer.transaction_id
        assert schema(table).names == ["id", "inner"]
        assert [field.name for field in schema(table).field("inner").type] == ["y"]

    def test_on_a_branch(self, table):
        table.call("create_table_branch", name="dev")
        table.call("alter_table_drop_columns", columns=["name"], branch="dev")
        assert "name" in schema(table).names

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            ([], InvalidInputError),
            (["name", "nope"], TableColumnNotFoundError),
            (["inner.nope"], TableColumnNotFoundError),
            (["id", "name", "inner"], TableSchemaValidationError),
        ],
    )
    def test_bad_input_changes_nothing(self, table, columns, expected):
        with pytest.raises(expected):
            table.call("alter_table_drop_columns", columns=columns)
        assert version(table) == 1


class TestSchemaMetadata:
    def test_it_is_replaced(self, table):
        answer = table.call("update_table_schema_metadata", metadata={"team": "x"})
        assert answer.metadata == {"team": "x"}
        assert answer.transaction_id
        assert schema(table).metadata == {b"team": b"x"}
        assert table.call("update_table_schema_metadata").metadata == {}

    def test_on_a_branch(self, table):
        table.call("create_table_branch", name="dev")
        table.call("update_table_schema_metadata", metadata={"team": "x"}, branch="dev")
        assert schema(table).metadata == {b"owner": b"ann"}


class TestFieldMetadata:
    def update(self, backend: Any, *updates: Any, **fields: Any) -> Any:
        return backend.call("update_field_metadata", updates=list(updates), **fields)

    def test_merge_replace_and_remove_in_one_commit(self, table):
        self.update(table, {"path": "inner.x", "metadata": {"a": "1", "b": "2"}})
        answer = self.update(
            table,
            {"path": "id", "metadata": {"note": "n"}},
            {"path": "inner.x", "metadata": {"c": "3"}, "replace": True},
        )
        assert answer.version == 3
        assert answer.fields == {"id": {"unit": "piece", "note": "n"}, "inner.x": {"c": "3"}}
        assert schema(table).field("inner").type.field("x").metadata == {b"c": b"3"}
        assert self.update(table, {"path": "id", "metadata": {"unit": None}}).fields == {"id": {"note": "n"}}

    def test_on_a_branch(self, table):
        table.call("create_table_branch", name="dev")
        self.update(table, {"path": "id", "metadata": {"note": "n"}}, branch="dev")
        assert schema(table).field("id").metadata == {b"unit": b"piece"}

    @pytest.mark.parametrize(
        ("updates", "expected"),
        [
            ([], InvalidInputError),
            ([{"path": "id", "metadata": {}}, {"path": "id", "metadata": {}}], InvalidInputError),
            (
                [{"path": "id", "metadata": {"a": "b"}}, {"path": "nope", "metadata": {"a": "b"}}],
                TableColumnNotFoundError,
            ),
        ],
    )
    def test_bad_input_changes_nothing(self, table, updates, expected):
        with pytest.raises(expected):
            self.update(table, *updates)
        assert version(table) == 1
