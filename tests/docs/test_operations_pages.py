"""Every operation has an example, on the page of its kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lancespace import connect
from lancespace.authoring import OPERATIONS, Kind, Operation, Subject
from tests.docs.pages import DOCS, blocks

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted((DOCS / "operations").glob("*.md"))
HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)
BY_KIND = {
    Kind.INDEX: "indexes",
    Kind.VERSION: "versions",
    Kind.TAG: "tags",
    Kind.BRANCH: "branches",
    Kind.TRANSACTION: "jobs",
}


def page_of(operation: Operation) -> str:
    """The spec's kinds, where the two large ones are divided by what an operation is about."""
    if operation.kind in BY_KIND:
        return BY_KIND[operation.kind]
    if operation.subject is Subject.VIEW or operation.status == 202:
        return "views" if operation.subject is Subject.VIEW else "jobs"
    if operation.subject is not Subject.TABLE:
        return "namespaces"
    if operation.name.endswith(("_columns", "_metadata")):
        return "schema"
    if operation.kind is Kind.METADATA:
        return "tables"
    return "data" if operation.writes else "query"


def section(operation: Operation) -> str:
    """What the page of an operation says about it."""
    text = (DOCS / "operations" / f"{page_of(operation)}.md").read_text()
    return text.partition(f"\n## {operation.name}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The operations that the directory backend has."""
    return connect("dir", {"root": str(tmp_path_factory.mktemp("lake"))}).capabilities()


def test_every_operation_has_one_heading_on_the_page_of_its_kind():
    found = sorted((heading, page.stem) for page in PAGES for heading in HEADING.findall(page.read_text()))

    assert found == sorted((operation.name, page_of(operation)) for operation in OPERATIONS.values())


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_what_the_directory_backend_answers_is_shown_and_the_rest_said(
    operation: Operation, answered: frozenset[str], tmp_path: Path
):
    page = tmp_path / "section.md"
    page.write_text(section(operation))
    is_called = any(f"ns.{operation.name}(" in block.code for block in blocks(page) if block.language == "python")

    assert is_called == (operation.name in answered)
    assert ("does not answer it yet" in section(operation)) != is_called


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_errors_are_one_click_away(operation: Operation):
    assert f"[Errors](../reference/operations.md#{operation.kind.value})" in section(operation)
