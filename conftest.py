"""For all tests: the emulators of the clouds, which start when a test asks for one, and how tests are shared out."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.emulators import guard

if TYPE_CHECKING:
    from collections.abc import Iterator

guard.install()

pytest_plugins = ["tests.emulators.fixtures"]

_STATE = tempfile.TemporaryDirectory(prefix="lancespace-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name
"""Servers keep idempotency keys there."""

os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
"""What Spark does in a test is done too seldom to be worth Java's second compiler: tests take longer with it."""


@pytest.fixture(autouse=True)
def _stays_here() -> Iterator[None]:
    """A test that reaches for the network fails, also if the program under test takes that as any other failure."""
    guard.reached.clear()
    yield
    if guard.reached:
        pytest.fail(f"the test tried to connect to {guard.reached}")


TOGETHER = ("plugins/spark/",)
"""Folders whose tests share something slow to start: all of them run in one process."""

APART = ("plugins/spark/tests/test_pipeline_interrupts.py",)
"""Files of such folders that share nothing of it."""

LONG = (
    *TOGETHER,
    *APART,
    "tests/docs/test_snippets.py",
    "tests/clouds/test_faults.py",
    "tests/packaging/test_extras.py",
    "plugins/views/tests/test_equivalence.py",
    "tests/clouds/test_races.py",
    "tests/benchmarks/test_rest.py",
    "plugins/server/tests/test_schemathesis.py",
)
"""What takes long for the number of its tests, the longest first: begun last, it would keep one process busy alone."""


class FolderScheduling(LoadFileScheduling):  # type: ignore[misc] # xdist ships no types
    """The tests of a file, or of a folder that shares something, run in one process.

    The long ones begin first. After them come the files with the most tests, which is xdist's own way.
    """

    def _split_scope(self, nodeid: str) -> str:
        shared = () if nodeid.startswith(APART) else TOGETHER
        folder = next((folder for folder in shared if nodeid.startswith(folder)), None)
        return folder or super()._split_scope(nodeid)

    def _assign_work_unit(self, node: object) -> None:
        for scope in reversed(LONG):
            if scope in self.workqueue:
                self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FolderScheduling | None:
    """Used with ``--dist loadfile``, as ``make test`` does."""
    return FolderScheduling(config, log) if config.getoption("dist") == "loadfile" else None
