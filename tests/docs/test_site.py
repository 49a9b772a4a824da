"""The pages hang together."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, PAGES, name
from tools.workspace import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    """The links of a page that lead to other pages or files."""
    targets = re.findall(r"\]\(([^)\s]+)\)", _FENCED.sub("", page.read_text()))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_internal_links_resolve(page: Path):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name(page)} links to {link}"


def test_every_page_can_be_reached():
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page)}

    assert {name(page) for page in DOCS.rglob("*.md") if page not in linked} <= {"docs/index.md"}


def test_the_site_builds_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", f"--site-dir={tmp_path / 'site'}"]

    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "site" / "index.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_name_no_path_of_a_machine(page: Path):
    assert not re.search(r"/(home|root|Users|work|tmp)/", page.read_text())


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("*.svg")), ids=name)
def test_pictures_load_nothing_from_other_sites(picture: Path):
    assert not re.search(r"""(?:url\(|href=|src=|@import )\s*["']?https?:""", picture.read_text())


_NAMED_TEST = re.compile(r"`((?:[\w.-]+/)+test_\w+\.py)::(?:\w+::)?(test_\w+)`")


def test_named_tests_exist():
    named = [(name(page), *found) for page in PAGES for found in _NAMED_TEST.findall(page.read_text())]

    missing = [
        where
        for where in named
        if not re.search(rf"^ *(?:async )?def {where[2]}\(", (ROOT / where[1]).read_text(), re.MULTILINE)
    ]

    assert named
    assert not missing


def test_every_threat_names_its_test():
    table = (
        (DOCS / "server" / "security.md").read_text().partition("| Threat | Answer | Test |")[2].partition("\n\n")[0]
    )
    rows = table.strip().splitlines()[1:]

    assert rows
    assert not [row for row in rows if not _NAMED_TEST.search(row)]


def test_everything_that_deletes_names_its_test():
    page = (DOCS / "explanation" / "deletion.md").read_text()
    rows = [
        line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| What del"))
    ]

    assert len(rows) > 30
    assert not [row for row in rows if not _NAMED_TEST.search(row)]
