from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    ListTablesRequest,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
)

from lancespace import connect
from lancespace.authoring import JobCanceled, redact, translate, translated

if TYPE_CHECKING:
    from collections.abc import Callable

    from lancespace._table import Table

TABLE = pa.table({"a": [1, 2, 3], "s": ["x", "y", "z"]})


@pytest.fixture
def dataset(tmp_path):
    """Version 2, with an index, a tag and a branch, and a second branch that needs the first."""
    dataset = lance.write_dataset(TABLE, tmp_path / "t.lance")
    dataset.create_scalar_index("a", "BTREE", name="by_a")
    dataset.tags.create("first", 1)
    dataset.create_branch("dev")
    dataset.create_branch("sub", ("dev", None))
    return dataset


PYLANCE_FAILURES: dict[str, tuple[Callable[[lance.LanceDataset], object], type[LanceNamespaceError]]] = {
    "no table": (lambda ds: lance.dataset(ds.uri + "x"), TableNotFoundError),
    "table exists": (lambda ds: lance.write_dataset(TABLE, ds.uri, mode="create"), TableAlreadyExistsError),
    "no version": (lambda ds: lance.dataset(ds.uri, version=99), TableVersionNotFoundError),
    "no version to tag": (lambda ds: ds.tags.create("new", 99), TableVersionNotFoundError),
    "no tag": (lambda ds: lance.dataset(ds.uri, version="nope"), TableTagNotFoundError),
    "no tag to delete": (lambda ds: ds.tags.delete("nope"), TableTagNotFoundError),
    "tag exists": (lambda ds: ds.tags.create("first", 1), TableTagAlreadyExistsError),
    "tag name": (lambda ds: ds.tags.create("a b", 1), InvalidInputError),
    "no branch": (lambda ds: ds.checkout_version(("nope", None)), TableBranchNotFoundError),
    "no branch to delete": (lambda ds: ds.branches.delete("nope"), TableBranchNotFoundError),
    "branch exists": (lambda ds: ds.create_branch("dev"), TableBranchAlreadyExistsError),
    "branch in use": (lambda ds: ds.branches.delete("dev"), InvalidTableStateError),
    "branch name": (lambda ds: ds.create_branch("main"), InvalidInputError),
    "no index": (lambda ds: ds.drop_index("nope"), TableIndexNotFoundError),
    "no index for stats": (lambda ds: ds.stats.index_stats("nope"), TableIndexNotFoundError),
    "index exists": (
        lambda ds: ds.create_scalar_index("a", "BTREE", name="by_a", replace=False),
        TableIndexAlreadyExistsError,
    ),
    "index of the wrong type": (lambda ds: ds.create_scalar_index("a", "INVERTED"), InvalidInputError),
    "index on several arguments": (lambda ds: ds.create_index("s", "IVF_PQ"), InvalidInputError),
    "column in a filter": (lambda ds: ds.to_table(filter="nope > 1"), TableColumnNotFoundError),
    "column in a count": (lambda ds: ds.count_rows("nope > 1"), TableColumnNotFoundError),
    "column in a projection": (lambda ds: ds.to_table(columns=["nope"]), TableColumnNotFoundError),
    "column to update": (lambda ds: ds.update({"nope": "1"}), TableColumnNotFoundError),
    "column to drop": (lambda ds: ds.drop_columns(["nope"]), TableColumnNotFoundError),
    "column to alter": (lambda ds: ds.alter_columns({"path": "nope", "name": "b"}), TableColumnNotFoundError),
    "column to index": (lambda ds: ds.create_scalar_index("nope", "BTREE"), TableColumnNotFoundError),
    "column to describe": (lambda ds: ds.update_field_metadata({"nope": {"k": "v"}}), TableColumnNotFoundError),
    "column to search": (lambda ds: ds.scanner(nearest={"column": "nope", "q": [1.0]}), TableColumnNotFoundError),
    "key of a merge": (
        lambda ds: ds.merge_insert("nope").when_matched_update_all().execute(TABLE),
        TableColumnNotFoundError,
    ),
    "append of other columns": (
        lambda ds: lance.write_dataset(pa.table({"b": [1]}), ds, mode="append"),
        TableSchemaValidationError,
    ),
    "pattern of a new column": (lambda ds: ds.add_columns({"c": "regexp_like(s, '(')"}), InvalidInputError),
    "decimal of a new column": (lambda ds: ds.add_columns({"c": "CAST(a AS decimal(5, 5))"}), InvalidInputError),
    "column exists": (lambda ds: ds.add_columns({"a": "1"}), TableSchemaValidationError),
    "cast of a column": (
        lambda ds: ds.alter_columns({"path": "s", "data_type": pa.int32()}),
        TableSchemaValidationError,
    ),
    "cast of an indexed column": (
        lambda ds: ds.alter_columns({"path": "a", "data_type": pa.int32()}),
        InvalidTableStateError,
    ),
    "drop of all columns": (lambda ds: ds.drop_columns(["a", "s"]), TableSchemaValidationError),
    "two columns of one name": (lambda ds: ds.alter_columns({"path": "a", "name": "s"}), TableSchemaValidationError),
    "reserved column": (
        lambda ds: lance.write_dataset(pa.table({"_rowid": [1]}), ds.uri + "2"),
        TableSchemaValidationError,
    ),
    "null in a non-null column": (
        lambda ds: lance.write_dataset(
            pa.table({"a": [None]}, schema=pa.schema([pa.field("a", pa.int64(), nullable=False)])), ds.uri + "3"
        ),
        TableSchemaValidationError,
    ),
    "type that Lance lacks": (
        lambda ds: lance.write_dataset(
            pa.table({"a": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}), ds.uri + "4"
        ),
        TableSchemaValidationError,
    ),
    "filter syntax": (lambda ds: ds.to_table(filter="a >>>> 1"), InvalidInputError),
    "filter of the wrong type": (lambda ds: ds.to_table(filter="a + 1"), InvalidInputError),
    "words of the caller in a message": (
        lambda ds: ds.to_table(filter="s = 'commit conflict, SlowDown, No field named' AND ("),
        InvalidInputError,
    ),
    "merge without an action": (lambda ds: ds.merge_insert("a").execute(TABLE), InvalidInputError),
    "ambiguous merge": (
        lambda ds: ds.merge_insert("a").when_matched_update_all().execute(pa.concat_tables([TABLE, TABLE])),
        InvalidInputError,
    ),
    "division by zero in a stream": (
        lambda ds: ds.scanner(columns={"q": "1 / (a - 1)"}).to_reader().read_all(),
        InvalidInputError,
    ),
    "negative limit": (lambda ds: ds.scanner(limit=-1), InvalidInputError),
    "unknown scheme": (lambda _: lance.dataset("weird://host/path"), InvalidInputError),
    "no service": (
        lambda _: lance.dataset(
            "s3://bucket/t.lance",
            storage_options={
                "aws_access_key_id": "id",
                "aws_secret_access_key": "secret",
                "aws_region": "us-east-1",
                "aws_endpoint": "http://127.0.0.1:9",
                "allow_http": "true",
                "client_max_retries": "0",
                "client_retry_timeout": "1",
            },
        ),
        ServiceUnavailableError,
    ),
    "lost update": (
        lambda ds: lance.dataset(ds.uri, version=1).update({"a": "7"}, conflict_retries=0),
        ConcurrentModificationError,
    ),
    "change beside a restore": (
        lambda ds: (lance.dataset(ds.uri, version=1).restore(), ds.update_schema_metadata({"k": "v"})),
        ConcurrentModificationError,
    ),
    "lost commit": (
        lambda ds: lance.LanceDataset.commit(
            ds.uri, lance.LanceOperation.Overwrite(ds.schema, []), read_version=1, max_retries=0
        ),
        ConcurrentModificationError,
    ),
}


