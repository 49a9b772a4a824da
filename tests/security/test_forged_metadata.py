"""Callers that set properties which make a view of a table, to hold or to read tables that are not theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import lancespace_views as views
from lancespace import connect
from lancespace.authoring import JobState, Principal, acting
from lancespace_server.principals import SYSTEM
from lancespace_testing.samples import sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, client, served
from tests.security.test_rights_of_work import jobs

_ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
_POLICY = """
[[grant]]
principals = ["key:owner"]
actions = ["read", "write", "admin"]
on = ["**"]

[[grant]]
principals = ["key:mallory"]
actions = ["read", "write", "admin"]
on = ["own", "own$**"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("forged")
    (folder / "policy.toml").write_text(_POLICY)
    keys = {"LANCESPACE_SERVER_API_KEYS": "owner:o,mallory:m"}
    options = [f"root={folder / 'catalog'}", "--policy", str(folder / "policy.toml")]
    with served(folder, "dir", *options, environment=keys) as running:
        with _as(running, "o") as owner:
            for name in ("own", "theirs"):
                assert owner.post(f"/v1/namespace/{name}/create", json={}).status_code == 200
        yield running


def _as(server: Running, key: str) -> httpx.Client:
    return client(server, headers={"x-api-key": key})


def _mark(source: str) -> dict[str, str]:
    return {"lancespace.view": json.dumps({"kind": "query", "sources": [source], "auto_refresh": True})}


def _create(http: httpx.Client, mark: dict[str, str], mode: str = "create") -> httpx.Response:
    parameters = {"mode": mode, "properties": json.dumps(mark)}
    return http.post("/v1/table/own$forged/create", params=parameters, content=stream(sample()), headers=_ARROW)


def _overwrite(http: httpx.Client, mark: dict[str, str]) -> httpx.Response:
    http.post("/v1/table/own$forged/create", content=stream(sample()), headers=_ARROW)
    return _create(http, mark, "overwrite")


def _declare(http: httpx.Client, mark: dict[str, str]) -> httpx.Response:
    return http.post("/v1/table/own$forged/declare", json={"properties": mark})


def _register(http: httpx.Client, mark: dict[str, str]) -> httpx.Response:
    return http.post("/v1/table/own$forged/register", json={"location": "forged", "properties": mark})


def _batch(http: httpx.Client, mark: dict[str, str]) -> httpx.Response:
    part = {"id": ["own", "forged"], "properties": mark}
    return http.post("/v1/table/batch-commit", json={"operations": [{"declare_table": part}]})


def _namespace(http: httpx.Client, mark: dict[str, str]) -> httpx.Response:
    return http.post("/v1/namespace/own$forged/create", json={"properties": mark})


@pytest.mark.parametrize("attack", [_create, _overwrite, _declare, _register, _batch, _namespace])
def test_nobody_holds_the_tables_of_others(server: Running, attack: Any):
    with _as(server, "o") as owner, _as(server, "m") as mallory:
        made = owner.post("/v1/table/theirs$orders/create", content=stream(sample()), headers=_ARROW)
        assert made.status_code == 200, made.text
        answers = [attack(mallory, _mark(f"theirs${name}")) for name in ("orders", "absent")]
        renamed = owner.post("/v1/table/theirs$orders/rename", json={"new_table_name": "moved"})
        dropped = owner.post("/v1/table/theirs$moved/drop")

    # The answers are the same for a table that is there and for one that is not.
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(400, 13)] * 2
    assert "the property 'lancespace.view' is reserved" in answers[0].json()["error"]
    assert answers[0].json()["error"] == answers[1].json()["error"]
    assert (renamed.status_code, dropped.status_code) == (200, 200), renamed.text + dropped.text


def test_a_batch_with_one_forged_part_does_nothing(server: Running):
    parts = [{"id": ["own", "good"]}, {"id": ["own", "bad"], "properties": _mark("theirs$orders")}]
    with _as(server, "m") as mallory:
        body = {"operations": [{"declare_table": part} for part in parts]}
        assert mallory.post("/v1/table/batch-commit", json=body).status_code == 400
        assert "good" not in mallory.get("/v1/namespace/own/table/list").json()["tables"]


@pytest.mark.parametrize("key", ["lancespace.view.definition", "virtual_column.function", "computed_column.expression"])
def test_nobody_writes_the_metadata_of_columns_and_schemas(server: Running, key: str):
    with _as(server, "m") as mallory:
        mallory.post("/v1/table/own$plain/create", content=stream(sample()), headers=_ARROW)
        of_schema = mallory.post("/v1/table/own$plain/schema_metadata/update", json={key: "{}"})
        updates = [{"path": "name", "metadata": {key: "{}"}}]
        of_field = mallory.post("/v1/table/own$plain/update_field_metadata", json={"updates": updates})
        version = mallory.post("/v1/table/own$plain/describe", json={"load_detailed_metadata": True}).json()["version"]

    assert (of_schema.status_code, of_field.status_code) == (400, 400)
    assert repr(key) in of_schema.json()["error"]
    assert repr(key) in of_field.json()["error"]
    assert version == 1


