"""Who may do what: the policy file, and its enforcement before the backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from lance_namespace import InvalidInputError, PermissionDeniedError

import lancespace
from lancespace.authoring import OPERATIONS, Principal, acting
from lancespace_server.needs import action_of
from lancespace_server.policy import Policy
from lancespace_testing import examples
from lancespace_testing.samples import sample, stream
from plugins.server.tests.hosting import Running, client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
POLICY = """
[[grant]]
principals = ["key:root"]
actions = ["read", "write", "admin"]
on = ["**"]

[[grant]]
principals = ["key:reader"]
actions = ["read"]
on = ["sales$**"]

[[grant]]
principals = ["key:admin"]
actions = ["read", "admin"]
on = ["sales", "sales$*"]

[[grant]]
principals = ["key:writer-*"]
actions = ["read", "write"]
on = ["sales", "sales$o*"]

[[grant]]
principals = ["key:mover"]
actions = ["admin"]
on = ["sales$people", "crm$moved"]
"""


def load(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return Policy.load(str(path))


def test_patterns(tmp_path: Path):
    grants = {"a$b": "exact", "c$*": "child", "d$**": "below", "**$e": "anywhere", "f*": "prefix", "**": "all"}
    policy = load(
        tmp_path,
        "".join(
            f'[[grant]]\nprincipals = ["{who}"]\nactions = ["read"]\non = ["{on}"]\n' for on, who in grants.items()
        ),
    )
    names = [
        "",
        "a",
        "a$b",
        "a$b$c",
        "c",
        "c$x",
        "c$x$y",
        "d",
        "d$x",
        "d$x$y",
        "dd",
        "e",
        "x$e",
        "x$y$e",
        "f",
        "fx",
        "f$x",
    ]

    def allowed(who: str) -> list[str]:
        return [name for name in names if policy.allows(Principal(who), "read", tuple(name.split("$")) if name else ())]

    assert allowed("exact") == ["a$b"]
    assert allowed("child") == ["c$x"]
    assert allowed("below") == ["d", "d$x", "d$x$y"]
    assert allowed("anywhere") == ["e", "x$e", "x$y$e"]
    assert allowed("prefix") == ["f", "fx"]
    assert allowed("all") == names
    assert allowed("nobody") == []
    assert not policy.allows(Principal("all"), "write", ("a",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[grant]]\nprincipals = ['a']\nactions = ['read']", "grant 1 needs exactly actions, on, principals."),
        ("[[grant]]\nprincipals = ['a']\nactions = ['reed']\non = ['b']", "there is no action 'reed'; there is read"),
        ("[[grant]]\nprincipals = 'a'\nactions = ['read']\non = ['b']", "'principals' must be a list of texts"),
        ("[[grant]]\nprincipals = ['a']\nactions = ['read']\non = ['b$']", "The pattern 'b$' has an empty name"),
        ("[[grants]]", "may only have [[grant]] tables"),
        ("[[grant", "cannot be read"),
    ],
)
def test_bad_policies_are_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(InvalidInputError) as refused:
        load(tmp_path, text)

    assert message in str(refused.value)


def test_every_operation_has_a_class():
    by_action = {
        action: {n for n, row in OPERATIONS.items() if action_of(row) == action} for action in ("read", "admin")
    }

    assert by_action["read"] == {name for name, row in OPERATIONS.items() if not row.writes}
    assert by_action["admin"] == {
        "create_namespace",
        "drop_namespace",
        "register_table",
        "rename_table",
        "deregister_table",
        "drop_table",
    }


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_nothing_passes_without_a_grant(tmp_path: Path, operation: lancespace._operations.Operation):
    load(tmp_path, POLICY)
    properties = {"wrappers": "authz", "authz.policy": str(tmp_path / "policy.toml")}
    namespace = lancespace.connect("memory", properties)
    arguments = [examples.data(operation.name)] if operation.takes_data else []

    for principal in (None, "key:stranger"):
        with acting(None if principal is None else Principal(principal)):
            if operation.name == "list_all_tables" and principal:
                assert namespace.list_all_tables().tables == []
                continue
            with pytest.raises(PermissionDeniedError):
                namespace.call(operation, examples.fields(operation.name), *arguments)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("policy")
    load(folder, POLICY)
    keys = {"LANCESPACE_SERVER_API_KEYS": "root:0,reader:1,writer-1:2,stranger:3,admin:4,mover:5"}
    options = ["--policy", str(folder / "policy.toml")]
    with served(folder, "dir", f"root={folder / 'catalog'}", *options, environment=keys) as running:
        with client(running, headers={"x-api-key": "0"}) as root:
            for path in ("sales", "crm"):
                assert root.post(f"/v1/namespace/{path}/create", json={}).status_code == 200
            for path in ("sales$orders", "sales$people", "crm$people"):
                data = stream(sample())
                assert root.post(f"/v1/table/{path}/create", content=data, headers=ARROW).status_code == 200
        yield running


class TestServed:
    def of(self, server: Running, key: str) -> httpx.Client:
        return client(server, headers={"x-api-key": key})

    def test_readers_read_their_part(self, server: Running):
        with self.of(server, "1") as reader:
            assert reader.post("/v1/table/sales$orders/count_rows", json={}).status_code == 200
            assert reader.post("/v1/table/crm$people/count_rows", json={}).status_code == 403
            answer = reader.post("/v1/table/sales$orders/delete", json={"predicate": "true"})
            assert answer.json()["error"] == (
                "'key:reader' has no grant to write 'sales$orders', which delete_from_table needs."
            )

    def test_writers_write_and_do_not_administrate(self, server: Running):
        with self.of(server, "2") as writer:
            create = writer.post("/v1/table/sales$offers/create", content=stream(sample()), headers=ARROW)
            assert create.status_code == 200
            for path, body in {
                "sales$offers/drop": {},
                "sales$offers/deregister": {},
                "sales$offers/rename": {"new_table_name": "old"},
                "sales$people2/create": {},
                "sales$oops/declare": {"location": "somewhere"},
            }.items():
                headers = ARROW if path.endswith("create") else {}
                assert writer.post(f"/v1/table/{path}", json=body, headers=headers).status_code == 403, path

    def test_listings_show_what_may_be_read(self, server: Running):
        with self.of(server, "2") as writer, self.of(server, "3") as stranger, self.of(server, "1") as reader:
            assert "people" not in writer.get("/v1/namespace/sales/table/list").json()["tables"]
            assert "orders" in writer.get("/v1/namespace/sales/table/list").json()["tables"]
            assert stranger.get("/v1/table").json()["tables"] == []
            assert stranger.get("/v1/namespace/$/list").status_code == 403
            assert set(reader.get("/v1/table").json()["tables"]) >= {"sales$orders", "sales$people"}
            assert "crm$people" not in reader.get("/v1/table").json()["tables"]

    def test_a_rename_needs_both_places(self, server: Running):
        there, elsewhere = ({"new_table_name": name, "new_namespace_id": ["crm"]} for name in ("moved", "other"))
        back = {"new_table_name": "people", "new_namespace_id": ["sales"]}
        with self.of(server, "5") as mover, self.of(server, "4") as admin:
            to_a_foreign_name = mover.post("/v1/table/sales$people/rename", json=elsewhere)
            in_its_place = mover.post("/v1/table/sales$people/rename", json={"new_table_name": "other"})
            from_a_foreign_name = mover.post("/v1/table/sales$orders/rename", json=there)
            out_of_reach = admin.post("/v1/table/sales$people/rename", json=there)
            assert mover.post("/v1/table/sales$people/rename", json=there).status_code == 200
            into_reach = admin.post("/v1/table/crm$moved/rename", json=back)
            assert mover.post("/v1/table/crm$moved/rename", json=back).status_code == 200

        for answer, who, missing in (
            (to_a_foreign_name, "mover", "crm$other"),
            (in_its_place, "mover", "sales$other"),
            (from_a_foreign_name, "mover", "sales$orders"),
            (out_of_reach, "admin", "crm$moved"),
            (into_reach, "admin", "crm$moved"),
        ):
            assert answer.status_code == 403
            assert answer.json()["error"] == f"'key:{who}' has no grant to admin '{missing}', which rename_table needs."

    def test_places_and_cascades_reach_further_than_their_name(self, server: Running):
        with self.of(server, "4") as admin:
            location = admin.post("/v1/table/sales$orders/describe", json={}).json()["location"]
            alias = admin.post("/v1/table/sales$alias/register", json={"location": location})
            nested = admin.post("/v1/namespace/sales/drop", json={"behavior": "Cascade"})
            plain = admin.post("/v1/namespace/sales/drop", json={})

        assert alias.json()["error"] == "'key:admin' has no grant to admin '**', which register_table needs."
        assert nested.json()["error"] == "'key:admin' has no grant to admin 'sales$**', which drop_namespace needs."
        assert plain.status_code == 409

    def test_every_part_of_a_batch_is_checked(self, server: Running):
        parts = [{"declare_table": {"id": ["sales", "ours"]}}, {"deregister_table": {"id": ["crm", "people"]}}]
        with self.of(server, "2") as writer:
            assert writer.post("/v1/table/batch-commit", json={"operations": parts}).status_code == 403
            entries = [{"id": ["crm", "people"], "version": 2, "manifest_path": "x"}]
            assert writer.post("/v1/table/version/batch-create", json={"entries": entries}).status_code == 403
        with self.of(server, "0") as root:
            assert root.post("/v1/table/crm$people/exists", json={}).status_code == 200
            assert root.post("/v1/table/sales$ours/exists", json={}).status_code == 404

    def test_a_branch_does_not_lead_to_another_table(self, server: Running):
        with self.of(server, "0") as root, self.of(server, "2") as writer:
            assert root.post("/v1/table/sales$orders/branches/create", json={"name": "dev"}).status_code == 200
            location = root.post("/v1/table/crm$people/describe", json={}).json()["location"]
            branch = f"../../{location.rpartition('/')[2]}"

            for verb, body in {"version/list": None, "version/describe": {"version": 1, "branch": branch}}.items():
                query = f"?branch={branch}" if body is None else ""
                assert writer.post(f"/v1/table/sales$orders/{verb}{query}", json=body).status_code == 400

    def test_the_server_is_ready_though_nobody_acts(self, server: Running):
        with client(server) as web:
            assert web.get("/readyz").text == "ready\n"
