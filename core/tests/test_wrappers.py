from __future__ import annotations

import getpass
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from lance_namespace import NamespaceNotFoundError, PermissionDeniedError, TableNotFoundError

from lancespace import connect
from lancespace._wrappers.metrics import MetricsRegistry
from lancespace.authoring import (
    BUCKETS,
    METRICS,
    OPERATIONS,
    Around,
    Backend,
    Connection,
    Operation,
    OperationWrapper,
    hookimpl,
    registry,
)
from lancespace_testing.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from core.tests.conftest import Installer

SAMPLE = re.compile(r'lancespace_operation_seconds_(\w+)\{operation="(\w+)",outcome="(\w+)"(?:,le="([^"]+)")?\} (\S+)')


class Everything(Backend):
    """Answers every operation with its name."""


for _name in OPERATIONS:
    setattr(Everything, _name, hookimpl(specname=_name)(lambda self, name=_name: name))  # noqa: ARG005 - a method


def call(connection: Connection, operation: Operation) -> Any:
    arguments = {"request": None, "data": None} if operation.takes_data else {"request": None}
    return getattr(connection.hooks, operation.name)(**arguments)


@pytest.fixture
def everything(install: Installer) -> None:
    install(registry.BACKENDS, "everything", Everything)


# --- readonly --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_readonly_refuses_every_write_and_no_read(operation: Operation):
    connection = Connection("everything", {"wrappers": "readonly"})

    if operation.writes:
        with pytest.raises(PermissionDeniedError, match=f"^{operation.name} is refused: this connection is read-only"):
            call(connection, operation)
    else:
        assert call(connection, operation) == operation.name


def test_readonly_leaves_the_catalog_as_it_is():
    with connect("memory", {"wrappers": "readonly"}) as namespace:
        with pytest.raises(PermissionDeniedError):
            namespace.create_table("t", [{"a": 1}])

        assert list(namespace.tables()) == []


# --- check_access ----------------------------------------------------------------------------------------------------


class NoBackfills(OperationWrapper):
    def around(self, operation: Operation, request: Any) -> Around:  # noqa: ARG002 - for overriding
        return (yield)

    @hookimpl
    def check_access(self, operation: Operation) -> None:
        if operation.name == "alter_table_backfill_columns":
            raise PermissionDeniedError("nobody may fill columns")


def test_a_job_that_check_access_refuses_fails_and_changes_nothing(install: Installer):
    install(registry.WRAPPERS, "nobackfills", NoBackfills)
    with connect("memory", {"wrappers": "nobackfills"}) as namespace:
        namespace.create_table("t", [{"id": 1}])
        namespace.alter_table_add_columns("t", new_columns=[{"name": "twice", "computed": "id * 2"}])

        job = namespace.alter_table_backfill_columns("t", column="twice").job_id
        ended = until(lambda: namespace.describe_transaction(job), lambda found: found.status == "FAILED")

        assert "nobody may fill columns" in (ended.properties or {})["message"]
        assert namespace.table("t").to_arrow(columns=["twice"]).to_pylist() == [{"twice": None}]


# --- audit -----------------------------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_audit_tells_who_did_what_to_which_object_and_how_it_ended(tmp_path: Path):
    log = tmp_path / "audit.jsonl"
    given = {"wrappers": "audit", "audit.path": str(log), "audit.principal": "alice"}
    with connect("memory", given) as namespace:
        namespace.declare_table("orders")
        with pytest.raises(TableNotFoundError):
            namespace.describe_table("missing")

    first, second = lines(log)
    assert first.keys() == {"time", "principal", "operation", "id", "outcome", "milliseconds"}
    assert (first["principal"], first["operation"], first["id"]) == ("alice", "declare_table", ["orders"])
    assert (first["outcome"], second["outcome"]) == ("OK", "TABLE_NOT_FOUND")
    assert first["milliseconds"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", first["time"])


def test_audit_goes_to_standard_error_as_the_user_of_the_system(capsys: pytest.CaptureFixture[str]):
    with connect("memory", {"wrappers": "audit"}) as namespace:
        namespace.list_tables()

    assert json.loads(capsys.readouterr().err)["principal"] == getpass.getuser()


def test_audit_is_appended_to(tmp_path: Path):
    for _ in range(2):
        with connect("memory", {"wrappers": "audit", "audit.path": str(tmp_path / "log")}) as namespace:
            namespace.list_tables()

    assert len(lines(tmp_path / "log")) == 2


def test_audit_never_writes_a_request_whole(tmp_path: Path):
    with connect("memory", {"wrappers": "audit", "audit.path": str(tmp_path / "log")}) as namespace:
        namespace.declare_table("t", properties={"password": "hunter2"}, context={"header.authorization": "hunter2"})

    assert "hunter2" not in (tmp_path / "log").read_text()


def test_audit_lines_of_many_threads_stay_whole(tmp_path: Path):
    given = {"wrappers": "audit", "audit.path": str(tmp_path / "log")}
    with connect("memory", given) as namespace, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: namespace.declare_table(f"t{number}"), range(200)))

    assert sorted(line["id"][0] for line in lines(tmp_path / "log")) == sorted(f"t{number}" for number in range(200))


