"""Any namespace can be served: one in memory, a third party's, another REST server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance_namespace import (
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

import lancespace_views as views
from lancespace import Namespace, connect
from lancespace.authoring import OPERATIONS
from lancespace_server import ServerSettings, create_app
from lancespace_tables import virtual_column
from lancespace_testing.waiting import until
from plugins.rest.tests.support import Seen, Server, reply
from plugins.server.tests.hosting import Running, catalog_url, client, served

ROWS = pa.table({"id": list(range(50_000))})


@pytest.fixture(scope="module", params=["memory", "sqlite", "rest"])
def namespace(
    request: pytest.FixtureRequest, host: Running, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Namespace]:
    """Our client on a server on that backend; on ``rest``, another server is behind it."""
    tmp_path = tmp_path_factory.mktemp(request.param)
    properties = {
        "memory": [],
        "sqlite": [f"database={tmp_path / 'catalog.sqlite'}", f"root={tmp_path / 'tables'}"],
        "rest": [f"uri={catalog_url(host, tmp_path)}"],
    }
    with (
        served(tmp_path, request.param, *properties[request.param]) as server,
        connect("rest", {"uri": server.url}) as opened,
    ):
        yield opened


def test_data_goes_in_and_out(namespace: Namespace):
    namespace.create_namespace("sales", properties={"owner": "ada"})
    namespace.create_table("sales.orders", ROWS)
    namespace.insert_into_table("sales.orders", ROWS.to_reader(max_chunksize=5000))
    table = namespace.table("sales.orders")

    assert namespace.describe_namespace("sales").properties == {"owner": "ada"}
    assert (list(namespace.tables("sales")), table.count("id < 10")) == (["orders"], 20)
    assert pc.sum(table.to_arrow()["id"]).as_py() == 2 * pc.sum(ROWS["id"]).as_py()


def test_errors_are_those_of_the_backend(namespace: Namespace):
    namespace.create_table("taken", [{"id": 1}])

    with pytest.raises(TableAlreadyExistsError):
        namespace.create_table("taken", [{"id": 2}])
    with pytest.raises(TableNotFoundError):
        namespace.describe_table("nobody")
    with pytest.raises(NamespaceNotFoundError):
        namespace.list_tables("nowhere")
    assert namespace.table("taken").to_arrow().to_pylist() == [{"id": 1}]


def test_functions_are_not_run_unless_enabled(namespace: Namespace):
    _add_function(namespace)

    with pytest.raises(PermissionDeniedError, match=r"udf\.enabled"):
        namespace.alter_table_backfill_columns("computed", column="v")


def test_functions_are_run_where_the_operator_enabled_them(tmp_path: Path):
    with (
        served(tmp_path, "memory", "udf.enabled=true") as server,
        connect("rest", {"uri": server.url}) as namespace,
    ):
        _add_function(namespace)
        job = namespace.alter_table_backfill_columns("computed", column="v").job_id
        until(lambda: namespace.describe_transaction(id=[job]).status, lambda status: status.lower() == "succeeded")

        assert namespace.table("computed").to_arrow()["v"].to_pylist() == [1]


def _add_function(namespace: Namespace) -> None:
    namespace.create_table("computed", [{"id": 1}])
    column = virtual_column(lambda batch: batch.column("id"), inputs=["id"], outputs={"v": pa.int64()})
    namespace.alter_table_add_columns("computed", new_columns=[column])


def test_a_server_is_not_ready_while_what_it_serves_does_not_answer():
    async def ask(path: str) -> int:
        unreachable = connect("rest", {"uri": "http://127.0.0.1:9", "retry.attempts": "1"})
        app = create_app(unreachable, ServerSettings(access_log=False))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            return (await http.get(path)).status_code

    assert (asyncio.run(ask("/readyz")), asyncio.run(ask("/healthz"))) == (503, 200)


@pytest.fixture(scope="module")
def recorder() -> Iterator[Server]:
    """A server that writes down what a gateway sends to it."""

    def answer(seen: Seen) -> object:
        return reply({"namespaces": []} if seen.method == "GET" else {}, x_cost="5", set_cookie="a=b")

    with Server(answer) as opened:  # type: ignore[arg-type]
        yield opened


@pytest.fixture(scope="module")
def gateway(recorder: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("gateway"), "rest", f"uri={recorder.uri}") as server, client(server) as http:
        yield http


@pytest.mark.parametrize("operation", ["describe_namespace", "list_namespaces", "describe_table"])
def test_identity_and_context_go_through_both_ways(recorder: Server, gateway: httpx.Client, operation: str):
    row = OPERATIONS[operation]
    meant = {"x-api-key": "k", "authorization": "Bearer t", "x-team": "blue"}
    private = {"cookie": "c=d", "x-forwarded-for": "1.2.3.4"}
    answer = gateway.request(row.method, row.route.format(id="a"), headers={**meant, **private})
    passed = recorder.seen[-1].headers

    assert answer.status_code == 200, answer.text
    assert meant.items() <= passed.items()
    assert not private.keys() & passed.keys()
    assert (answer.headers["x-cost"], "set-cookie" in answer.headers) == ("5", False)


@pytest.fixture(scope="module")
def guarded_gateway(recorder: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A gateway that knows its callers by API key, and is known to the server behind it by a key of its own."""
    properties = [f"uri={recorder.uri}", "header.x-api-key=the gateway's own"]
    environment = {"LANCESPACE_SERVER_API_KEYS": "ada:for the gateway"}
    with (
        served(tmp_path_factory.mktemp("guarded"), "rest", *properties, environment=environment) as server,
        client(server, headers={"x-api-key": "for the gateway"}) as http,
    ):
        yield http


