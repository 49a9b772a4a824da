"""Roots in every form, and locations that must stay below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace import InvalidInputError, UnsupportedOperationError

import lancespace
from lancespace_dir import root


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/data/lake", "/data/lake"),
        ("/data/lake/", "/data/lake"),
        ("/data//lake/./x/..", "/data/lake"),
        ("file:///data/lake/", "/data/lake"),
        ("FILE:///data/my%20lake", "/data/my lake"),
        ("s3://bucket/lake/", "s3://bucket/lake"),
    ],
)
def test_roots_are_normalised(given: str, expected: str):
    assert root.normalise(given) == expected


def test_relative_and_home_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")

    assert root.normalise("lake") == str(tmp_path / "lake")
    assert root.normalise("~/lake") == "/home/ada/lake"


def test_every_form_of_a_root_is_the_same_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lancespace.connect("dir", {"root": "lake"}).create_namespace("sales")

    for form in (str(tmp_path / "lake"), f"{tmp_path}/lake/", (tmp_path / "lake").as_uri(), "./lake"):
        assert list(lancespace.connect("dir", {"root": form}).namespaces()) == ["sales"], form


def test_a_root_that_is_a_file_is_no_empty_catalog(tmp_path: Path):
    file = tmp_path / "lake.csv"
    file.write_text("id\n")

    for taken in (file, file / "below"):
        with pytest.raises(InvalidInputError, match=f"'{file}' is a file: give a directory"):
            lancespace.connect("dir", {"root": str(taken)})
    with pytest.raises(InvalidInputError, match="is a file"):
        lancespace.connect("dir", {"root": file.as_uri()})
    (tmp_path / "link").symlink_to(tmp_path)
    assert list(lancespace.connect("dir", {"root": str(tmp_path / "link" / "new")}).tables()) == []


@pytest.mark.parametrize("given", ["s3://", "s3a:///lake", "gs://", "GCS:///", "az://", "az://@account/x", "oss:///x"])
def test_a_store_without_a_bucket_is_no_empty_catalog(given: str):
    with pytest.raises(InvalidInputError, match=r"names no bucket or container: give one, as in \w+://bucket/path"):
        lancespace.connect("dir", {"root": given})


@pytest.mark.parametrize("given", ["s3://bucket", "az://container@account.blob.core.windows.net", "scratch:///lake"])
def test_stores_that_name_their_place_are_taken(given: str):
    root.check_root(given)


@pytest.mark.parametrize("location", ["t.lance", "a/b/c", "/data/lake/t.lance", "file:///data/lake/t.lance"])
def test_locations_below_the_root_are_taken(location: str):
    assert not root.relative(location, "/data/lake").startswith("/")


@pytest.mark.parametrize(
    "location",
    [
        "",
        ".",
        "..",
        "../other",
        "a/../../other",
        "a/./b",
        "a//b",
        "/data/other",
        "/data/lake",
        "/data/lake/../other",
        "/data/lakeside/t",
        "file:///etc",
        "s3://bucket/t",
        "a\\b",
        "a\x00b",
        "__manifest",
        "__manifest/data",
    ],
)
def test_other_locations_are_refused(location: str):
    with pytest.raises(InvalidInputError):
        root.relative(location, "/data/lake")


@given(st.text())
def test_no_location_leaves_the_root(location: str):
    try:
        inside = root.relative(location, "/data/lake")
    except InvalidInputError:
        return
    assert Path(f"/data/lake/{inside}").resolve().is_relative_to("/data/lake")


@given(st.text(min_size=1, max_size=400))
def test_new_locations_are_directory_names(name: str):
    location = root.new_location(name)

    assert len(location.encode(errors="surrogatepass")) <= root.MAX_DIRECTORY_BYTES
    assert location[8] == "_"
    assert root.new_location(name) != location


def test_unknown_schemes_say_what_is_installed():
    with pytest.raises(InvalidInputError, match="There is no storage plugin 'ftp', which root 'ftp://host/x' needs"):
        lancespace.connect("dir", {"root": "ftp://host/x"})


def test_missing_cloud_is_answered_with_the_pip_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LANCESPACE_PLUGINS", "lancespace-dir")
    with pytest.raises(UnsupportedOperationError) as caught:
        lancespace.connect("dir", {"root": "s3://bucket/path"})

    assert str(caught.value) == (
        "root 's3://bucket/path' needs the dir-aws backend: pip install \"lancespace[dir-aws]\""
    )
