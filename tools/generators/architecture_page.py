"""The table of packages in `docs/architecture.md`; the rest of that page is written by hand."""

from __future__ import annotations

import re

from tools.generators import markdown
from tools.workspace import ROOT, Distribution, packages

PAGE = ROOT / "docs" / "architecture.md"
_TABLE = re.compile(r"(?<=<!-- packages -->\n).*?(?=<!-- end -->)", re.DOTALL)
_HUNDRED = 100


def render() -> str:
    """The page, with the table as it is now."""
    rows = [_row(package) for package in packages()]
    table = markdown.table(("Package", "Purpose", "Lines, about", "Depends on"), rows)
    return _TABLE.sub(lambda _: f"\n{table}\n\n", PAGE.read_text(encoding="utf-8"))


def _row(package: Distribution) -> list[str]:
    ours = sorted({line.name for line in package.required if line.name.startswith("lancespace")})
    folder = package.folder.relative_to(ROOT)
    return [
        f"`{package.source.name}` ({folder}/)",
        str(package.project["description"]).rstrip("."),
        str(round(_lines(package) / _HUNDRED) * _HUNDRED),
        ", ".join(name.removeprefix("lancespace-") for name in ours) or "-",
    ]


def _lines(package: Distribution) -> int:
    sources = (path for path in package.source.rglob("*.py") if "templates" not in path.parts)
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources)
