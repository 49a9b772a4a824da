"""Requests that need more than their name says, and answers that say less than the backend's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import (
    BatchCommitTablesRequest,
    BatchCommitTablesResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    InvalidInputError,
    InvalidTableStateError,
    PermissionDeniedError,
    TransactionNotFoundError,
)

from lancespace.authoring import OPERATIONS, Principal, Subject
from lancespace_server.authorization import AuthorizationWrapper, authorize, with_policy
from lancespace_server.needs import action_of
from lancespace_server.policy import Policy
from lancespace_tables import virtual_column
from lancespace_testing import examples
from lancespace_testing.samples import COUNT
from lancespace_testing.waiting import until
from plugins.server.tests.acting import Around, acting, policy, under

CANCEL = [{"set_status_action": {"status": "Canceled"}}]
VIEWS = [row for row in OPERATIONS.values() if row.subject is Subject.VIEW]


class TestTransactions:
    def test_the_commits_of_a_table_are_for_its_readers(self, tmp_path: Path):
        namespace = under(policy(tmp_path, bob=("read write", "bob$**")))
        with acting("root"):
            for name in ("crm", "bob"):
                namespace.create_namespace(name)
                namespace.create_table([name, "t"], [{"id": 1}])
        with acting("bob"):
            assert namespace.describe_transaction(id=["bob", "t", "1"]).status == "SUCCEEDED"
            refusals = []
            for transaction in (["crm", "t", "1"], ["crm", "t", "7"], ["crm", "none", "1"]):
                with pytest.raises(PermissionDeniedError) as refused:
                    namespace.describe_transaction(id=transaction)
                refusals.append(str(refused.value).replace("none", "t"))
            with pytest.raises(PermissionDeniedError, match=r"no grant to write 'crm\$t'"):
                namespace.alter_transaction(id=["crm", "t", "1"], actions=CANCEL)
            with pytest.raises(TransactionNotFoundError):
                namespace.describe_transaction(id=["1"])

        assert set(refusals) == {"'bob' has no grant to read 'crm$t', which describe_transaction needs."}

    def test_a_job_is_for_whoever_knows_its_id_and_has_some_grant(self, tmp_path: Path):
        namespace = under(policy(tmp_path, bob=("read", "bob")), **{"udf.enabled": "true"})
        with acting("root"):
            namespace.create_table("t", [{"id": 1}])
            column = virtual_column(lambda batch: batch.column("id"), inputs=["id"], outputs={"v": pa.int64()})
            namespace.alter_table_add_columns("t", new_columns=[column])
            job = namespace.alter_table_backfill_columns("t", column="v").job_id
            until(lambda: namespace.describe_transaction(id=[job]).status, lambda status: status == "SUCCEEDED")
        with acting("bob"):
            assert namespace.describe_transaction(id=[job]).status == "SUCCEEDED"
            with pytest.raises(PermissionDeniedError, match="no grant to write"):
                namespace.alter_transaction(id=[job], actions=CANCEL)
        with acting("stranger"), pytest.raises(PermissionDeniedError, match="no grant to read"):
            namespace.describe_transaction(id=[job])


@pytest.mark.parametrize("backend", ["memory", "dir"])
def test_a_view_needs_to_read_its_sources_only(tmp_path: Path, backend: str):
    grants = {"writer": ("write", "view"), "reader": ("read", "**"), "maker": ("read write", "view t")}
    root = {"root": str(tmp_path / "catalog")} if backend == "dir" else {}
    namespace = under(policy(tmp_path, **grants), backend, **root)
    fields = examples.fields("create_materialized_view")
    with acting("root"):
        namespace.create_table(examples.TABLE, examples.data("create_table"))
        namespace.create_table("secret", examples.data("create_table"))

    missing = {"writer": "read 't'", "reader": "write 'view'"}
    for principal, grant in missing.items():
        with acting(principal), pytest.raises(PermissionDeniedError, match=grant):
            namespace.create_materialized_view(**fields)
    with acting("maker"):
        for other in ("secret", "absent"):
            spy = fields["source_query"].replace("FROM t", f"FROM {other}")
            with pytest.raises(PermissionDeniedError, match=f"no grant to read '{other}', which describe_table needs"):
                namespace.create_materialized_view(**{**fields, "source_query": spy})
        namespace.create_materialized_view(**fields)
        job = namespace.refresh_materialized_view(examples.VIEW).job_id
        until(lambda: namespace.describe_transaction([job]).status, lambda status: status == "SUCCEEDED")
        assert namespace.count_table_rows(examples.VIEW).count == COUNT
    with acting("reader"), pytest.raises(PermissionDeniedError, match="write 'view'"):
        namespace.refresh_materialized_view(examples.VIEW)


@pytest.mark.parametrize("backend", ["memory", "dir"])
def test_a_refusal_names_only_the_views_that_the_caller_may_read(tmp_path: Path, backend: str):
    """Whatever would take the source of views away."""
    admin = ("read write admin", "a a$**")
    root = {"root": str(tmp_path / "catalog")} if backend == "dir" else {}
    namespace = under(policy(tmp_path, bob=admin, eve=("admin", "a a$**")), backend, **root)
    view = {**examples.fields("create_materialized_view"), "source_query": '{"version": 1, "sql": "SELECT * FROM a.t"}'}
    with acting("root"):
        for name in ("a", "z"):
            namespace.create_namespace(name)
        namespace.create_table("a.t", examples.data("create_table"))
        for id_ in (["a", "seen"], ["z", "hidden"]):
            namespace.create_materialized_view(**{**view, "id": id_})

    batch = {"operations": [{"deregister_table": {"id": ["a", "t"]}}]}
    attempts: list[tuple[str, Callable[[], Any]]] = [
        ("'a.seen' and others you may not see. ", lambda: namespace.drop_table("a.t")),
        ("'a.seen' and others you may not see. ", lambda: namespace.deregister_table("a.t")),
        ("'a.seen' and others you may not see. ", lambda: namespace.rename_table("a.t", new_table_name="u")),
        ("'a.seen' and others you may not see. ", lambda: namespace.batch_commit_tables(batch)),
        ("all of which you may not see. ", lambda: namespace.drop_namespace("a", behavior="Cascade")),
    ]
    for shown, attempt in attempts:
        told = {}
        for principal in ("bob", "eve", "root"):
            with acting(principal), pytest.raises(InvalidTableStateError) as refused:
                attempt()
            told[principal] = str(refused.value)
        assert f"made from it: {shown}" in told["bob"]
        assert "hidden" in told["root"]
        assert "all of which you may not see" in told["eve"]
        assert not any("hidden" in told[principal] for principal in ("bob", "eve"))


class TestCascade:
    @pytest.mark.parametrize("on", ["sales sales$* sales$*$*", "sales sales$* sales$a$**", "sales **$t", "sales a$**"])
    def test_grants_that_end_somewhere_do_not_suffice(self, tmp_path: Path, on: str):
        namespace = under(policy(tmp_path, admin=("read write admin", on)))
        with acting("root"):
            for name in ("sales", "sales.a", "sales.a.b"):
                namespace.create_namespace(name)
            namespace.create_table("sales.a.b.t", [{"id": 1}])
        with acting("admin"), pytest.raises(PermissionDeniedError, match=r"no grant to admin 'sales\$\*\*'"):
            namespace.drop_namespace("sales", behavior="Cascade")
        with acting("root"):
            assert list(namespace.tables("sales.a.b")) == ["t"]

    @pytest.mark.parametrize("on", ["sales$**", "sales sales$*$**", "s* s*$**", "**"])
    def test_grants_of_any_depth_do(self, tmp_path: Path, on: str):
        namespace = under(policy(tmp_path, admin=("admin", on)))
        with acting("root"):
            for name in ("sales", "sales.a"):
                namespace.create_namespace(name)
            namespace.create_table("sales.a.t", [{"id": 1}])
        with acting("admin"):
            namespace.drop_namespace("sales", behavior="Cascade")
        with acting("root"):
            assert list(namespace.namespaces()) == []


class TestCredentials:
    def told(self, tmp_path: Path, operation: str, request: Any, answer: Any, **given: str) -> Any:
        grants = {"r": ("read", "t"), "w": ("write", "t"), "rw": ("read write", "t"), "rwa": ("read write admin", "t")}
        path = policy(tmp_path, **grants)
        wrapper = AuthorizationWrapper(Around({"authz.policy": path, **given}))  # type: ignore[arg-type]

        def get(principal: str) -> Any:
            with acting(principal):
                steps = wrapper.around(OPERATIONS[operation], request)
                next(steps)
                with pytest.raises(StopIteration) as stopped:
                    steps.send(answer())
            return stopped.value.value

        return get

    @pytest.mark.parametrize(
        ("given", "enough"),
        [
            ({"credential_vendor.permission": "read"}, {"r", "rw", "rwa"}),
            ({"credential_vendor.permission": "write"}, {"rw", "rwa"}),
            ({"credential_vendor.permission": "admin"}, {"rwa"}),
            ({}, {"rwa"}),
        ],
    )
    def test_they_do_not_allow_more_than_the_policy(self, tmp_path: Path, given: dict[str, str], enough: set[str]):
        told = self.told(
            tmp_path,
            "describe_table",
            DescribeTableRequest(id=["t"]),
            lambda: DescribeTableResponse(location="l", storage_options={"key": "temporary"}),
            **given,
        )

        assert {who for who in ("r", "rw", "rwa") if told(who).storage_options} == enough

    def test_those_in_a_batch_neither(self, tmp_path: Path):
        told = self.told(
            tmp_path,
            "batch_commit_tables",
            BatchCommitTablesRequest.model_validate({"operations": [{"declare_table": {"id": ["t"]}}]}),
            lambda: BatchCommitTablesResponse.model_validate(
                {"results": [{"declare_table": {"location": "l", "storage_options": {"key": "temporary"}}}]}
            ),
            **{"credential_vendor.permission": "write"},
        )

        assert {who for who in ("w", "rw") if told(who).results[0].declare_table.storage_options} == {"rw"}


def test_names_are_checked_before_anything_is_granted_on_them(tmp_path: Path):
    grants = Policy.load(policy(tmp_path, bob=("read", "a$b")))
    request = DescribeTableRequest(id=["a$b"])

    with pytest.raises(InvalidInputError, match="contains the delimiter"):
        authorize(grants, Principal("bob"), OPERATIONS["describe_table"], request)
    with pytest.raises(InvalidInputError, match="longer than"):
        authorize(grants, Principal("bob"), OPERATIONS["describe_table"], DescribeTableRequest(id=["y" * 58_000]))
    assert grants.allows.cache_info().currsize == 0


def test_two_policies_are_refused():
    own = {"wrappers": "audit, authz", "authz.policy": "a.toml"}

    with pytest.raises(InvalidInputError, match=r"two policies, 'b\.toml' and authz\.policy='a\.toml'"):
        with_policy(own, "b.toml")
    assert with_policy(own, "a.toml")["wrappers"] == own["wrappers"]
    assert with_policy({"wrappers": "audit"}, "b.toml")["wrappers"] == "authz,audit"


def test_every_transaction_and_view_has_a_class():
    transactions = {row.name: action_of(row) for row in OPERATIONS.values() if row.subject is Subject.TRANSACTION}

    assert transactions == {"describe_transaction": "read", "alter_transaction": "write"}
    assert {action_of(row) for row in VIEWS} == {"write"}
