"""Tags and branches on a bad network: no false "already exists" or "not found", and no branch that is in the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pytest
from lance_namespace import ServiceUnavailableError, TableBranchAlreadyExistsError

from lancespace_testing.client import Client
from lancespace_testing.examples import BRANCH, TABLE, TAG
from lancespace_testing.samples import sample
from tests.clouds.writes import connected, prepare
from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, proxy_to

HASTY = {"max_retries": "0", "lance_aimd_max_retries": "0"}


def changing(part: str) -> Callable[[Request], bool]:
    """Whether a request changes what is below a place; some stores are told in the body what to delete."""

    def matches(request: Request) -> bool:
        place = request.target + (request.body.decode(errors="replace") if request.method == "POST" else "")
        return request.method in {"PUT", "POST", "DELETE"} and f"/{part}/" in unquote(place)

    return matches


def tags_and_branches(client: Client) -> tuple[list[str], list[str]]:
    tags = client("list_table_tags", id=TABLE).tags
    return list(tags), list(client("list_table_branches", id=TABLE).branches)


@pytest.mark.parametrize(
    ("operation", "after", "undone_by"),
    [
        ("create_table_tag", ([TAG], []), "delete_table_tag"),
        ("delete_table_tag", ([], []), "create_table_tag"),
        ("create_table_branch", ([], [BRANCH]), "delete_table_branch"),
        ("delete_table_branch", ([], []), "create_table_branch"),
    ],
)
def test_an_answer_is_lost(cloud: Cloud, operation: str, after: tuple[list[str], list[str]], undone_by: str):
    """Stores differ in what they answer to a request that is sent again."""
    with proxy_to(cloud.endpoint) as proxy, connected(cloud.behind(proxy.endpoint), cloud.new_root()) as client:
        prepare(client, operation)
        with proxy.injecting(Fault.LOSE, changing("_refs")) as rule:
            client.example(operation)
        assert rule.met == 1
        assert tags_and_branches(client) == after
        client.example(undone_by)


@pytest.mark.parametrize("name", ["mine", "team/mine"])
def test_a_branch_without_an_entry_is_finished_by_the_next(s3_cloud: Cloud, name: str):
    """Its creator lost the network between the first version and the entry."""
    root = s3_cloud.new_root()
    with connected(s3_cloud, root) as client, proxy_to(s3_cloud.endpoint) as proxy:
        prepare(client, "delete_table_branch")
        client("insert_into_table", sample(), id=TABLE, branch=BRANCH)
        wanted = {"id": TABLE, "name": name, "from_branch": BRANCH}
        with (
            connected(s3_cloud.behind(proxy.endpoint).with_options(**HASTY), root) as hasty,
            proxy.injecting(Fault.ERROR, changing("_refs"), times=None),
            pytest.raises(ServiceUnavailableError),
        ):
            hasty("create_table_branch", **wanted)
        assert tags_and_branches(client) == ([], [BRANCH])

        with pytest.raises(TableBranchAlreadyExistsError):
            client("create_table_branch", **wanted)
        assert tags_and_branches(client) == ([], [BRANCH, name])
        finished = entry(client, name)
        assert client.rows(TABLE, branch=name) == client.rows(TABLE, branch=BRANCH)
        client("delete_table_branch", id=TABLE, name=name)
        client("create_table_branch", **wanted)
        assert entry(client, name) == finished


def test_a_branch_that_was_half_deleted_can_be_deleted(s3_cloud: Cloud):
    """Its entry goes first."""
    root = s3_cloud.new_root()
    with connected(s3_cloud, root) as client, proxy_to(s3_cloud.endpoint) as proxy:
        prepare(client, "delete_table_branch")
        with (
            connected(s3_cloud.behind(proxy.endpoint).with_options(**HASTY), root) as hasty,
            proxy.injecting(Fault.ERROR, changing("tree"), times=None),
            pytest.raises(ServiceUnavailableError),
        ):
            hasty.example("delete_table_branch")
        assert tags_and_branches(client) == ([], [])

        client.example("delete_table_branch")
        client.example("create_table_branch")
        assert tags_and_branches(client) == ([], [BRANCH])


def entry(client: Client, name: str) -> dict[str, Any]:
    """A branch's entry, without what is different every time."""
    storage = client.storage(client("describe_table", id=TABLE).location)
    path = f"{storage.path()}/_refs/branches/{quote(name, safe='')}.json"
    content: dict[str, Any] = json.loads(storage.filesystem.cat_file(path))
    del content["createAt"], content["identifier"]["version_mapping"][-1][1]
    return content
