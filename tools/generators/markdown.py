"""The little Markdown that the generated pages need."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTICE = "<!-- Written by `python -m tools.generate` from the code: do not edit. -->"


def page(*blocks: str) -> str:
    """A generated page of blocks with a blank line between them."""
    return "\n\n".join([NOTICE, *(block.strip() for block in blocks)]) + "\n"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a cell may hold anything but a line break or a bar."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    """`text` in a code font."""
    return f"`{text}`"


def codes(texts: Iterable[str], otherwise: str = "-") -> str:
    """Several words in a code font, or what to show if there are none."""
    return ", ".join(map(code, texts)) or otherwise


def plain(text: str) -> str:
    """Text in which nothing is meant as markup."""
    return re.sub(r"[<_*]", lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", text)


def docstring(thing: object) -> str:
    """The docstring of something, its reStructuredText made Markdown."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")
