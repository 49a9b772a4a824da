"""Azurite, Microsoft's emulator of Azure Blob Storage; where it is not installed, its tests are skipped."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from lancespace_dir_azure.accounts import EMULATOR

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTAINER = "lake"
FLAGS = ("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry")


def azurite_command() -> list[str]:
    """How to start it: the script that AZURITE names, or else the program on the path."""
    script, node, program = os.environ.get("AZURITE"), shutil.which("node"), shutil.which("azurite-blob")
    if script and node:
        return [node, script]
    if program:
        return [program]
    if not node:
        pytest.skip("needs Node, and azurite: npm install azurite")
    pytest.skip("needs azurite: npm install azurite, and set AZURITE to its dist/src/blob/main.js")


@pytest.fixture(scope="session")
def azurite() -> Iterator[str]:
    """The address of an emulator that has nothing in it."""
    command = [*azurite_command(), "--blobHost", "127.0.0.1", "--blobPort", "0", *FLAGS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if address := re.search(r"successfully listens on (http://\S+)", line):
                yield address.group(1)
                break
        else:
            pytest.fail(f"azurite did not start: {''.join(said)}")
        process.terminate()
        process.communicate()


@pytest.fixture
def azurite_options(azurite: str) -> Iterator[dict[str, str]]:
    """Options for an emulator with one empty container."""
    from adlfs import AzureBlobFileSystem

    options = {**EMULATOR, "endpoint": f"{azurite}/{EMULATOR['account_name']}"}
    owner = AzureBlobFileSystem(
        connection_string=f"BlobEndpoint={options['endpoint']};AccountName={options['account_name']};"
        f"AccountKey={options['account_key']}"
    )
    owner.mkdir(CONTAINER)
    yield options
    owner.rm(CONTAINER, recursive=True)
