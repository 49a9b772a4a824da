"""Azurite, Microsoft's emulator of Azure Blob Storage: a program for Node, installed with npm where it is not yet."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.ensure import AZURITE, NODE
from tools.program import MissingToolError

_FLAGS = ("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry")


@contextmanager
def azurite_server(*flags: str) -> Iterator[str]:
    """Run it on a free port; the address is ``http://127.0.0.1:...``. Skips where it cannot be had."""
    command = [*_program(), "--blobHost", "127.0.0.1", "--blobPort", "0", *_FLAGS, *flags]
    environment = {**os.environ, "NODE_NO_WARNINGS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield _address(process.stdout)
        finally:
            process.terminate()
            process.communicate()


def _program() -> list[str]:
    """How to start it; several processes of one test run install it only once."""
    with (Path(sys.prefix) / ".azurite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return [str(NODE.ensure()), str(AZURITE.ensure().resolve())]
        except MissingToolError as error:
            pytest.skip(str(error))


def _address(output: Iterator[str]) -> str:
    said = []
    for line in output:
        if found := re.search(r"successfully listens on (https?://\S+)", line):
            return found.group(1)
        said.append(line)
    raise RuntimeError(f"azurite did not start: {''.join(said)}")
