"""Pylance and s3fs with our options on one bucket: each sees what the other does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from moto.s3.responses import S3Response

from lancespace.authoring import Connection
from lancespace_dir_aws import S3Storage

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS = 8
TABLE = pa.table({"id": [1, 2, 3]})
plugin = S3Storage()


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_table_goes_round(moto_options: dict[str, str], scheme: str):
    root = f"{scheme}://lake/{scheme}-root"
    options = plugin.storage_options(location=root, options=moto_options)
    location = plugin.lance_location(f"{root}/t.lance")
    lance.write_dataset(TABLE, location, storage_options=options)
    lance.write_dataset(TABLE, location, storage_options=options, mode="append")
    assert lance.dataset(location, storage_options=options).count_rows() == 6
    filesystem = plugin.filesystem(location=root, options=moto_options)
    path = filesystem._strip_protocol(root)
    assert filesystem.ls(path, detail=False) == [f"{path}/t.lance"]
    filesystem.rm(f"{path}/t.lance", recursive=True)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(location, storage_options=options)


@pytest.mark.parametrize(
    ("encryption", "stored"),
    [
        ({"server_side_encryption": "AES256"}, {"ServerSideEncryption": "AES256"}),
        (
            {"server_side_encryption": "aws:kms", "sse_kms_key_id": "key", "sse_bucket_key_enabled": "true"},
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "key", "BucketKeyEnabled": True},
        ),
    ],
)
def test_everything_is_encrypted_alike(
    moto_options: dict[str, str], encryption: dict[str, str], stored: dict[str, object]
):
    options = {**moto_options, **encryption}
    filesystem = plugin.filesystem(location="s3://lake", options=options)
    plugin.put_if_absent(filesystem, "lake/marker", b"")
    storage_options = plugin.storage_options(location="s3://lake", options=options)
    lance.write_dataset(TABLE, "s3://lake/t.lance", storage_options=storage_options)
    keys = [path.removeprefix("lake/") for path in filesystem.find("lake")]
    assert len(keys) == 4
    for key in keys:
        assert stored.items() <= filesystem.call_s3("head_object", Bucket="lake", Key=key).items()


def test_listings_are_never_stale(moto_options: dict[str, str]):
    mine = plugin.filesystem(location="s3://lake", options=moto_options)
    theirs = plugin.filesystem(location="s3://lake", options={**moto_options, "user_agent": "another"})
    assert mine is not theirs
    theirs.pipe_file("lake/dir/a", b"")
    assert mine.ls("lake/dir", detail=False) == ["lake/dir/a"]
    theirs.pipe_file("lake/dir/b", b"")
    assert mine.ls("lake/dir", detail=False) == ["lake/dir/a", "lake/dir/b"]
    theirs.rm("lake/dir/a")
    assert mine.ls("lake/dir", detail=False) == ["lake/dir/b"]
    assert mine.find("lake") == ["lake/dir/b"]
    theirs.rm("lake/dir", recursive=True)
    assert not mine.exists("lake/dir")
    with pytest.raises(FileNotFoundError):
        mine.ls("lake/dir")


def test_equal_options_share_a_file_system(moto_options: dict[str, str]):
    one = plugin.filesystem(location="s3://lake/a", options=moto_options)
    assert one is plugin.filesystem(location="s3://lake/b", options=dict(moto_options))


def test_a_marker_is_written_once(moto_options: dict[str, str]):
    filesystem = plugin.filesystem(location="s3://lake", options=moto_options)
    assert plugin.put_if_absent(filesystem, "lake/marker", b"first")
    assert not plugin.put_if_absent(filesystem, "lake/marker", b"second")
    assert filesystem.cat_file("lake/marker") == b"first"
    filesystem.rm("lake/marker")
    assert plugin.put_if_absent(filesystem, "lake/marker", b"third")


def test_a_missing_bucket_is_no_refusal(moto_options: dict[str, str]):
    filesystem = plugin.filesystem(location="s3://nowhere", options=moto_options)
    with pytest.raises(FileNotFoundError):
        plugin.put_if_absent(filesystem, "nowhere/marker", b"")


def winners(write: Callable[[bytes], Any]) -> list[bytes]:
    """What those wrote who were told that they had written, of several who start at once."""
    start = threading.Barrier(WRITERS)

    def compete(number: int) -> bytes | None:
        data = f"writer {number}".encode()
        start.wait()
        return data if write(data) else None

    with ThreadPoolExecutor(WRITERS) as pool:
        return [data for data in pool.map(compete, range(WRITERS)) if data is not None]


def test_of_many_writers_one_wins(moto_options: dict[str, str]):
    filesystem = plugin.filesystem(location="s3://lake", options=moto_options)
    for turn in range(5):
        path = f"lake/race-{turn}"
        won = winners(lambda data, path=path: plugin.put_if_absent(filesystem, path, data))  # type: ignore[misc]
        assert won == [filesystem.cat_file(path)]


def test_control_without_the_condition_all_win(moto_options: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    """The race above can fail: against an S3 that does not look at the condition, everybody wins."""
    put_object = S3Response.put_object

    def unconditional(self: S3Response) -> Any:
        self.headers = {name: value for name, value in self.headers.items() if name.lower() != "if-none-match"}
        return put_object(self)

    monkeypatch.setattr(S3Response, "put_object", unconditional)
    filesystem = plugin.filesystem(location="s3://lake", options=moto_options)
    assert len(winners(lambda data: plugin.put_if_absent(filesystem, "lake/race", data))) == WRITERS


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_connection_finds_the_plugin_by_its_scheme(moto_options: dict[str, str], scheme: str):
    storage = Connection("memory", {}).storage(f"{scheme}://lake/root", moto_options)
    marker = storage.path(storage.uri("table/.marker"))
    storage.put_if_absent(marker, b"")
    with pytest.raises(FileExistsError):
        storage.put_if_absent(marker, b"")
    assert storage.options["aws_endpoint"] == moto_options["endpoint"]
    storage.delete_tree(storage.path())
    storage.delete_tree(storage.path())
    assert not storage.filesystem.exists(marker)