@pytest.mark.parametrize(
    "creator", [None, Principal("key:mallory"), Principal(*SYSTEM)], ids=["nobody", "mallory", "server"]
)
def test_an_automatic_refresh_reads_nothing_that_its_creator_may_not(tmp_path: Path, creator: Principal | None):
    """A view that was put into the catalog past the server, over a table of somebody else, gets no rows of it."""
    view = views.query_view("SELECT id FROM theirs.orders", sample().select(["id"]).schema, auto_refresh=True)
    root = tmp_path / "catalog"
    with connect("dir", {"root": str(root)}) as namespace, acting(creator):
        for name in ("own", "theirs"):
            namespace.create_namespace(name)
        namespace.create_table("theirs.orders", sample())
        namespace.create_materialized_view("own.forged", **view)
    (tmp_path / "policy.toml").write_text(_POLICY)
    keys = {"LANCESPACE_SERVER_API_KEYS": "owner:o,mallory:m"}
    options = [f"root={root}", "views.cooldown=0", "--policy", str(tmp_path / "policy.toml")]
    with served(tmp_path, "dir", *options, environment=keys) as server, _as(server, "o") as owner:
        inserted = owner.post("/v1/table/theirs$orders/insert", content=stream(sample()), headers=_ARROW)
        assert inserted.status_code == 200, inserted.text
        failed = until(lambda: jobs(root), lambda found: [each.state for each in found] == [JobState.FAILED])
        with _as(server, "m") as mallory:
            asked = mallory.post("/v1/materialized_view/own$forged/refresh", json={}).json()["job_id"]
            path = f"/v1/transaction/{asked}/describe"
            until(lambda: mallory.post(path, json={}).json()["status"], lambda status: status == "FAILED")
            rows = mallory.post("/v1/table/own$forged/count_rows", json={}).json()

    assert "PermissionDeniedError" in failed[0].message
    assert rows == 0


def test_nobody_makes_the_automatic_refresh_read_the_tables_of_others(server: Running):
    """Neither by a view of their own, nor by what they send to one."""
    spy = views.query_view("SELECT * FROM theirs.orders", sample().schema, auto_refresh=True)
    mine = views.query_view("SELECT * FROM own.rows", sample().schema, auto_refresh=True)
    with _as(server, "m") as mallory:
        mallory.post("/v1/table/own$rows/create", content=stream(sample()), headers=_ARROW)
        refused = mallory.post("/v1/materialized_view/own$spy/create", json=spy)
        made = mallory.post("/v1/materialized_view/own$mine/create", json=mine)
        definition = {"lancespace.view.definition": json.dumps(spy)}
        parameters = {"mode": "overwrite", "properties": json.dumps(_mark("theirs$orders"))}
        forged = stream(sample().replace_schema_metadata(definition))
        attacks = [
            mallory.post("/v1/table/own$mine/create", params=parameters, content=forged, headers=_ARROW),
            mallory.post("/v1/table/own$mine/create?mode=overwrite", content=forged, headers=_ARROW),
            mallory.post("/v1/table/own$mine/schema_metadata/update", json=definition),
        ]
        told = mallory.post("/v1/table/own$mine/describe", json={"load_detailed_metadata": True}).json()

    assert (refused.status_code, made.status_code) == (403, 201), refused.text + made.text
    assert [attack.status_code for attack in attacks] == [400, 406, 400], [attack.text for attack in attacks]
    assert json.loads(told["properties"]["lancespace.view"])["sources"] == ["own$rows"]
    assert json.loads(told["properties"]["lancespace.view"])["creator"]["name"] == "key:mallory"


def test_a_damaged_view_is_an_error_for_itself_only(tmp_path: Path):
    """Another tool writes nonsense into the catalog; all other tables go on, and the damaged one can be dropped."""
    from lance_namespace import DeclareTableRequest

    import lancespace

    marks = [
        "{",
        "[]",
        '"x"',
        '{"sources": [5], "kind": 1, "auto_refresh": 1}',
        '{"sources": {"a": 1}, "kind": "query"}',
    ]
    with lancespace.connect("dir", {"root": str(tmp_path / "catalog")}) as namespace:
        namespace.create_namespace("sales")
        namespace.create_table("sales.orders", [{"id": 1}])
        backend: Any = namespace.backend
        good = {"lancespace.view": '{"kind":"query","sources":["sales$orders"],"auto_refresh":true}'}
        for number in range(len(marks)):
            backend.declare_table(DeclareTableRequest(id=["sales", f"bad{number}"], properties=good))
        _damage(backend.catalog.manifest, marks)
    with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}") as running, client(running) as http:
        listed = http.get("/v1/namespace/sales/table/list").json()["tables"]
        assert listed == [*(f"bad{number}" for number in range(len(marks))), "orders"]
        rows = stream(sample().select(["id"]))
        assert http.post("/v1/table/sales$orders/insert", content=rows, headers=_ARROW).status_code == 200
        assert http.post("/v1/table/sales$other/create", content=stream(sample()), headers=_ARROW).status_code == 200
        assert http.post("/v1/table/sales$other/rename", json={"new_table_name": "renamed"}).status_code == 200
        assert http.post("/v1/table/sales$renamed/drop").status_code == 200
        for number in range(len(marks)):
            refused = http.post(f"/v1/materialized_view/sales$bad{number}/refresh", json={})
            assert (refused.status_code, refused.json()["code"]) == (409, 19), refused.text
            assert "is not what lancespace writes" in refused.json()["error"]
            assert http.post(f"/v1/table/sales$bad{number}/drop").status_code == 200
        assert http.post("/v1/table/sales$orders/drop").status_code == 200


def _damage(manifest: Any, marks: list[str]) -> None:
    from dataclasses import replace

    def change(draft: Any) -> None:
        for number, mark in enumerate(marks):
            old = draft.get(f"sales$bad{number}")
            draft.put(replace(old, metadata=json.dumps({"lancespace.view": mark})))

    manifest.mutate(change)