def test_audit_creates_no_file_before_there_is_something_to_write(tmp_path: Path):
    with connect("memory", {"wrappers": "audit", "audit.path": str(tmp_path / "log")}):
        pass

    assert not (tmp_path / "log").exists()


# --- metrics ---------------------------------------------------------------------------------------------------------


def samples(text: str) -> dict[tuple[str, str, str, str], float]:
    """All numbers of an OpenMetrics text, by (suffix, operation, outcome, le); every line must be understood."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            suffix, operation, outcome, bound, value = match.groups(default="")
            assert (suffix, operation, outcome, bound) not in found
            found[suffix, operation, outcome, bound] = float(value)
    return found


def test_metrics_are_open_metrics_text():
    registry_ = MetricsRegistry()
    for seconds in (0.00005, 0.0001, 0.2, 100.0):
        registry_.observe("list_tables", "OK", seconds)
    registry_.observe("list_tables", "THROTTLING", 1.0)
    text = registry_.render()

    assert text.splitlines()[:3] == [
        "# TYPE lancespace_operation_seconds histogram",
        "# UNIT lancespace_operation_seconds seconds",
        "# HELP lancespace_operation_seconds Time per operation and outcome.",
    ]
    assert text.endswith("\n# EOF\n")
    numbers = samples(text)
    ok = [numbers["bucket", "list_tables", "OK", bound] for bound in (*map(str, BUCKETS), "+Inf")]
    assert ok == [2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4]
    assert numbers["count", "list_tables", "OK", ""] == 4
    assert numbers["sum", "list_tables", "OK", ""] == pytest.approx(100.20015)
    assert numbers["count", "list_tables", "THROTTLING", ""] == 1


def test_metrics_of_nothing_are_valid_too():
    assert samples(MetricsRegistry().render()) == {}


def test_metrics_count_every_operation_by_outcome():
    before = samples(METRICS.render())
    with connect("memory", {"wrappers": "metrics"}) as namespace:
        namespace.list_tables()
        namespace.list_tables()
        with pytest.raises(NamespaceNotFoundError):
            namespace.list_tables("missing")

    after = samples(METRICS.render())
    counted = {
        outcome: after[key] - before.get(key, 0)
        for outcome in ("OK", "NAMESPACE_NOT_FOUND")
        for key in [("count", "list_tables", outcome, "")]
    }
    assert counted == {"OK": 2, "NAMESPACE_NOT_FOUND": 1}


def test_metrics_lose_no_call_of_many_threads():
    registry_ = MetricsRegistry()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: registry_.observe("list_tables", "OK", 0.001), range(2000)))

    assert samples(registry_.render())["count", "list_tables", "OK", ""] == 2000


# --- the base class --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_one_generator_is_around_every_operation(operation: Operation, install: Installer):
    seen: list[Operation] = []

    class Seeing(OperationWrapper):
        def around(self, operation: Operation, request: Any) -> Around:  # noqa: ARG002 - the signature of every wrapper
            seen.append(operation)
            answer = yield
            return f"wrapped {answer}"

    install(registry.WRAPPERS, "seeing", Seeing)

    assert call(Connection("everything", {"wrappers": "seeing"}), operation) == f"wrapped {operation.name}"
    assert seen == [operation]


@pytest.mark.usefixtures("everything")
def test_a_foreign_failure_is_observed_as_the_caller_sees_it(install: Installer, tmp_path: Path):
    class Failing(Everything):
        @hookimpl
        def list_tables(self) -> None:
            raise PermissionError(13, "Permission denied")

    install(registry.BACKENDS, "failing", Failing)
    given = {"wrappers": "audit", "audit.path": str(tmp_path / "log")}
    with connect("failing", given) as namespace, pytest.raises(PermissionDeniedError):
        namespace.list_tables()

    assert [line["outcome"] for line in lines(tmp_path / "log")] == ["PERMISSION_DENIED"]
