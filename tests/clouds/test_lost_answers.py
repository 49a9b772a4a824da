"""A conditional write whose answer is lost: the client tries again, and the store says that the file exists."""

from __future__ import annotations

import pytest

from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.proxy import Fault, proxy_to

MARK = "mark"


def writes_mark(request: Request) -> bool:
    return request.method in {"PUT", "POST"} and MARK.encode() in request.target.encode() + request.body


@pytest.mark.parametrize("fault", [Fault.LOSE, Fault.LIE], ids=lambda fault: fault.name)
def test_one_knows_ones_own_write(cloud: Cloud, fault: Fault):
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(cloud.new_root())
        path = f"{storage.path()}/{MARK}"
        with proxy.injecting(fault, writes_mark) as rule:
            storage.put_if_absent(path, b"mine", unique=True)
        assert rule.met == 1
        assert storage.filesystem.cat_file(path) == b"mine"
        with pytest.raises(FileExistsError):
            storage.put_if_absent(path, b"another's", unique=True)


def test_control_what_others_may_write_too_is_not_known(cloud: Cloud):
    """Without a content of its own a writer cannot know whether it was he, and says so rather than win twice."""
    with proxy_to(cloud.endpoint) as proxy:
        storage = cloud.behind(proxy.endpoint).storage(cloud.new_root())
        with proxy.injecting(Fault.LOSE, writes_mark) as rule, pytest.raises(FileExistsError):
            storage.put_if_absent(f"{storage.path()}/{MARK}", b"the same")
        assert rule.met == 1


@pytest.mark.parametrize("fault", [Fault.LOSE, Fault.LIE], ids=lambda fault: fault.name)
def test_a_catalog_without_manifest_knows_its_marks(s3_cloud: Cloud, fault: Fault):
    root = s3_cloud.new_root()

    def marks(request: Request) -> bool:
        return request.method == "PUT" and "/.lance-" in request.target

    with (
        proxy_to(s3_cloud.endpoint) as proxy,
        s3_cloud.behind(proxy.endpoint).connect(root, manifest_enabled="false") as namespace,
    ):
        with proxy.injecting(fault, marks) as rule:
            namespace.declare_table("t")
        assert rule.met == 1
        assert namespace.list_tables().tables == ["t"]
        with proxy.injecting(fault, marks) as rule:
            namespace.deregister_table("t")
        assert rule.met == 1
        assert namespace.list_tables().tables == []
