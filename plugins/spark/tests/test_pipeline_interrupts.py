"""Ctrl-C in a terminal while a step's tasks are at work: nothing is left half done, and the next run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pexpect
import pyarrow as pa
import pytest

from lancespace_dir.checks import check
from lancespace_testing.waiting import until
from plugins.cli.tests.terminals import ANSI, spawn
from plugins.spark.tests.pipelines import Folder

CTRL_C = "\x03"
PATIENCE = 240
"""Seconds: Java starts slowly beside other tests."""
STEP = """
[spark]
"spark.master" = "local[2]"
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"

[[step]]
name = "slow"
kind = "transform"
from = "raw.orders"
into = "shop.orders"
function = "waiting:wait"
schema = "id long"
"""
MODULE = """
import os
import time
from pathlib import Path

FOLDER = Path({folder!r})

def wait(batch):
    (FOLDER / "worker").write_text(str(os.getpid()))
    (FOLDER / "worker").rename(FOLDER / "at_work")
    while not (FOLDER / "go").exists():
        time.sleep(0.1)
    return batch.select(["id"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path)
    (tmp_path / "waiting.py").write_text(MODULE.format(folder=str(tmp_path)))
    with folder.namespace() as namespace:
        namespace.create_namespace("raw")
        namespace.create_table("raw.orders", pa.table({"id": range(3)}))
    yield folder
    (tmp_path / "go").touch()  # Whoever is still at work, after a test that failed, ends.


def started(folder: Folder) -> pexpect.spawn:
    return spawn("pipeline", "run", "orders.toml", folder=folder.path, SPARK_LOCAL_IP="127.0.0.1")


def read_until(shell: pexpect.spawn, is_so: Callable[[], bool]) -> None:
    """Wait, and read what is printed meanwhile: a terminal that nobody reads stops who writes to it."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        shell.expect(pexpect.TIMEOUT, timeout=0.1)


def ended(shell: pexpect.spawn) -> tuple[int, str]:
    """The exit code of a command, and what it has printed."""
    shell.expect(pexpect.EOF, timeout=PATIENCE)
    shell.close()
    return shell.exitstatus, ANSI.sub("", shell.before)


@pytest.mark.parametrize("key", ["", 'key = ["id"]\n'], ids=["append", "upsert"])
def test_a_run_that_is_interrupted_leaves_nothing_and_the_next_one_goes_on(folder: Folder, key: str) -> None:
    folder.pipeline(STEP + key)
    shell = started(folder)
    marker = folder.path / "at_work"
    read_until(shell, marker.exists)

    shell.send(CTRL_C)

    code, printed = ended(shell)
    assert code == 130
    assert printed.count("Interrupted in step slow: run the pipeline again to go on with it.") == 1
    assert not any(word in printed for word in ("Traceback", "Exception", "Error", "\tat ")), printed
    until(lambda: Path(f"/proc/{marker.read_text()}").exists(), lambda exists: not exists)
    with folder.namespace() as namespace:
        assert not namespace.table("shop.orders").exists()
        assert list(check(namespace, older_than=timedelta(0))) == []
    assert list((folder.path / "lake" / "__jobs" / "pipelines").rglob("orders.runs/*")) == []

    (folder.path / "go").touch()
    assert ended(started(folder))[0] == 0
    assert folder.ids("shop.orders") == [0, 1, 2]
