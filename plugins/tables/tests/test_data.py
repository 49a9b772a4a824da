from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lance_namespace import (
    CreateTableRequest,
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    UnsupportedOperationError,
)

from lancespace_tables._creation import STORAGE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "rows": pa.Table.from_pylist}
NEW = pa.table({"id": [3, 4], "name": ["cyd", "dan"]})


def names(backend: Any, **fields: Any) -> list[str]:
    return sorted(row["name"] for row in backend.rows(**fields))


def version(backend: Any) -> Any:
    return backend.call("describe_table_version").version.version


class TestCreate:
    def test_the_version_of_the_file_format_is_a_storage_option(self, backend):
        backend.call("create_table", NEW, storage_options={STORAGE_VERSION: "2.0"})
        assert backend.locate(CreateTableRequest(id=["t"])).open().data_storage_version == "2.0"
        backend.call("create_table", NEW, mode="overwrite", storage_options={STORAGE_VERSION: "2.1"})
        assert backend.locate(CreateTableRequest(id=["t"])).open().data_storage_version == "2.1"
        backend.call("insert_into_table", NEW)
        assert names(backend) == ["cyd", "cyd", "dan", "dan"]

    @pytest.mark.parametrize("mode", ["create", "overwrite"])
    def test_a_version_of_the_format_that_there_is_not(self, people, mode):
        names = ["t" if mode == "overwrite" else "new"]
        with pytest.raises(InvalidInputError, match=r"0\.7"):
            people.call("create_table", NEW, id=names, mode=mode, storage_options={STORAGE_VERSION: "0.7"})
        assert version(people) == 1


class TestInsert:
    @pytest.mark.parametrize("mode", [None, "append", "Append", "APPEND"])
    def test_append(self, people, mode):
        answer = people.call("insert_into_table", NEW, mode=mode)
        assert (answer.num_inserted_rows, answer.version) == (2, 2)
        assert names(people) == ["ann", "bob", "cy", "cyd", "dan"]

    def test_overwrite_replaces_all_rows(self, people):
        answer = people.call("insert_into_table", NEW, mode="Overwrite")
        assert (answer.num_inserted_rows, answer.version) == (2, 2)
        assert names(people) == ["cyd", "dan"]

    def test_the_first_rows_of_a_declared_table_create_it(self, backend):
        backend.call("declare_table")
        answer = backend.call("insert_into_table", NEW)
        assert (answer.num_inserted_rows, answer.version) == (2, 1)
        assert names(backend) == ["cyd", "dan"]

    def test_a_branch_grows_without_main(self, branched):
        assert branched.call("insert_into_table", NEW, branch="dev").version == 3
        assert len(branched.rows(branch="dev")) == 6
        assert len(branched.rows()) == 3

    def test_a_stream_passes_batch_by_batch(self, people):
        def batches() -> Iterator[pa.RecordBatch]:
            for number in range(3):
                yield pa.record_batch({"id": [number], "name": [str(number)]})

        reader = pa.RecordBatchReader.from_batches(NEW.schema, batches())
        assert people.call("insert_into_table", reader).num_inserted_rows == 3

    @pytest.mark.parametrize("library", FRAMES.values(), ids=FRAMES)
    @pytest.mark.parametrize("other", FRAMES.values(), ids=FRAMES)
    def test_tables_take_texts_and_lists_of_any_library(self, backend, library, other):
        """Each has a layout of its own for them."""
        first = [{"id": 1, "name": "ann", "tags": ["x"], "at": {"city": "Oslo"}, "key": b"a"}]
        second = [{"id": 2, "name": "bob", "tags": ["y"], "at": {"city": "Rome"}, "key": b"b"}]
        backend.call("create_table", library(first))
        backend.call("insert_into_table", other(second))
        merged = {"on": ["name"], "when_matched_update_all": True}
        answer = backend.call("merge_insert_into_table", other([{**first[0], "id": 3}]), **merged)
        assert answer.num_updated_rows == 1
        assert sorted(backend.rows(), key=lambda row: row["id"]) == [second[0], {**first[0], "id": 3}]

    def test_categories_of_polars(self, backend):
        frame = pl.DataFrame({"id": [1, 2], "name": pl.Series(["a", "b"], dtype=pl.Categorical)})
        backend.call("create_table", frame)
        backend.call("insert_into_table", frame)
        assert names(backend) == ["a", "a", "b", "b"]
        backend.call("insert_into_table", frame, mode="overwrite")
        assert names(backend) == ["a", "b"]

    def test_missing_nullable_columns_become_null(self, people):
        people.call("insert_into_table", pa.table({"id": [9]}))
        assert people.rows(filter="id = 9") == [{"id": 9, "name": None}]

    @pytest.mark.parametrize(
        "data", [{"other": [1]}, {"id": ["x"], "name": ["y"]}, {"id": [1], "name": ["y"], "x": [1]}]
    )
    def test_rows_of_another_schema_are_refused_and_change_nothing(self, people, data):
        with pytest.raises(TableSchemaValidationError, match="insert into table 't'"):
            people.call("insert_into_table", pa.table(data))
        assert version(people) == 1

    def test_data_that_fails_midway_changes_nothing(self, people):
        def batches() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"id": [7], "name": ["half"]})
            raise pa.ArrowInvalid("the rest is lost")

        with pytest.raises(InvalidInputError, match="the rest is lost"):
            people.call("insert_into_table", pa.RecordBatchReader.from_batches(NEW.schema, batches()))
        assert version(people) == 1

    def test_an_unknown_mode_is_refused(self, people):
        with pytest.raises(InvalidInputError, match="mode must be one of Append, Overwrite"):
            people.call("insert_into_table", NEW, mode="upsert")


