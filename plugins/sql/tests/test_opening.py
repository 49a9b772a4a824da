"""Which tables are opened, by whom they are heard of, and with what."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from lance_namespace import (
    DescribeTableRequest,
    DescribeTableResponse,
    InvalidTableStateError,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    TableNotFoundError,
)

from lancespace import Namespace, connect
from lancespace.authoring import Backend, Property, hookimpl, registry
from lancespace_sql import sql
from plugins.sql.tests.support import fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace.authoring import Connection


def test_only_the_tables_that_a_statement_names_are_looked_up_each_once(tmp_path: Path):
    audited = tmp_path / "audit.jsonl"
    root = {"root": str(tmp_path / "lake")}
    fill(connect("dir", root))
    namespace = connect("dir", {**root, "wrappers": "audit", "audit.path": str(audited)})

    sql(namespace, "SELECT a.id FROM sales.orders a JOIN sales.orders b ON a.id = b.person, crm.people").read_all()
    namespace.close()

    heard = [json.loads(line) for line in audited.read_text().splitlines()]
    assert {entry["operation"] for entry in heard} == {"describe_table"}
    assert sorted(entry["id"] for entry in heard) == [["crm", "people"], ["sales", "orders"]]


def test_a_broken_table_matters_only_to_those_who_name_it(namespace: Namespace):
    location = namespace.describe_table("crm.people").location
    shutil.rmtree(Path(str(location)) / "data")

    assert sql(namespace, "SELECT count(*) AS n FROM sales.orders").read_all().to_pylist() == [{"n": 3}]
    with pytest.raises(InvalidTableStateError, match="/data/"):
        sql(namespace, "SELECT name FROM crm.people").read_all()


def test_a_table_without_data_says_so(namespace: Namespace):
    namespace.declare_table("sales.planned")

    with pytest.raises(InvalidTableStateError, match=r"'sales.planned' was declared but has no data yet"):
        sql(namespace, "SELECT * FROM sales.planned")


def test_a_read_only_connection_is_enough(tmp_path: Path):
    root = {"root": str(tmp_path)}
    fill(connect("dir", root))

    assert connect("dir", {**root, "wrappers": "readonly"}).sql("SELECT id FROM events").read_all().num_rows == 1


class Remote(Backend):
    """A catalog that opens no tables itself, as a REST client is: it passes on what another one answers."""

    properties = (Property("root", "Of the other catalog", identifies=True),)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._other = connect("dir", {"root": self.settings["root"]})

    @hookimpl
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        return self._other.describe_table(request)

    @hookimpl
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        return self._other.list_tables(request)

    @hookimpl
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        return self._other.list_namespaces(request)


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespace]:
    """The catalog of the tests by way of a backend that is installed as any other."""
    info = tmp_path / "site-packages" / "remote-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: remote\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lancespace.backends]\nremote = remote_catalog:Remote\n")
    module = ModuleType("remote_catalog")
    module.Remote = Remote  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "remote_catalog", module)
    monkeypatch.syspath_prepend(str(info.parent))
    registry.refresh()
    root = str(tmp_path / "lake")
    local = connect("dir", {"root": root})
    fill(local)
    local.create_table_tag("events", tag="first", version=1)
    local.create_table_branch("events", name="trial")
    local.insert_into_table("events", [{"id": 8}])
    yield connect("remote", {"root": root})
    registry.refresh()


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("events", 2),
        ("at_version('events', 1)", 1),
        ("at_tag('events', 'first')", 1),
        ("at_branch('events', 'trial')", 1),
    ],
)
def test_a_backend_that_only_describes_tables_will_do(remote: Namespace, table: str, count: int):
    assert sql(remote, f"SELECT count(*) AS n FROM {table}").read_all().to_pylist() == [{"n": count}]


def test_what_such_a_backend_lacks_is_told_alike(remote: Namespace):
    with pytest.raises(TableNotFoundError, match='Did you mean "events"'):
        sql(remote, "SELECT * FROM event")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The properties of an empty catalog in an S3 of our own, and no other credentials than theirs."""
    from moto.server import ThreadedMotoServer
    from s3fs import S3FileSystem

    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    S3FileSystem(key="testing", secret="hush", endpoint_url=endpoint).mkdir("lake-of-sql")
    options = {"endpoint": endpoint, "access_key_id": "testing", "secret_access_key": "hush", "region": "us-east-1"}
    yield {"root": "s3://lake-of-sql/catalog", **{f"storage.{key}": value for key, value in options.items()}}
    server.stop()


@pytest.mark.slow
def test_the_options_of_the_store_reach_lance(bucket: dict[str, str]):
    namespace = connect("dir", bucket)
    fill(namespace)

    answer = sql(namespace, "SELECT p.name FROM sales.orders o JOIN crm.people p ON o.person = p.id WHERE o.id = 2")

    assert answer.read_all().to_pylist() == [{"name": "Grace"}]
