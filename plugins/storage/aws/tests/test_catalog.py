"""The directory catalog on S3, beside pylance's own on the same objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import CreateNamespaceRequest, ListNamespacesRequest, NamespaceAlreadyExistsError

import lancespace
from lancespace_dir.manifest.committer import ManifestTable

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace


def names(namespace: LanceNamespace) -> set[str]:
    return set(namespace.list_namespaces(ListNamespacesRequest(id=[])).namespaces)


@pytest.mark.parametrize("root", ["plain", "with space", "ünïcode", "with%20escape", "a~b*c"])
def test_both_see_at_once_what_the_other_did(moto_options: dict[str, str], root: str):
    """pylance takes ``%20`` in a location for a space, and fsspec does not: both must mean the same objects."""
    properties = {"root": f"s3://lake/{root}", **{f"storage.{key}": value for key, value in moto_options.items()}}
    ours = [lancespace.connect("dir", properties), lancespace.connect("dir", properties)]
    theirs = DirectoryNamespace(**properties, **{"storage.allow_http": "true"})
    made: set[str] = set()
    for number in range(3):
        for who, namespace in (("a", ours[0]), ("b", ours[1]), ("c", theirs)):
            namespace.create_namespace(CreateNamespaceRequest(id=[f"{who}{number}"]))
            made.add(f"{who}{number}")
            assert [names(each) for each in (*ours, theirs)] == [made] * 3
    with pytest.raises(NamespaceAlreadyExistsError):
        ours[0].create_namespace(["c2"])


def test_a_change_that_was_looked_up_before_others_committed_is_run_again(moto_options: dict[str, str]):
    """An operation looks once for what others did; what it finds out too late, its commit finds out."""
    properties = {"root": "s3://lake/races", **{f"storage.{key}": value for key, value in moto_options.items()}}
    mine, theirs = lancespace.connect("dir", properties), lancespace.connect("dir", properties)
    mine.create_namespace(["before"])
    manifest: ManifestTable = mine._connection.backend.catalog.manifest

    with manifest.single_refresh():
        assert manifest.get("between") is None
        theirs.create_namespace(["between"])
        assert manifest.get("between") is None
        mine.create_namespace(["after"])
    with manifest.single_refresh():
        theirs.drop_namespace(["between"])
        mine.create_namespace(["between"])

    assert names(theirs) == {"before", "between", "after"}


def test_who_was_alone_finds_out_that_he_is_no_longer(moto_options: dict[str, str]):
    """Who saw nobody else commits without a look before: the commit tells, or else he looks before he answers."""
    properties = {"root": "s3://lake/alone", **{f"storage.{key}": value for key, value in moto_options.items()}}
    mine, theirs = lancespace.connect("dir", properties), lancespace.connect("dir", properties)

    def be_alone() -> None:
        for name in ("x1", "x2", "x3"):
            mine.create_namespace([name])
        for name in ("x1", "x2", "x3"):
            mine.drop_namespace([name])
        assert mine._connection.backend.catalog.manifest._is_alone

    be_alone()
    theirs.create_namespace(["taken"])
    with pytest.raises(NamespaceAlreadyExistsError):
        mine.create_namespace(["taken"])
    be_alone()
    theirs.create_namespace(["theirs"])
    mine.drop_namespace(["theirs"])
    be_alone()
    theirs.drop_namespace(["taken"])
    mine.create_namespace(["taken"], mode="exist_ok")
    be_alone()
    theirs.create_namespace(["late"])
    mine.create_namespace(["later"])
    assert names(mine) == names(theirs) == {"taken", "late", "later"}