class TestMergeInsert:
    def merge(self, backend: Any, **fields: Any) -> Any:
        answer = backend.call("merge_insert_into_table", NEW, **{"on": ["id"], **fields})
        return answer.num_updated_rows, answer.num_inserted_rows, answer.num_deleted_rows

    def test_upsert(self, people):
        assert self.merge(people, when_matched_update_all=True, when_not_matched_insert_all=True) == (1, 1, 0)
        assert names(people) == ["ann", "bob", "cyd", "dan"]
        assert version(people) == 2

    def test_insert_only_what_is_new(self, people):
        assert self.merge(people, when_not_matched_insert_all=True) == (0, 1, 0)
        assert names(people) == ["ann", "bob", "cy", "dan"]

    def test_update_with_a_condition(self, people):
        assert self.merge(people, when_matched_update_all_filt="target.name = 'nobody'") == (0, 0, 0)
        assert self.merge(people, when_matched_update_all_filt="target.name = 'cy'") == (1, 0, 0)
        assert names(people) == ["ann", "bob", "cyd"]

    def test_delete_what_the_source_lacks(self, people):
        assert self.merge(people, when_not_matched_by_source_delete=True) == (0, 0, 2)
        assert names(people) == ["cy"]

    def test_delete_with_a_condition(self, people):
        condition = {"when_not_matched_by_source_delete": True, "when_not_matched_by_source_delete_filt": "id = 1"}
        assert self.merge(people, **condition) == (0, 0, 1)
        assert names(people) == ["bob", "cy"]

    def test_a_key_of_several_columns(self, people):
        assert self.merge(people, on=["id", "name"], when_not_matched_insert_all=True) == (0, 2, 0)

    @pytest.mark.parametrize("timeout", ["500ms", "30s", "1.5m", "1h"])
    def test_timeout_and_index_use(self, people, timeout):
        options = {"timeout": timeout, "use_index": False, "when_not_matched_insert_all": True}
        assert self.merge(people, **options) == (0, 1, 0)

    def test_on_a_branch(self, branched):
        assert self.merge(branched, branch="dev", when_matched_update_all=True) == (2, 0, 0)
        assert names(branched) == ["ann", "bob", "cy"]
        assert names(branched, branch="dev") == ["ann", "bob", "cyd", "dan"]

    def test_into_a_declared_table_everything_is_inserted(self, backend):
        backend.call("declare_table")
        answer = backend.call("merge_insert_into_table", NEW, on=["id"], when_matched_update_all=True)
        assert (answer.num_inserted_rows, answer.version) == (2, 1)

    @pytest.mark.parametrize(
        ("fields", "expected", "words"),
        [
            ({"on": None}, InvalidInputError, "needs 'on'"),
            ({}, InvalidInputError, "not configured to change the data"),
            (
                {"on": ["nope"], "when_matched_update_all": True},
                TableColumnNotFoundError,
                "no column 'nope'; there are id, name",
            ),
            ({"when_matched_update_all_filt": "source.nope > 1"}, TableColumnNotFoundError, "nope"),
            ({"when_matched_update_all_filt": "source.id >"}, InvalidInputError, "sql parser error"),
            ({"when_not_matched_insert_all": True, "timeout": "soon"}, InvalidInputError, "'soon' is not a duration"),
        ],
    )
    def test_bad_input_changes_nothing(self, people, fields, expected, words):
        with pytest.raises(expected, match=words):
            self.merge(people, **fields)
        assert version(people) == 1

    def test_rows_of_another_schema_are_refused(self, people):
        with pytest.raises(TableSchemaValidationError):
            people.call(
                "merge_insert_into_table", pa.table({"id": [1], "x": [2]}), on=["id"], when_matched_update_all=True
            )

    def test_a_declared_table_needs_the_key_in_the_data(self, backend):
        backend.call("declare_table")
        with pytest.raises(TableColumnNotFoundError, match="no column 'nope' to match on"):
            backend.call("merge_insert_into_table", NEW, on=["nope"], when_matched_update_all=True)


