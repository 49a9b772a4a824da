"""Views and jobs: they have the rights of who made them, as the policy has them when they run."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import lancespace_views as views
from lancespace import connect
from lancespace.authoring import Job, JobState, JobStatus, Work
from lancespace_jobs import JobRecords, StoredFiles, submit
from lancespace_server.reloading import _WATCH
from lancespace_tables import virtual_column
from lancespace_testing.samples import stream
from lancespace_testing.waiting import until
from plugins.server.tests.acting import acting, under
from plugins.server.tests.hosting import Running, client, served

_ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
_FINAL = {"SUCCEEDED", "FAILED"}
_IDS = views.query_view("SELECT id FROM sales.orders", pa.schema([("id", pa.int64())]), auto_refresh=True)


def _policy(folder: Path, **grants: list[str]) -> Path:
    """A policy with all actions on patterns, by principal."""
    path = folder / "policy.toml"
    lines = [
        f'[[grant]]\nprincipals = ["{who}"]\nactions = ["read", "write", "admin"]\non = {json.dumps(on)}\n'
        for who, on in grants.items()
    ]
    path.with_suffix(".new").write_text("".join(lines).replace("key_", "key:"))
    path.with_suffix(".new").replace(path)
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    policy = _policy(tmp_path, key_owner=["**"], key_ann=["**"])
    keys = {"LANCESPACE_SERVER_API_KEYS": "owner:o,ann:a"}
    arguments = [f"root={tmp_path / 'catalog'}", "views.cooldown=0", "--policy", str(policy)]
    with served(tmp_path, "dir", *arguments, environment=keys) as running:
        yield running


def _rows(*ids: int) -> bytes:
    return stream(pa.table({"id": pa.array(ids, pa.int64())}))


def _count(http: httpx.Client, table: str) -> int:
    return int(http.post(f"/v1/table/{table}/count_rows", json={}).text)


def jobs(root: Path) -> list[JobStatus]:
    """All jobs that the catalog has records of, the latest first."""
    with connect("dir", {"root": str(root)}) as namespace:
        storage = namespace.backend.job_storage()
        assert storage is not None
        records = JobRecords(StoredFiles(storage))
        found = [records.load(job_id) for job_id in records.latest(100)]
    return [status for status in found if status is not None]


def test_a_view_is_refreshed_with_the_rights_of_its_creator(server: Running, tmp_path: Path):
    """Also if somebody else changes its source or asks for the refresh, who may read everything."""
    with client(server, headers={"x-api-key": "o"}) as owner, client(server, headers={"x-api-key": "a"}) as ann:
        for name in ("sales", "anns"):
            assert owner.post(f"/v1/namespace/{name}/create", json={}).status_code == 200
        owner.post("/v1/table/sales$orders/create", content=_rows(1), headers=_ARROW)
        made = ann.post("/v1/materialized_view/anns$ids/create", json=_IDS)
        assert made.status_code == 201, made.text
        properties = ann.post("/v1/table/anns$ids/describe", json={}).json()["properties"]
        assert json.loads(properties["lancespace.view"])["creator"] == {"name": "key:ann", "roles": []}
        owner.post("/v1/table/sales$orders/insert", content=_rows(2), headers=_ARROW)
        until(lambda: _count(ann, "anns$ids"), lambda count: count == 2)

        _policy(tmp_path, key_owner=["**"], key_ann=["anns$**"])
        until(lambda: ann.post("/v1/table/sales$orders/count_rows", json={}).status_code, lambda code: code == 403)
        owner.post("/v1/table/sales$orders/insert", content=_rows(3), headers=_ARROW)
        failed = until(lambda: jobs(tmp_path / "catalog")[0], lambda job: job.state is JobState.FAILED)
        refreshed = owner.post("/v1/materialized_view/anns$ids/refresh", json={})
        assert refreshed.status_code == 202, refreshed.text
        job = refreshed.json()["job_id"]
        ended = until(
            lambda: owner.post(f"/v1/transaction/{job}/describe", json={}).json(), lambda one: one["status"] in _FINAL
        )

        assert ended["status"] == "FAILED"
        for message in (failed.message, ended["properties"]["message"]):
            assert "PermissionDeniedError: 'key:ann' has no grant to read 'sales$orders'" in message
        assert (failed.creator, ended["properties"]["creator"]) == ("key:ann", "key:owner")
        assert (_count(owner, "sales$orders"), _count(ann, "anns$ids")) == (3, 2)

        _policy(tmp_path, key_owner=["**"], key_ann=["**"])
        until(lambda: ann.post("/v1/table/sales$orders/count_rows", json={}).status_code, lambda code: code == 200)
        owner.post("/v1/table/sales$orders/insert", content=_rows(4), headers=_ARROW)
        until(lambda: _count(ann, "anns$ids"), lambda count: count == 4)


def test_work_of_a_revoked_key_is_refused(tmp_path: Path):
    """The policy still has the name, the file of keys does not: who had the key is gone."""
    keys = tmp_path / "keys"
    lines = {name: f"{name}:{hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("owner", "ann")}
    keys.write_text("".join(lines.values()))
    policy = _policy(tmp_path, key_owner=["**"], key_ann=["**"])
    arguments = [f"root={tmp_path / 'catalog'}", "--policy", str(policy), "--api-keys", str(keys)]
    with served(tmp_path, "dir", *arguments) as server, client(server, headers={"x-api-key": "ann"}) as ann:
        assert ann.post("/v1/namespace/sales/create", json={}).status_code == 200
        ann.post("/v1/table/sales$orders/create", content=_rows(1), headers=_ARROW)
        assert ann.post("/v1/materialized_view/ids/create", json=_IDS).status_code == 201
        keys.write_text(lines["owner"])
        until(lambda: ann.get("/v1/table").status_code, lambda code: code == 401)
        with client(server, headers={"x-api-key": "owner"}) as owner:

            def ended() -> dict[str, Any]:
                job = owner.post("/v1/materialized_view/ids/refresh", json={}).json()["job_id"]
                path = f"/v1/transaction/{job}/describe"
                found = until(lambda: owner.post(path, json={}).json(), lambda one: one["status"] in _FINAL)
                return dict(found)

            failed = until(ended, lambda one: one["status"] == "FAILED")

    assert "the API key of 'key:ann' has been revoked" in failed["properties"]["message"]


def test_nobody_can_name_another_as_the_creator_of_a_job(server: Running, tmp_path: Path):
    del tmp_path
    with client(server, headers={"x-api-key": "a"}) as ann:
        ann.post("/v1/table/t/create", content=_rows(1), headers=_ARROW)
        ann.post("/v1/table/t/add_columns", json={"new_columns": [{"name": "twice", "computed": "id * 2"}]})
        job = ann.post("/v1/table/t/backfill_column", json={"column": "twice"}).json()["job_id"]
        set_it = {"setPropertyAction": {"key": "creator", "value": "key:owner"}}
        refused = ann.post(f"/v1/transaction/{job}/alter", json={"actions": [set_it]})
        told = ann.post(f"/v1/transaction/{job}/describe", json={}).json()["properties"]["creator"]

    assert (refused.status_code, told) == (400, "key:ann")


@pytest.mark.parametrize("work", ["backfill", "refresh"])
def test_a_job_that_waited_is_refused_if_its_rights_are_gone(tmp_path: Path, work: str):
    path = _policy(tmp_path, root=["**"], bob=["**"])
    held = threading.Event()

    def hold(_: Work) -> None:
        held.wait(60)

    with under(str(path)) as namespace:
        with acting("root"):
            namespace.create_namespace("sales")
            namespace.create_table("sales.orders", [{"id": 1}])
            namespace.alter_table_add_columns("sales.orders", new_columns=[{"name": "twice", "computed": "id * 2"}])
        with acting("bob"):
            namespace.create_materialized_view("ids", **{**_IDS, "auto_refresh": False})
            before = [submit(namespace, Job("hold", "t", hold)) for _ in range(2)]
            try:
                job = _started(namespace, work)
                _policy(tmp_path, root=["**"])
                _WATCH.hurry()
                until(lambda: _is_refused(namespace), bool)
            finally:
                held.set()
            for one in before:
                one.wait()
        with acting("root"):
            ended = until(lambda: namespace.describe_transaction([job]), lambda found: found.status in _FINAL)
            assert ended.status == "FAILED"
            assert "PermissionDeniedError: 'bob' has no grant to write" in (ended.properties or {})["message"]
            assert namespace.table("sales.orders").to_arrow().column("twice").to_pylist() == [None]
            assert namespace.table("ids").count() == 0


def _started(namespace: Any, work: str) -> str:
    if work == "backfill":
        return str(namespace.alter_table_backfill_columns("sales.orders", column="twice").job_id)
    return str(namespace.refresh_materialized_view("ids").job_id)


def _is_refused(namespace: Any, table: str = "sales.orders") -> bool:
    from lance_namespace import PermissionDeniedError

    try:
        namespace.describe_table(table)
    except PermissionDeniedError:
        return True
    return False


def test_a_view_without_a_creator_is_not_refreshed_under_a_policy(tmp_path: Path):
    """It was made around the server, or by an older version: nobody's rights are known."""
    root = {"root": str(tmp_path / "catalog")}
    with connect("dir", root) as namespace:
        namespace.create_namespace("sales")
        namespace.create_table("sales.orders", [{"id": 1}])
        namespace.create_materialized_view("ids", **_IDS)
    with under(str(_policy(tmp_path, root=["**"])), "dir", **root) as namespace, acting("root"):
        job = namespace.refresh_materialized_view("ids").job_id
        ended = until(lambda: namespace.describe_transaction([str(job)]), lambda found: found.status in _FINAL)

        assert ended.status == "FAILED"
        assert (
            "a view or virtual column that has no creator must be created again" in (ended.properties or {})["message"]
        )