def test_a_credential_for_the_gateway_stays_there(recorder: Server, guarded_gateway: httpx.Client):
    answer = guarded_gateway.post("/v1/table/a/describe", json={}, headers={"authorization": "Bearer for behind"})
    passed = recorder.seen[-1].headers

    assert answer.status_code == 200, answer.text
    assert (passed["x-api-key"], passed["authorization"]) == ("the gateway's own", "Bearer for behind")


def test_a_body_has_no_credentials(recorder: Server, guarded_gateway: httpx.Client):
    claimed = {"header.X-API-Key": "forged", "headers.authorization": "forged", "header.x-team": "blue"}
    body = {"identity": {"api_key": "forged"}, "context": claimed}
    answer = guarded_gateway.post("/v1/table/a/describe", json=body)
    passed = recorder.seen[-1]

    assert answer.status_code == 200, answer.text
    assert (passed.headers["x-api-key"], passed.headers["x-team"]) == ("the gateway's own", "blue")
    assert "forged" not in f"{passed.headers} {passed.body!r}"


def test_credentials_of_the_server_behind_need_every_grant(tmp_path: Path):
    """The gateway cannot know what they allow."""
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[grant]]\nprincipals = ["key:reader"]\nactions = ["read"]\non = ["t"]\n'
        '[[grant]]\nprincipals = ["key:owner"]\nactions = ["read", "write", "admin"]\non = ["t"]\n'
    )
    options = ["--policy", str(policy)]
    environment = {"LANCESPACE_SERVER_API_KEYS": "reader:1,owner:2"}
    vending = {"location": "s3://b/t", "storage_options": {"aws_secret_access_key": "temporary"}}
    with (
        Server(lambda _: reply(vending)) as behind,
        served(tmp_path, "rest", f"uri={behind.uri}", *options, environment=environment) as server,
        client(server) as http,
    ):
        told = [http.post("/v1/table/t/describe", json={}, headers={"x-api-key": key}).json() for key in "12"]

    assert ["storage_options" in answer for answer in told] == [False, True]


def test_table_functions_are_not_run_unless_enabled(namespace: Namespace):
    namespace.create_table("input", [{"id": 1}])
    function = views.udtf(lambda rows: rows, "SELECT id FROM input", pa.schema({"id": pa.int64()}))

    namespace.create_materialized_view("output", **function)
    with pytest.raises(PermissionDeniedError, match=r"udf\.enabled"):
        namespace.refresh_materialized_view("output")
    with pytest.raises(PermissionDeniedError, match=r"udf\.enabled"):
        namespace.create_materialized_view("filled", **function, with_no_data=False)
    assert namespace.table("output").count() == 0


def test_decimals_go_in_beside_other_columns(namespace: Namespace):
    """The buffers of an Arrow stream are at multiples of 8 bytes, and Lance wants 16 for a decimal."""
    price = pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(20, 2))
    namespace.create_table("priced", pa.table({"price": price}))
    for number in range(1, 4):
        rows = pa.table({"name": ["x" * number] * 3, "id": range(3), "price": price})
        namespace.create_table("priced", rows, mode="overwrite")
        namespace.insert_into_table("priced", rows)

        assert namespace.table("priced").to_arrow()["price"].to_pylist() == price.to_pylist() * 2