@pytest.mark.parametrize("name", PYLANCE_FAILURES)
def test_what_pylance_raises(name, dataset):
    provoke, expected = PYLANCE_FAILURES[name]
    lance.dataset(dataset.uri).update({"s": "s || s"})
    with pytest.raises(expected) as caught, translated(f"try {name}"):
        provoke(dataset)
    assert type(caught.value) is expected
    message = str(caught.value)
    assert message.startswith(f"try {name}: ")
    assert "\n" not in message
    assert ".rs:" not in message
    assert "Schema {" not in message
    assert caught.value.__cause__ is not None


def test_a_lost_data_file_is_a_state_of_the_table(tmp_path):
    lance.write_dataset(TABLE, tmp_path / "t.lance")
    for file in (tmp_path / "t.lance" / "data").iterdir():
        file.unlink()
    with pytest.raises(InvalidTableStateError), translated("read"):
        lance.dataset(tmp_path / "t.lance").to_table()


def test_a_table_whose_versions_are_gone_is_a_missing_table(tmp_path):
    dataset = lance.write_dataset(TABLE, tmp_path / "t.lance")
    shutil.rmtree(tmp_path / "t.lance" / "_versions")
    with pytest.raises(TableNotFoundError), translated("look for newer versions"):
        dataset.checkout_latest()


