"""The words by which lancedb knows an error; without them, it raises RuntimeError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import LanceNamespaceError

from lancespace import Namespace, connect

CALLS: dict[str, list[Callable[[Namespace], Any]]] = {
    "Table not found": [lambda ns: ns.describe_table("none"), lambda ns: ns.drop_table("full.none")],
    "was not found": [lambda ns: ns.describe_table("none.t"), lambda ns: ns.deregister_table("none.t")],
    "Namespace not empty": [lambda ns: ns.drop_namespace("full")],
    "already exists": [lambda ns: ns.create_namespace("full"), lambda ns: ns.declare_table("full.t")],
}


@pytest.mark.parametrize("words", CALLS)
def test_errors_have_the_words_that_lancedb_looks_for(tmp_path: Path, words: str) -> None:
    with connect("sqlite", {"database": f"{tmp_path}/catalog.sqlite", "root": f"{tmp_path}/tables"}) as namespace:
        namespace.create_namespace("full")
        namespace.declare_table("full.t")
        for call in CALLS[words]:
            with pytest.raises(LanceNamespaceError, match=words):
                call(namespace)