class TestUpdate:
    def test_rows_that_match(self, people):
        answer = people.call("update_table", predicate="id > 1", updates=[["name", "upper(name)"], ["id", "id + 10"]])
        assert (answer.updated_rows, answer.version, answer.properties) == (2, 2, None)
        assert [(row["id"], row["name"]) for row in people.rows()] == [(1, "ann"), (12, "BOB"), (13, "CY")]

    def test_all_rows(self, people):
        assert people.call("update_table", updates=[["name", "'x'"]]).updated_rows == 3

    def test_on_a_branch(self, branched):
        branched.call("update_table", branch="dev", updates=[["name", "'x'"]])
        assert names(branched) == ["ann", "bob", "cy"]

    @pytest.mark.parametrize(
        ("fields", "expected", "words"),
        [
            ({"updates": [["nope", "1"]]}, TableColumnNotFoundError, "nope"),
            ({"updates": [["id", "nope + 1"]]}, TableColumnNotFoundError, "nope"),
            ({"updates": [["id", "1"]], "predicate": "nope = 1"}, TableColumnNotFoundError, "nope"),
            ({"updates": [["id", "'x'"]]}, InvalidInputError, "Cannot cast"),
            ({"updates": [["id", "1 +"]]}, InvalidInputError, "not valid: 1 \\+"),
            ({"updates": []}, InvalidInputError, "No updates provided"),
            ({"updates": [["id", "1"], ["id", "2"]]}, InvalidInputError, "set only once"),
            ({"updates": [["id", "1"]], "properties": {"a": "b"}}, UnsupportedOperationError, "properties"),
        ],
    )
    def test_bad_input_changes_nothing(self, people, fields, expected, words):
        with pytest.raises(expected, match=words):
            people.call("update_table", **fields)
        assert version(people) == 1


class TestDelete:
    def test_rows_that_match(self, people):
        assert people.call("delete_from_table", predicate="id = 2").version == 2
        assert names(people) == ["ann", "cy"]

    def test_on_a_branch(self, branched):
        branched.call("delete_from_table", predicate="true", branch="dev")
        assert len(branched.rows()) == 3
        assert branched.rows(branch="dev") == []

    @pytest.mark.parametrize(
        ("predicate", "expected"),
        [("nope = 1", TableColumnNotFoundError), ("id =", InvalidInputError), ("", InvalidInputError)],
    )
    def test_bad_input_changes_nothing(self, people, predicate, expected):
        with pytest.raises(expected, match="delete rows of table 't'"):
            people.call("delete_from_table", predicate=predicate)
        assert version(people) == 1


class TestCount:
    def test_with_and_without_a_predicate(self, people):
        assert people.call("count_table_rows").count == 3
        assert people.call("count_table_rows", predicate="id > 1").count == 2

    def test_of_a_version_and_a_branch(self, branched):
        branched.call("delete_from_table", predicate="true")
        assert branched.call("count_table_rows").count == 0
        assert branched.call("count_table_rows", version=1).count == 3
        assert branched.call("count_table_rows", branch="dev").count == 4

    @pytest.mark.parametrize(
        ("predicate", "expected"), [("nope = 1", TableColumnNotFoundError), ("id >", InvalidInputError)]
    )
    def test_bad_predicates(self, people, predicate, expected):
        with pytest.raises(expected, match="count the rows of table 't'"):
            people.call("count_table_rows", predicate=predicate)
