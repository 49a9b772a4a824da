"""Virtual columns: functions that travel, are kept, and are run only where that is allowed."""

from __future__ import annotations

import base64
import hashlib
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance_namespace import InvalidInputError, PermissionDeniedError, TableColumnNotFoundError

from lancespace import connect
from lancespace_tables import LARGEST, virtual_column
from lancespace_tables._virtual_columns import FUNCTION_KEY
from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace import Namespace

ROWS = 20


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """A catalog that runs functions, with a table of 20 rows."""
    with connect("memory", {"udf.enabled": "true"}) as namespace:
        namespace.create_table("t", [{"id": n, "at": {"x": n, "y": "y"}} for n in range(ROWS)])
        yield namespace


def add(namespace: Namespace, function: Any, **fields: Any) -> dict[str, Any]:
    """Add a virtual column ``v`` and return the entry that was sent."""
    entry = virtual_column(function, **{"inputs": ["id"], "outputs": {"v": pa.int64()}, **fields})
    namespace.alter_table_add_columns("t", new_columns=[entry])
    return entry


def finished(namespace: Namespace, job: str) -> Any:
    return until(lambda: namespace.describe_transaction(job), lambda found: found.status not in {"QUEUED", "RUNNING"})


def fill(namespace: Namespace, column: str = "v", **fields: Any) -> Any:
    return finished(namespace, namespace.alter_table_backfill_columns("t", column=column, **fields).job_id)


def values(namespace: Namespace, *columns: str) -> list[Any]:
    rows = namespace.table("t").to_arrow(columns=list(columns or ["v"])).to_pylist()
    return [row["v"] if not columns else tuple(row.values()) for row in rows]


def negated(batch: pa.RecordBatch) -> Any:
    return pc.negate(batch.column("id"))


def both(batch: pa.RecordBatch) -> Any:
    """Answers a struct, some of whose rows are null."""
    rows = [None if n == 3 else {"low": n, "text": str(n)} for n in batch.column("id").to_pylist()]
    return pa.array(rows, pa.struct({"low": pa.int64(), "text": pa.string()}))