def test_a_virtual_column_is_filled_with_the_rights_of_its_creator_too(tmp_path: Path):
    """Bob's function does not run any more once he lost his rights, nor by a column that claims another creator."""
    path = _policy(tmp_path, root=["**"], bob=["**"])
    column = virtual_column(lambda batch: batch.column("id"), inputs=["id"], outputs={"v": pa.int64()})
    with under(str(path), **{"udf.enabled": "true"}) as namespace:
        with acting("bob"):
            namespace.create_table("t", [{"id": 1}])
            namespace.alter_table_add_columns("t", new_columns=[column])
            rows = namespace.table("t").to_arrow()
            by_root = {b"virtual_column.creator": b'{"name": "root", "roles": []}'}
            forged = [field.with_metadata({**(field.metadata or {}), **by_root}) for field in rows.schema]
            namespace.create_table("forged", rows.cast(pa.schema(forged)))
            namespace.create_table("over", [{"id": 1}])
            namespace.insert_into_table("over", rows.cast(pa.schema(forged)), mode="overwrite")
        before = [_filled(namespace, table) for table in ("t", "forged", "over")]
        _policy(tmp_path, root=["**"])
        _WATCH.hurry()
        with acting("bob"):
            until(lambda: _is_refused(namespace, "t"), bool)
        after = _filled(namespace, "t")

    assert before[0] == "done"
    assert "virtual column that has no creator" in before[1]
    assert "virtual column that has no creator" in before[2]
    assert "'bob' has no grant to write 't'" in after


def _filled(namespace: Any, table: str) -> str:
    """What root is told by a backfill of the virtual column."""
    with acting("root"):
        job = namespace.alter_table_backfill_columns(table, column="v").job_id
        ended = until(lambda: namespace.describe_transaction([job]), lambda found: found.status in _FINAL)
        return str(ended.properties["message"])