def test_a_broken_manifest_is_not_a_missing_table(tmp_path):
    lance.write_dataset(TABLE, tmp_path / "t.lance")
    for file in (tmp_path / "t.lance" / "_versions").glob("*.manifest"):
        file.write_bytes(b"garbage")
    with pytest.raises(InvalidTableStateError), translated("read"):
        lance.dataset(tmp_path / "t.lance")


class ClientError(Exception):
    """As botocore's."""

    def __init__(self, status: int, code: Any = "Whatever") -> None:
        super().__init__(f"An error occurred ({code}) when calling the PutObject operation")
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}


class HttpResponseError(Exception):
    """As azure-core's."""

    def __init__(self, status_code: int) -> None:
        super().__init__("the service said no")
        self.status_code = status_code


class HttpError(OSError):
    """As gcsfs's."""

    def __init__(self, code: Any) -> None:
        super().__init__("the service said no")
        self.code = code


class NoCredentialsError(Exception):
    """As botocore's."""


class ReadTimeoutError(Exception):
    """As urllib3's."""


FOREIGN = [
    (FileNotFoundError("/data/t"), TableNotFoundError),
    (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/data/t"), TableNotFoundError),
    (FileExistsError("/data/t"), ConcurrentModificationError),
    (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), PermissionDeniedError),
    (OSError(errno.EROFS, os.strerror(errno.EROFS)), PermissionDeniedError),
    (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ServiceUnavailableError),
    (OSError("LanceError(IO): No space left on device (os error 28), /x/y.rs:1:2"), ServiceUnavailableError),
    (TimeoutError("too slow"), ServiceUnavailableError),
    (ConnectionResetError(errno.ECONNRESET, "reset"), ServiceUnavailableError),
    (ReadTimeoutError("too slow"), ServiceUnavailableError),
    (MemoryError(), ServiceUnavailableError),
    (ClientError(401), UnauthenticatedError),
    (ClientError(403), PermissionDeniedError),
    (ClientError(404), TableNotFoundError),
    (ClientError(409), ConcurrentModificationError),
    (ClientError(412, "PreconditionFailed"), ConcurrentModificationError),
    (ClientError(429), ThrottlingError),
    (ClientError(503), ServiceUnavailableError),
    (HttpResponseError(401), UnauthenticatedError),
    (HttpResponseError(500), ServiceUnavailableError),
    (HttpError(403), PermissionDeniedError),
    (HttpError(412), ConcurrentModificationError),
    (NoCredentialsError("Unable to locate credentials"), UnauthenticatedError),
    (OSError("Generic S3 error: Client error with status 403 Forbidden: no body"), PermissionDeniedError),
    (OSError("Generic S3 error: Server error with status 503: <Code>SlowDown</Code>"), ThrottlingError),
    (pa.ArrowInvalid("not an IPC stream"), InvalidInputError),
    (pa.ArrowNotImplementedError("no cast"), InvalidInputError),
    (NotImplementedError("not here"), UnsupportedOperationError),
    (ZeroDivisionError("a bug"), InternalError),
    (ValueError("a bug"), InternalError),
    (pa.ArrowInvalid("External error: LanceError(IO): something new"), InternalError),
]


@pytest.mark.parametrize(("error", "expected"), FOREIGN, ids=lambda value: repr(value)[:60])
def test_what_others_raise(error, expected):
    assert type(translate(error)) is expected


def test_what_is_missing_only_the_caller_knows():
    error = translate(FileNotFoundError("/data/ns"), about="list", missing=NamespaceNotFoundError)
    assert type(error) is NamespaceNotFoundError
    assert str(error) == "list: FileNotFoundError: /data/ns"


def test_an_error_of_the_spec_passes_unchanged():
    error = TableNotFoundError("no")
    assert translate(error, about="read") is error
    with pytest.raises(TableNotFoundError) as caught, translated("read"):
        raise error
    assert caught.value is error
    assert caught.value.__cause__ is None


