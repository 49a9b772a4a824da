"""The pages of the clouds: what they say to copy is taken, and what they show is what is sent."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

import pytest

from lancespace._storage.vending import ENABLED, FAMILY
from lancespace.authoring import VENDOR_PROPERTIES, Connection, Settings
from lancespace_dir import DirectoryBackend
from lancespace_dir_aws import vending as aws_vending
from lancespace_dir_gcp.vending import access_boundary
from lancespace_dir_oss import vending as oss_vending
from tests.docs.pages import DOCS, blocks, name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = sorted((DOCS / "clouds").glob("*.md"))
SHOWN = {
    "aws.md": aws_vending.session_policy("my-bucket", "warehouse/orders.lance", "write"),
    "gcp.md": access_boundary("my-bucket", "warehouse/orders.lance", "write"),
    "oss.md": oss_vending.session_policy("my-bucket", "warehouse/orders.lance", "write"),
}


def properties(page: Path) -> Iterator[dict[str, str]]:
    """What the snippets of a page connect with."""
    for block in blocks(page):
        tree = ast.parse(block.code) if block.language == "py" else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "connect":
                yield ast.literal_eval(node.args[1])


SNIPPETS = [pytest.param(given, id=f"{name(page)}-{n}") for page in PAGES for n, given in enumerate(properties(page))]


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("given", SNIPPETS)
def test_snippets_are_taken(given: dict[str, str]):
    """Every name and value is checked, and no cloud is asked."""
    settings = Settings(DirectoryBackend.properties, given, owner="dir")
    storage = Connection("memory", {}).storage(settings["root"], settings.family("storage."))
    assert storage.options is not None
    vendor = {name: value for name, value in given.items() if name.startswith(FAMILY)}
    if vendor:
        known = (*VENDOR_PROPERTIES[:-1], *(storage.vendor_properties() or ()))
        assert Settings(known, vendor, owner="vendor")[ENABLED]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_policies_are_json(page: Path):
    for block in blocks(page):
        assert block.language in {"py", "json"}
        if block.language == "json":
            json.loads(block.code)


@pytest.mark.parametrize("page", SHOWN)
def test_what_is_sent_is_what_is_shown(page: str):
    shown = [json.loads(block.code) for block in blocks(DOCS / "clouds" / page) if block.title]
    assert shown == [SHOWN[page]]
