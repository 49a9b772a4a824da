from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace import InvalidInputError, UnsupportedOperationError

from lancespace import connect
from lancespace.authoring import Connection, Credentials, Storage, registry, scheme_of
from lancespace_testing.samples import sample


def local(path: Path) -> Storage:
    return Connection("memory", {}).storage(str(path))


# --- the local store -------------------------------------------------------------------------------------------------


def test_put_if_absent_makes_directories_and_refuses_a_second_time(tmp_path: Path):
    storage = local(tmp_path)
    path = str(tmp_path / "a" / "b" / "marker")

    storage.put_if_absent(path, b"first")
    with pytest.raises(FileExistsError, match="marker exists already"):
        storage.put_if_absent(path, b"second")

    assert Path(path).read_bytes() == b"first"
    assert [entry.name for entry in Path(path).parent.iterdir()] == ["marker"], "nothing else is left behind"


def test_of_many_threads_exactly_one_puts(tmp_path: Path):
    storage = local(tmp_path)

    def put(writer: int) -> list[int]:
        won = []
        for number in range(20):
            try:
                storage.put_if_absent(str(tmp_path / str(number)), str(writer).encode())
            except FileExistsError:
                continue
            won.append(number)
        return won

    with ThreadPoolExecutor(8) as pool:
        winners = list(pool.map(put, range(8)))

    assert sorted(number for won in winners for number in won) == list(range(20))
    for writer, won in enumerate(winners):
        assert {(tmp_path / str(number)).read_text() for number in won} <= {str(writer)}


RACER = """
import sys
from lancespace.authoring import Connection
storage = Connection("memory", {}).storage(sys.argv[1])
sys.stdin.readline()
for number in range(100):
    try:
        storage.put_if_absent(f"{sys.argv[1]}/{number}", b"x" * 1000)
    except FileExistsError:
        continue
    print(number)
"""


def test_of_several_processes_exactly_one_puts(tmp_path: Path):
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [racer.communicate("go\n")[0] for racer in racers]

    assert sorted(int(line) for answer in answers for line in answer.split()) == list(range(100))
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"x" * 1000}


def test_delete_tree_can_be_repeated(tmp_path: Path):
    storage = local(tmp_path)
    storage.put_if_absent(str(tmp_path / "t.lance" / "data" / "file"), b"x")

    storage.delete_tree(str(tmp_path / "t.lance"))
    storage.delete_tree(str(tmp_path / "t.lance"))

    assert list(tmp_path.iterdir()) == []


def test_delete_tree_goes_on_when_somebody_writes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    storage = local(tmp_path)
    table = tmp_path / "t.lance"
    storage.put_if_absent(str(table / "file"), b"x")
    late = iter(["later"])
    rmdir = os.rmdir

    def write_first(path: Any, **keywords: Any) -> None:
        for name in late:
            (table / name).write_bytes(b"x")
        rmdir(path, **keywords)

    monkeypatch.setattr(os, "rmdir", write_first)
    storage.delete_tree(str(table))

    assert list(tmp_path.iterdir()) == []


def test_delete_tree_goes_on_when_somebody_begins_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = tmp_path / "t.lance"
    late = iter(["data"])
    remove = os.remove

    def write_first(path: Any, **keywords: Any) -> None:
        for name in late:
            (table / name).mkdir(parents=True)
        remove(path, **keywords)

    monkeypatch.setattr(os, "remove", write_first)
    local(tmp_path).delete_tree(str(table))

    assert next(late, None) is None
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_dropped_even_if_somebody_keeps_writing_files(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def refuse(path: Any, **_: Any) -> None:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    with connect("memory", {}) as namespace:
        namespace.create_table("t", sample())
        with monkeypatch.context() as patch:
            patch.setattr(os, "rmdir", refuse)
            namespace.drop_table("t")
        assert not namespace.list_tables([]).tables
    assert "'t' was written to while it was dropped; files may be left" in caplog.text


def test_local_storage_writes_nothing_by_being_made(tmp_path: Path):
    storage = local(tmp_path / "not-there")

    assert storage.options == {}
    assert storage.path() == str(tmp_path / "not-there")
    assert not (tmp_path / "not-there").exists()


def test_local_storage_has_no_options(tmp_path: Path):
    storage = Connection("memory", {}).storage(str(tmp_path), {"made_up": "eu"})

    with pytest.raises(InvalidInputError, match=r"^file storage has no option 'made_up'\. Known: none\.$"):
        _ = storage.options


def test_local_storage_vends_no_credentials(tmp_path: Path):
    assert local(tmp_path).vendor_properties() is None


# --- locations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "scheme"),
    [
        ("/data/lance", "file"),
        ("relative/path", "file"),
        ("file:///data", "file"),
        ("S3://bucket/path", "s3"),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss"),
        ("C:\\data", "file"),
        ("c:/data", "file"),
        ("", "file"),
        ("/a://b", "file"),
        ("s3+ddb://bucket", "s3+ddb"),
    ],
)
def test_scheme(location: str, scheme: str):
    assert scheme_of(location) == scheme


@given(st.text())
def test_any_text_has_a_scheme(location: str):
    assert scheme_of(location) == scheme_of(location).lower() != ""


@pytest.mark.parametrize("given_", ["/data/", "/data"])
def test_uris_below_a_location(given_: str):
    storage = Connection("memory", {}).storage(given_)

    assert (storage.uri("t.lance"), storage.uri("")) == ("/data/t.lance", "/data")


def test_the_root_of_the_file_system_stays_a_path():
    assert Connection("memory", {}).storage("/").location == "/"


def test_store_that_is_not_installed_is_answered_with_its_pip_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(registry.SELECT_VARIABLE, "")

    with pytest.raises(UnsupportedOperationError) as caught:
        Connection("memory", {}).storage("s3://bucket/path", named="root")

    assert str(caught.value) == (
        "root 's3://bucket/path' needs the dir-aws backend: pip install \"lancespace[dir-aws]\""
    )


def test_unknown_scheme_is_answered_with_the_installed_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(registry.SELECT_VARIABLE, "")

    with pytest.raises(InvalidInputError) as caught:
        Connection("memory", {}).storage("ftp://me:hunter2@host/path", named="root")

    assert str(caught.value).startswith(
        "There is no storage plugin 'ftp', which root 'ftp://***@host/path' needs. Installed: file."
    )


def test_representations_show_no_secret(tmp_path: Path):
    assert "hunter2" not in repr(Credentials({"aws_secret_access_key": "hunter2"}, 5))
    assert repr(local(tmp_path)) == f"Storage({str(tmp_path)!r})"