def test_a_full_disk_comes_with_what_to_do():
    error = translate(OSError(errno.ENOSPC, "No space left on device"), about="insert into table 'a.b'")
    assert str(error) == (
        "insert into table 'a.b': the storage is full: [Errno 28] No space left on device "
        "(free some space where the tables are stored, or raise the quota)"
    )


def test_an_unknown_failure_is_named():
    assert str(translate(KeyError("x"), about="read")) == "read: KeyError: x"
    assert str(translate(RuntimeError())) == "RuntimeError"


def test_a_long_message_is_cut():
    assert len(str(translate(ValueError("x" * 10_000)))) < 500


def test_each_field_that_a_model_refuses_is_named():
    with pytest.raises(InvalidInputError) as caught, translated("list_tables"):
        ListTablesRequest.model_validate({"limit": "many", "id": [1]})
    assert str(caught.value) == (
        "list_tables: the request is not valid: id.0: Input should be a valid string; "
        "limit: Input should be a valid integer"
    )


def test_an_interrupt_is_not_an_error():
    with pytest.raises(KeyboardInterrupt), translated("read"):
        raise KeyboardInterrupt


def test_a_panic_of_the_rust_side_is_an_error():
    panic = type("PanicException", (BaseException,), {})
    with (
        pytest.raises(InternalError, match="read: a bug in Lance stopped the operation") as caught,
        translated("read"),
    ):
        raise panic("index out of bounds")
    assert "index" not in str(caught.value)


def test_a_panic_of_another_thread_is_told_as_one():
    told = "LanceError(IO): called `Result::unwrap()` on an `Err` value: JoinError::Panic(Id(7), ...)"
    assert "a bug in Lance" in str(translate(OSError(told)))
    assert "a bug in Lance" not in str(translate(OSError("No field named 'task 1 panicked'")))


@pytest.mark.parametrize(
    "act",
    [
        lambda table: table.count("a::decimal(100, 2) > 1"),
        lambda table: table.to_arrow(filter="a::decimal(100, 2) > 1"),
        lambda table: table.to_arrow(filter="a = ?"),
        lambda table: table.to_arrow(filter="array_length(array_repeat(a, 9000000000000000000)) > 0"),
    ],
)
def test_a_panic_in_any_thread_of_lance_is_told_as_one(act: Callable[[Table], object]):
    with connect("memory", {}) as namespace:
        namespace.create_table("t", pa.table({"a": [1]}))
        with pytest.raises(InternalError, match="'t': a bug in Lance stopped the operation"):
            act(namespace.table("t"))


@pytest.mark.parametrize("predicate", ["a = ?", "a = $1", ":name"])
def test_what_lance_left_out_is_not_supported(predicate: str):
    """Lance panics there with two words."""
    with connect("memory", {}) as namespace:
        namespace.create_table("t", pa.table({"a": [1]}))
        with pytest.raises(UnsupportedOperationError, match=r"delete rows of table 't': .* placeholder"):
            namespace.delete_from_table("t", predicate=predicate)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://user:pass@host/a/b?X-Amz-Signature=abc failed", "GET https://host/a/b?*** failed"),
        (
            "no object 'https://acc.blob.core.windows.net/c/t?sv=1&sig=x%3D'",
            "no object 'https://acc.blob.core.windows.net/c/t?***'",
        ),
        ("abfss://container@account.dfs.core.windows.net/t", "abfss://container@account.dfs.core.windows.net/t"),
        ("az://name:secret@account/t", "az://account/t"),
        ("aws_secret_access_key=wJalr/XU, region=x", "aws_secret_access_key=***, region=x"),
        ('{"token": "abc"}', '{"token": ***'),
        ("AccountKey=abc==;EndpointSuffix=x", "AccountKey=***;EndpointSuffix=x"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("s3://bucket/a$b.lance was not found", "s3://bucket/a$b.lance was not found"),
    ],
)
def test_secrets_stay_out_of_messages(text, shown):
    assert redact(text) == shown
    error = translate(OSError(text))
    assert isinstance(error, LanceNamespaceError)
    assert shown in str(error)


def test_the_end_of_a_cancelled_job_is_no_failure():
    with pytest.raises(JobCanceled), translated("refresh a view"):
        raise JobCanceled
