"""Jupyter: what a cell shows of namespaces, tables and schemas."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell

from lancespace import Namespace, connect

SECRET = "s3cr3t"


class Shown(HTMLParser):
    """The text of a page, and its tags; an unclosed or stray tag is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert attrs == []
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def lake(tmp_path: Path) -> Namespace:
    return connect("dir", {"root": str(tmp_path)})


def test_namespace(lake: Namespace):
    lake.create_namespace("sales")
    for number in range(21):
        lake.declare_table(f"t{number:02}")

    text = "".join(Shown(lake._repr_html_()).text)

    assert text.startswith(repr(lake))
    assert "namespaces: sales" in text
    assert text.endswith("t19, …")


def test_empty_namespace(lake: Namespace):
    assert Shown(lake._repr_html_()).text[1:] == ["namespaces: none", "tables: none"]


def test_table(lake: Namespace):
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("vector", pa.list_(pa.float32(), 2))]
    lake.create_table("orders", pa.table({"id": [1, 2], "vector": [[1, 2], [3, 4]]}, pa.schema(fields)))

    text = Shown(lake.table("orders")._repr_html_()).text

    assert {"version: 1", "rows: 2", "fragments: 1"} <= set(text)
    assert text[-5:] == ["id", "int64", "not null", "vector", "fixed_size_list<item: float32>[2]"]


def test_declared_table(lake: Namespace):
    lake.declare_table("orders")

    assert Shown(lake.table("orders")._repr_html_()).text[-1] == "declared, without data yet"


def test_names_are_escaped(lake: Namespace):
    evil = "<script>alert('&')<script>"
    lake.create_table(evil.replace("/", ""), pa.table({evil: [1]}))

    for shown in (lake, lake.table([evil])):
        page = Shown(shown._repr_html_())
        assert "script" not in page.tags
        assert any(evil in text for text in page.text)


def test_a_failure_is_shown_and_not_raised(lake: Namespace):
    text = Shown(lake.table("absent")._repr_html_()).text

    assert text[-1].startswith("TableNotFoundError: ")


def test_no_secrets(lake: Namespace):
    lake.create_table("orders", pa.table({"id": [1]}), properties={"password": SECRET})
    lake.update_table_schema_metadata("orders", metadata={"token": SECRET})

    assert SECRET not in lake._repr_html_() + lake.table("orders")._repr_html_()


def test_cells_of_ipython(lake: Namespace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # IPython warns if another environment is active.
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("<b>", pa.string())]
    lake.create_table("orders", pa.table({"id": [1], "<b>": ["x"]}, pa.schema(fields, {"password": SECRET})))
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "lancespace.html")
    formatter: Any = shell.display_formatter

    for cell in (lake, lake.table("orders")):
        assert formatter.format(cell)[0]["text/html"] == cell._repr_html_()
    shown = formatter.format(lake.table("orders").dataset().schema)[0]["text/html"]
    assert Shown(shown).text == ["column", "type", "id", "int64", "not null", "<b>", "string"]


def test_no_row_is_read(lake: Namespace):
    counted = connect("dir", {"root": lake.connection_args()[1]["root"], "ops_metrics_enabled": "true"})
    lake.create_table("orders", pa.table({"id": [1]}))

    counted._repr_html_()
    counted.table("orders")._repr_html_()

    assert set(counted.retrieve_ops_metrics()) == {"list_namespaces", "list_tables", "describe_table"}
