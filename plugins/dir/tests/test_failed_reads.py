"""A read that fails leaves nothing behind: the same connection sees the whole catalog once it can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import InvalidTableStateError, NamespaceAlreadyExistsError

from lancespace import connect


def test_half_a_manifest_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    writer = connect("dir", {"root": str(tmp_path)})
    writer.create_namespace("sales")
    writer.declare_table("sales.orders")
    reader = connect("dir", {"root": str(tmp_path)})
    data, away = tmp_path / "__manifest" / "data", tmp_path / "away"

    data.rename(away)
    with pytest.raises(InvalidTableStateError, match="read the catalog's manifest"):
        list(reader.namespaces())
    away.rename(data)

    assert list(reader.namespaces()) == ["sales"]
    assert list(reader.tables("sales")) == ["orders"]
    with pytest.raises(NamespaceAlreadyExistsError):
        reader.create_namespace("sales")
