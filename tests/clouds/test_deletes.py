"""Deleting a prefix: all of it, nothing beside it, in batches, and again after a failure."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from lance_namespace import PermissionDeniedError

from lancespace._storage.objects import BATCHES_AT_ONCE
from lancespace.authoring import Storage, translated
from lancespace_jobs import StoredFiles
from tests.emulators.clouds import Cloud
from tests.emulators.gcs.server import GcsServer
from tests.emulators.loopback import Request
from tests.emulators.oss.server import OssServer
from tests.emulators.proxy import Fault, proxy_to

SIBLINGS = ("ab/file", "a.lance", "a-b/file", "a b/file", "b/a/file", "A/file", "axb/file")
MANY = 2500


def write(storage: Storage, *names: str) -> None:
    for name in names:
        storage.filesystem.pipe_file(f"{storage.path()}/{name}", b"x")


def names(storage: Storage) -> set[str]:
    found = storage.filesystem.find(storage.path())
    return {path.strip("/").removeprefix(f"{storage.path().strip('/')}/") for path in found}


def deletes(request: Request) -> bool:
    return request.method == "DELETE" or (request.method == "POST" and bool(request.body))


def test_everything_below_goes_and_nothing_beside(cloud: Cloud):
    storage = cloud.storage(cloud.new_root())
    write(storage, "a/file", "a/data/one", "a/data/deep/two", "a/with space/ü+%20&<'\">", *SIBLINGS)

    for _ in range(2):
        storage.delete_tree(f"{storage.path()}/a")
        assert names(storage) == set(SIBLINGS)


@pytest.mark.parametrize("pattern", ["a*", "a?b", "[a]", "**"])
def test_a_name_is_no_pattern(cloud: Cloud, pattern: str):
    storage = cloud.storage(cloud.new_root())
    write(storage, *SIBLINGS)
    storage.put_if_absent(f"{storage.path()}/{pattern}/file", b"x")

    storage.delete_tree(f"{storage.path()}/{pattern}")

    assert names(storage) == set(SIBLINGS)


def test_a_single_file(cloud: Cloud):
    storage = cloud.storage(cloud.new_root())
    write(storage, "a", "ab", "b/a")

    storage.delete_tree(f"{storage.path()}/a")

    assert names(storage) == {"ab", "b/a"}


def test_a_file_that_was_replaced_stays(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    storage = cloud.storage(cloud.new_root())
    path = f"{storage.path()}/a b+%20/file"
    storage.filesystem.pipe_file(path, b"first")
    ((listed, version),) = storage.list_tree(path).items()
    storage.filesystem.pipe_file(path, b"second")
    ((_, later),) = storage.list_tree(path).items()
    with monkeypatch.context() as patched:
        if cloud.scheme != "oss":  # It alone has no such condition: the file is looked at right before.
            patched.setattr(storage.filesystem, "info", None)
        assert not storage.delete_unchanged(listed, version)
        assert storage.filesystem.cat_file(path) == b"second"
        assert storage.delete_unchanged(listed, later)
        assert not storage.delete_unchanged(listed, later)
    assert storage.list_tree(path) == {}


def test_a_file_of_jobs_goes_if_it_says_what_it_said(cloud: Cloud):
    files = StoredFiles(cloud.storage(cloud.new_root()))
    files.replace("f/claim", b"mine")

    files.delete_unchanged("f/claim", b"another's")
    assert files.read("f/claim") == b"mine"
    for _ in range(2):
        files.delete_unchanged("f/claim", b"mine")
        assert files.names("f") == []


def test_what_hides_the_rest_goes_last(cloud: Cloud):
    root = cloud.new_root()
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(root)
        write(storage, "t/.mark", "t/data/1", "t/data/2", "t/zz")
        proxy.heal()
        storage.delete_tree(f"{storage.path()}/t", last=f"{storage.path()}/t/.mark")
        asked = [request.target + request.body.decode() for request in proxy.requests if deletes(request)]

    assert names(cloud.storage(root)) == set()
    assert [".mark" in text for text in asked] == [False] * (len(asked) - 1) + [True]


def test_a_refusal_is_told_and_a_repeat_finishes(cloud: Cloud):
    root = cloud.new_root()
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(root)
        write(storage, *(f"t/{number}" for number in range(20)))
        with (
            proxy.injecting(Fault.FORBID, deletes, times=None),
            pytest.raises(PermissionDeniedError),
            translated("delete it"),
        ):
            storage.delete_tree(f"{storage.path()}/t")
        assert len(names(cloud.storage(root))) == 20
        storage.delete_tree(f"{storage.path()}/t")

    assert names(cloud.storage(root)) == set()


def requests_to_delete_many(cloud: Cloud, put: Callable[[str, str], object]) -> Counter[str]:
    """Put many files into a directory behind the client's back, let it delete them, and count its requests."""
    root = cloud.new_root()
    bucket = root.split("/")[2]
    for number in range(MANY):
        put(bucket, f"warehouse/t/data/{number:06d}.lance")
    put(bucket, "warehouse/t2/stays")
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(root)
        storage.delete_tree(f"{storage.path()}/t")
        counted = Counter(request.method for request in proxy.requests)
    assert names(cloud.storage(root)) == {"t2/stays"}
    return counted


def test_s3_deletes_a_thousand_at_once(s3_cloud: Cloud):
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    counted = requests_to_delete_many(s3_cloud, lambda bucket, key: backend.put_object(bucket, key, b""))
    assert counted == {"GET": 3, "POST": 3}


def test_oss_deletes_a_thousand_at_once(oss_cloud: Cloud, oss: OssServer):
    counted = requests_to_delete_many(oss_cloud, lambda bucket, key: oss.service.store.put(bucket, key, b""))
    assert counted == {"GET": 3, "POST": 3}


def test_google_deletes_a_hundred_at_once(gcs_cloud: Cloud, gcs: GcsServer, monkeypatch: pytest.MonkeyPatch):
    """gcsfs sends batches to Google only; here it is made to take the stand-in for that."""
    from gcsfs.core import GCSFileSystem

    monkeypatch.setattr(GCSFileSystem, "on_google", True)
    counted = requests_to_delete_many(gcs_cloud, lambda bucket, key: gcs.service.store.put(bucket, key, b""))
    assert counted == {"GET": 3, "POST": 26}


@pytest.mark.slow
def test_a_hundred_thousand_are_deleted_while_they_are_listed(oss_cloud: Cloud, oss: OssServer):
    """However many there are, only the batches under way are in memory: no listing runs ahead of the deletes."""
    root = oss_cloud.new_root()
    for number in range(100_000):
        oss.service.store.put(root.split("/")[2], f"warehouse/t/data/{number:06d}.lance", b"")
    with proxy_to(oss_cloud.endpoint) as proxy:
        storage = oss_cloud.behind(proxy.endpoint).storage(root)
        storage.delete_tree(f"{storage.path()}/t")
        methods = [request.method for request in proxy.requests]

    assert Counter(methods) == {"GET": 100, "POST": 101}
    ahead = itertools.accumulate(1 if method == "GET" else -1 for method in methods)
    assert max(ahead) <= BATCHES_AT_ONCE + 2
    assert names(oss_cloud.storage(root)) == set()
