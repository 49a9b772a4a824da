"""The most memory that one large insert takes, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from lance_namespace import CreateTableRequest, InsertIntoTableRequest

from benchmarks.catalog import OPEN
from benchmarks.rows import batches, rows, to_ipc, write_ipc

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = ["bulk"]
FORMS: dict[str, Callable[[str], Any]] = {
    "bytes": lambda path: Path(path).read_bytes(),
    "stream": lambda path: pa.ipc.open_stream(pa.OSFile(path)),
}
"""How the rows of a file are handed over."""


def write_rows(path: str, megabytes: int) -> str:
    """Write so many megabytes of rows into a file, as an Arrow IPC stream."""
    sample = next(batches(1000))
    write_ipc(batches(round(megabytes * 1e6 * sample.num_rows / sample.nbytes)), path)
    return path


def peak_megabytes(who: str, form: str, root: str, path: str) -> float:
    """The peak resident memory of a process that inserts the rows of a file into a small table."""
    OPEN[who](root).create_table(CreateTableRequest(id=TABLE), to_ipc(rows(range(10))))
    command = [sys.executable, "-m", "benchmarks.peak", who, form, root, path]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _insert(who: str, form: str, root: str, path: str) -> None:
    OPEN[who](root).insert_into_table(InsertIntoTableRequest(id=TABLE), FORMS[form](path))
    print(most_megabytes())


def most_megabytes(process: int | str = "self") -> float:
    """The kernel's high-water mark; ``ru_maxrss`` would count what the parent had before this program was loaded."""
    return megabytes("VmHWM", process)


def megabytes(field: str, process: int | str = "self") -> float:
    """What the kernel says about the memory of a process: a field of ``/proc/*/status``."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(rf"{field}:\s+(\d+) kB", status)[0]) / 1e3


if __name__ == "__main__":
    _insert(*sys.argv[1:])
