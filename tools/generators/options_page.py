"""`docs/reference/storage-options.md`: the spellings of every storage option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lancespace.authoring import OptionTable
from lancespace.registry import STORAGE
from tools.generators import markdown, plugins
from tools.generators.markdown import code, codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace.authoring import Option

INTRODUCTION = """
# Storage options

Storage options are given as properties with the prefix `storage.`, in any spelling below, in upper or lower case; an
option's names in pylance and fsspec are spellings too. From one table come both the options of pylance's object store
and the arguments of the fsspec file system, so a setting reaches every path to the store; an option that the table does
not know is refused.
"""

TITLES = ("Option", "Also written", "pylance", "fsspec", "Environment", "Remarks")


def render() -> str:
    """The page."""
    return markdown.page(INTRODUCTION, *(_section(table, schemes) for table, schemes in _tables()))


def _tables() -> list[tuple[OptionTable, list[str]]]:
    """Each store's table, with the URL schemes it serves."""
    found: dict[int, tuple[OptionTable, list[str]]] = {}
    for scheme, _, plugin in plugins.ours(STORAGE):
        table: OptionTable = plugin.table
        found.setdefault(id(table), (table, []))[1].append(scheme)
    return list(found.values())


def _section(table: OptionTable, schemes: list[str]) -> str:
    urls = codes(f"{scheme}://" for scheme in schemes) + (" and plain paths" if "file" in schemes else "")
    rows = [_row(option) for option in table.options.values()]
    body = markdown.table(TITLES, rows) if rows else "It has no options, and refuses any."
    return f"## {table.store}\n\nLocations: {urls}\n\n{body}"


def _row(option: Option) -> list[str]:
    return [
        code(option.name),
        codes(option.spellings),
        codes(option.lance_names),
        codes(filter(None, [option.fsspec])),
        codes(option.environment),
        markdown.plain("; ".join(_remarks(option))),
    ]


def _remarks(option: Option) -> Iterator[str]:
    if option.refused:
        yield option.refused
    if option.note:
        yield option.note
    if option.needs:
        yield f"needs {', '.join(option.needs)}"
    if option.secret:
        yield "secret"