class Explodes:
    """Unpickling it is a crime that leaves a trace."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemError('it was unpickled')",))


class TestFill:
    def test_all_rows(self, namespace: Namespace):
        add(namespace, negated)
        assert values(namespace) == [None] * ROWS

        assert fill(namespace).status == "SUCCEEDED"

        assert values(namespace) == [-n for n in range(ROWS)]

    def test_a_lambda_travels_with_its_code(self, namespace: Namespace):
        step = 7
        add(namespace, lambda batch: pc.add(batch.column(0), step))

        fill(namespace)

        assert values(namespace) == [n + 7 for n in range(ROWS)]

    def test_where(self, namespace: Namespace):
        add(namespace, negated)

        assert fill(namespace, where="id >= 18").properties["rows"] == "2"

        assert values(namespace) == [None] * 18 + [-18, -19]

    def test_several_outputs_of_one_function(self, namespace: Namespace):
        add(namespace, both, outputs={"low": pa.int32(), "text": pa.string()})

        assert fill(namespace, "text").status == "SUCCEEDED"

        assert values(namespace, "low", "text") == [(None, None) if n == 3 else (n, str(n)) for n in range(ROWS)]

    def test_one_output_of_a_struct_type(self, namespace: Namespace):
        kind = pa.struct({"low": pa.int64(), "text": pa.string()})
        add(namespace, both, outputs={"v": kind})

        assert fill(namespace).status == "SUCCEEDED"

        assert values(namespace)[2:4] == [{"low": 2, "text": "2"}, None]

    def test_nested_inputs_in_the_order_asked(self, namespace: Namespace):
        add(namespace, lambda batch: pc.binary_length(batch.column("at.y")), inputs=["at.y", "id"])

        assert fill(namespace).status == "SUCCEEDED"

        assert values(namespace) == [1] * ROWS

    def test_the_function_is_given_so_many_rows_at_once(self, namespace: Namespace):
        add(namespace, lambda batch: pa.array([batch.num_rows] * batch.num_rows))

        fill(namespace, task_size=6)

        assert max(values(namespace)) == 6

    def test_an_output_that_was_renamed(self, namespace: Namespace):
        add(namespace, both, outputs={"low": pa.int32(), "text": pa.string()})
        namespace.alter_table_alter_columns("t", alterations=[{"path": "low", "rename": "least"}])

        assert fill(namespace, "text").status == "SUCCEEDED"

        assert values(namespace, "least", "text")[:2] == [(0, "0"), (1, "1")]

    def test_at_once_if_asked(self, namespace: Namespace):
        entry = virtual_column(negated, inputs=["id"], outputs={"v": pa.int64()}, auto_backfill=True)

        answer = namespace.alter_table_add_columns("t", new_columns=[entry])

        assert answer.context
        assert finished(namespace, answer.context["backfill_job_id.v"]).status == "SUCCEEDED"
        assert values(namespace) == [-n for n in range(ROWS)]

    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda _: 1 / 0, "ZeroDivisionError"),
            (lambda _: [1, 2], "must answer a pyarrow array, not list"),
            (lambda _: pa.array([1]), "1 values for"),
            (lambda batch: pa.array(["x"] * batch.num_rows), "ArrowInvalid"),
            (both, "struct array with the field 'v'"),
        ],
    )
    def test_a_failure_names_the_rows(self, namespace: Namespace, function: Any, words: str):
        add(namespace, function)

        job = fill(namespace, where="id >= 4", task_size=8)

        assert job.status == "FAILED"
        assert words in job.properties["message"]
        assert "on rows 4 to " in job.properties["message"]
        assert "of fragment 0" in job.properties["message"]
        assert values(namespace) == [None] * ROWS


class TestPermission:
    def test_functions_are_not_run_unless_it_is_allowed(self):
        with connect("memory") as namespace:
            namespace.create_table("t", [{"id": 1}])
            entry = add(namespace, negated)

            with pytest.raises(PermissionDeniedError, match=r"udf\.enabled=true"):
                namespace.alter_table_backfill_columns("t", column="v")

            entry["name"] = entry["virtual_column"]["outputs"][0]["column"] = "w"
            entry["virtual_column"]["auto_backfill"] = True
            with pytest.raises(PermissionDeniedError, match=r"udf\.enabled=true"):
                namespace.alter_table_add_columns("t", new_columns=[entry])
            assert "w" not in namespace.table("t").dataset().schema.names

    def test_declaring_unpickles_nothing(self, namespace: Namespace):
        entry = virtual_column(negated, inputs=["id"], outputs={"v": pa.int64()})
        bomb = base64.b64encode(pickle.dumps(Explodes())).decode()
        entry["virtual_column"] |= {"udf": bomb, "manifest": None, "manifest_checksum": None}

        namespace.alter_table_add_columns("t", new_columns=[entry])

        job = fill(namespace)
        assert job.status == "FAILED"
        assert "SystemError: it was unpickled" in job.properties["message"]


class TestChecks:
    @pytest.mark.parametrize(
        ("changes", "expected", "words"),
        [
            ({"manifest_checksum": "0" * 64}, InvalidInputError, "the manifest of the function 'negated'"),
            ({"manifest": None}, InvalidInputError, "'manifest_checksum' without 'manifest'"),
            ({"udf": base64.b64encode(b"other").decode()}, InvalidInputError, "the pickle of the function"),
            ({"udf": "no base64!"}, InvalidInputError, "is not base64"),
            ({"input_columns": []}, InvalidInputError, "'input_columns'"),
            ({"input_columns": ["nope"]}, TableColumnNotFoundError, "nope"),
            ({"outputs": []}, InvalidInputError, "'outputs'"),
            ({"field_metadata": {FUNCTION_KEY: "mine"}}, InvalidInputError, "is reserved"),
        ],
    )
    def test_what_could_never_run_is_refused(self, namespace: Namespace, changes: Any, expected: Any, words: str):
        entry = virtual_column(negated, inputs=["id"], outputs={"v": pa.int64()})
        entry["virtual_column"] |= changes

        with pytest.raises(expected, match=words):
            namespace.alter_table_add_columns("t", new_columns=[entry])

        assert "v" not in namespace.table("t").dataset().schema.names

    def test_an_output_must_be_nullable(self, namespace: Namespace):
        entry = virtual_column(negated, inputs=["id"], outputs={"v": pa.int64()})
        entry["virtual_column"]["outputs"][0]["nullable"] = False

        with pytest.raises(InvalidInputError, match="'v' has no values before its backfill"):
            namespace.alter_table_add_columns("t", new_columns=[entry])

    def test_a_function_must_be_small(self, namespace: Namespace):
        ballast = bytes(LARGEST)

        with pytest.raises(InvalidInputError, match=f"{LARGEST} are allowed"):
            add(namespace, lambda _: ballast)

    def test_a_pickle_of_somebody_elses(self, namespace: Namespace):
        """A plain pickle, without a manifest, as another client sends it."""
        entry = virtual_column(len, inputs=["id"], outputs={"v": pa.int64()})
        plain = base64.b64encode(pickle.dumps(pc.negate)).decode()
        manifest = "image: 3"
        checksum = hashlib.sha256(manifest.encode()).hexdigest().upper()
        entry["virtual_column"] |= {"udf": plain, "manifest": manifest, "manifest_checksum": checksum}
        namespace.alter_table_add_columns("t", new_columns=[entry])

        job = fill(namespace)

        assert "failed on rows 0 to" in job.properties["message"], "it was loaded, and takes no record batches"


class TestReplace:
    def test_a_new_function_for_all_its_columns(self, namespace: Namespace):
        add(namespace, both, outputs={"low": pa.int64(), "text": pa.string()}, auto_backfill=False)
        new = virtual_column(
            lambda batch: pa.array([{"low": -n, "text": "new"} for n in batch.column("id").to_pylist()]),
            inputs=["id"],
            outputs={"low": pa.int64()},
        )["virtual_column"]
        changes = {key: new[key] for key in ("udf", "udf_name", "manifest", "manifest_checksum")}

        answer = namespace.alter_table_alter_columns(
            "t", alterations=[{"path": "text", "virtual_column": {**changes, "auto_backfill": True}}]
        )

        assert answer.context
        assert finished(namespace, answer.context["backfill_job_id.text"]).status == "SUCCEEDED"
        assert values(namespace, "low", "text") == [(-n, "new") for n in range(ROWS)]

    @pytest.mark.parametrize(
        ("alterations", "words"),
        [
            ([{"path": "id", "virtual_column": {"udf_version": "2"}}], "'id' is not a virtual column"),
            ([{"path": "v", "rename": "w", "virtual_column": {"udf_version": "2"}}], "a request of its own"),
            ([{"path": "v", "virtual_column": {}}, {"path": "id", "nullable": True}], "two requests"),
            ([{"path": "v", "virtual_column": {"manifest_checksum": "0" * 64}}], "the manifest of the function"),
        ],
    )
    def test_refused(self, namespace: Namespace, alterations: Any, words: str):
        add(namespace, negated)

        with pytest.raises(InvalidInputError, match=words):
            namespace.alter_table_alter_columns("t", alterations=alterations)
