"""A table goes round, with nothing but what is in the environment: pylance writes and reads it, adlfs sees it."""

from __future__ import annotations

import sys

import lance
import pyarrow as pa

from lancespace_dir_azure import AzureStorage
from lancespace_dir_azure.accounts import EMULATOR

ROOT = "az://chain/root"
TABLE = pa.table({"id": [1, 2, 3]})


def go_round(endpoint: str) -> None:
    """Raise if anything is not as it should be."""
    plugin = AzureStorage()
    options = {"account_name": EMULATOR["account_name"], "endpoint": endpoint}
    filesystem = plugin.filesystem(location=ROOT, options=options)
    filesystem.mkdir("chain")
    told = plugin.storage_options(location=ROOT, options=options)
    lance.write_dataset(TABLE, f"{ROOT}/t.lance", storage_options=told)
    assert lance.dataset(f"{ROOT}/t.lance", storage_options=told).count_rows() == TABLE.num_rows
    assert filesystem.ls("chain/root", detail=False) == ["chain/root/t.lance"]
    filesystem.rm("chain", recursive=True)


if __name__ == "__main__":
    go_round(sys.argv[1])
