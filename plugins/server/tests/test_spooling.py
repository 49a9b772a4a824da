"""Bodies that are read whole before anything is done with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lancespace import Namespace
from lancespace_server import ServerSettings, create_app
from lancespace_testing.samples import sample, stream
from plugins.server.tests.callers import ARROW
from plugins.server.tests.test_at_once import over_asgi

WHOLE = stream(sample(), batch_rows=2)
BROKEN = WHOLE[: len(WHOLE) // 2]
HEADERS = [(name.encode(), value.encode()) for name, value in ARROW.items()]


class Watched(Namespace):
    """A namespace that notes what it is asked for."""

    def call(self, operation: Any, *arguments: Any, **fields: Any) -> Any:
        self.asked = [*getattr(self, "asked", []), operation.name]
        return super().call(operation, *arguments, **fields)


@pytest.mark.parametrize("buffer_bytes", [64, 1 << 20])
def test_a_table_is_not_begun_before_all_its_rows_have_come(tmp_path: Path, buffer_bytes: int):
    """Whatever a backend leaves behind that finds out in the middle."""
    with Watched("dir", {"root": str(tmp_path)}) as namespace:
        app = create_app(namespace, ServerSettings(buffer_bytes=buffer_bytes))

        refused = over_asgi(app, "POST", "/v1/table/broken/create", b"", HEADERS, BROKEN)
        made = over_asgi(app, "POST", "/v1/table/whole/create", b"", HEADERS, WHOLE)

    assert (refused[0], b"not a sound Arrow IPC stream" in refused[2]) == (400, True)
    assert made[0] == 200
    assert namespace.asked == ["create_table"]
