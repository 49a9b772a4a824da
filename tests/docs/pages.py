"""The pages of the documentation, and the code on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from tools.workspace import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    title: str
    """The file that the block is, or is the next part of; empty for code that is run where it stands."""
    code: str
    line: int
    """Of the first line of code in its page."""
    output: str | None
    """What the page says that the code prints: the `text` block right after it."""


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    for block, following in zip_longest(found, found[1:]):
        is_output = following and following["language"] == "text" and not text[block.end() : following.start()].strip()
        line = text.count("\n", 0, block.start("code")) + 1
        output = following["code"] if following and is_output else None
        yield Block(block["language"], block["title"] or "", block["code"], line, output)


def name(page: Path) -> str:
    """A page as tests are labelled with it."""
    return str(page.relative_to(ROOT))
