"""Another process that writes to a table as long as a test likes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from typing_extensions import Self


class OtherWriter:
    """Appends rows with keys from 1000 on, and now and then deletes a key below 10 and renames one from 30 on."""

    def __init__(self, root: str, table: str) -> None:
        self._command = [sys.executable, __file__, root, table]
        self.appended: set[int] = set()
        self.deleted: set[int] = set()

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        told, _nothing = self._process.communicate("stop\n")
        assert self._process.returncode == 0
        did = json.loads(told)
        self.appended, self.deleted = set(did["appended"]), set(did["deleted"])


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(root: str, table: str) -> None:
    import select

    from lancespace import connect
    from plugins.spark.tests.data import orders

    did: dict[str, list[int]] = {"appended": [], "deleted": []}
    with connect("dir", {"root": root}) as namespace:
        tell("ready")
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            number = len(did["appended"])
            namespace.insert_into_table(table, orders(1000 + number, 1001 + number))
            did["appended"].append(1000 + number)
            if number % 10 == 5 and len(did["deleted"]) < 10:
                key = len(did["deleted"])
                namespace.delete_from_table(table, predicate=f"id = {key}")
                did["deleted"].append(key)
                namespace.update_table(table, updates=[["name", "'renamed'"]], predicate=f"id = {30 + key}")
    tell(json.dumps(did))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    main(*sys.argv[1:])
