"""Pylance and adlfs with our options on one container: each sees what the other does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

from lancespace_dir_azure import AzureStorage

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS = 8
TABLE = pa.table({"id": [1, 2, 3]})
LOCATION = "az://lake/root"
plugin = AzureStorage()


def signature(options: dict[str, str], **permissions: bool) -> dict[str, str]:
    """The options with a signature in place of the key."""
    expiry = datetime.now(timezone.utc) + timedelta(hours=1)
    sas = generate_account_sas(
        options["account_name"],
        options["account_key"],
        ResourceTypes(container=True, object=True),
        AccountSasPermissions(**permissions),
        expiry,
    )
    return {"account_name": options["account_name"], "endpoint": options["endpoint"], "sas_token": sas}


@pytest.mark.parametrize(
    "root",
    ["az://lake/root", "abfs://lake/root", "abfss://lake@devstoreaccount1.dfs.core.windows.net/root"],
)
def test_a_table_goes_round(azurite_options: dict[str, str], root: str):
    options = plugin.storage_options(location=root, options=azurite_options)
    location = plugin.lance_location(f"{root}/t.lance")
    lance.write_dataset(TABLE, location, storage_options=options)
    assert lance.dataset(location, storage_options=options).count_rows() == 3
    filesystem = plugin.filesystem(location=root, options=azurite_options)
    assert filesystem.ls(filesystem._strip_protocol(root), detail=False) == ["lake/root/t.lance"]
    filesystem.rm("lake/root/t.lance", recursive=True)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(location, storage_options=options)


def test_the_emulator_by_its_name(azurite_options: dict[str, str], azurite: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", azurite)
    emulated = {"use_emulator": "true"}
    lance.write_dataset(
        TABLE, f"{LOCATION}/t.lance", storage_options=plugin.storage_options(location=LOCATION, options=emulated)
    )
    assert plugin.filesystem(location=LOCATION, options=emulated).ls("lake/root", detail=False) == ["lake/root/t.lance"]
    assert plugin.filesystem(location=LOCATION, options=azurite_options).exists("lake/root/t.lance")


def test_a_signature_to_read(azurite_options: dict[str, str]):
    writer = plugin.storage_options(location=LOCATION, options=azurite_options)
    lance.write_dataset(TABLE, f"{LOCATION}/t.lance", storage_options=writer)
    reading = signature(azurite_options, read=True, list=True)
    reader = plugin.storage_options(location=LOCATION, options=reading)
    assert lance.dataset(f"{LOCATION}/t.lance", storage_options=reader).count_rows() == 3
    with pytest.raises(OSError, match=r"AuthorizationPermissionMismatch|403"):
        lance.write_dataset(TABLE, f"{LOCATION}/u.lance", storage_options=reader)
    filesystem = plugin.filesystem(location=LOCATION, options=reading)
    assert filesystem.ls("lake/root", detail=False) == ["lake/root/t.lance"]
    with pytest.raises(HttpResponseError, match="not authorized"):
        plugin.put_if_absent(filesystem, "lake/marker", b"")


def test_listings_are_never_stale(azurite_options: dict[str, str]):
    mine = plugin.filesystem(location=LOCATION, options=azurite_options)
    theirs = plugin.filesystem(location=LOCATION, options={**azurite_options, "max_concurrency": "2"})
    assert mine is not theirs
    theirs.pipe_file("lake/dir/a", b"")
    assert mine.ls("lake/dir", detail=False) == ["lake/dir/a"]
    theirs.pipe_file("lake/dir/b", b"")
    assert mine.ls("lake/dir", detail=False) == ["lake/dir/a", "lake/dir/b"]
    theirs.rm("lake/dir/a")
    assert mine.find("lake") == ["lake/dir/b"]
    theirs.rm("lake/dir", recursive=True)
    with pytest.raises(FileNotFoundError):
        mine.ls("lake/dir")


def winners(write: Callable[[bytes], Any]) -> list[bytes]:
    """What those wrote who were told that they had written, of several who start at once."""
    start = threading.Barrier(WRITERS)

    def compete(number: int) -> bytes | None:
        data = f"writer {number}".encode()
        start.wait()
        return data if write(data) else None

    with ThreadPoolExecutor(WRITERS) as pool:
        return [data for data in pool.map(compete, range(WRITERS)) if data is not None]


def test_of_many_writers_one_wins(azurite_options: dict[str, str]):
    filesystem = plugin.filesystem(location=LOCATION, options=azurite_options)
    won = winners(lambda data: plugin.put_if_absent(filesystem, "lake/race", data))
    assert won == [filesystem.cat_file("lake/race")]


def test_control_without_the_condition_all_win(azurite_options: dict[str, str]):
    """The race above can fail: whoever overwrites is told that he has written."""
    filesystem = plugin.filesystem(location=LOCATION, options=azurite_options)
    assert len(winners(lambda data: filesystem.pipe_file("lake/race", data))) == WRITERS
