"""The reference says what the code says."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import pluggy
import pytest

from lancespace._hookspecs import HOOK_GROUPS
from lancespace.authoring import OPERATIONS
from tests.docs.pages import DOCS, blocks
from tools import generate
from tools.workspace import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOOKS_PAGE = DOCS / "reference" / "hooks.md"
TEST_FOLDERS = ("core/tests", "core/src/lancespace/testing", "tests", "plugins")


def specs() -> dict[str, pluggy.HookCaller]:
    """Every hook as a plugin manager knows it."""
    manager = pluggy.PluginManager("lancespace")
    for group in HOOK_GROUPS:
        manager.add_hookspecs(group)
    return {name: hook for name, hook in vars(manager.hook).items() if isinstance(hook, pluggy.HookCaller)}


def documented() -> dict[str, list[str]]:
    """The hooks on the page of hooks, and the names of their arguments."""
    signatures = [block.code for block in blocks(HOOKS_PAGE)]
    signatures += re.findall(r"^\| `(\w+\([^`]*\))` \|", HOOKS_PAGE.read_text(), re.MULTILINE)
    found = {}
    for signature in signatures:
        name, arguments = re.match(r"(\w+)\((.*?)\)", signature).groups()  # type: ignore[union-attr]
        found[name] = re.findall(r"(\w+)(?:: (?:[^,\[]|\[[^\]]*\])+)?(?:, |$)", arguments)
    return found


def sources_of_tests() -> Iterator[Path]:
    for folder in TEST_FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*.py") if "tests" in path.parts or "testing" in path.parts)


def test_generated_files_are_up_to_date():
    assert list(generate.stale()) == [], "run `python -m tools.generate`"


def test_check_fails_on_a_stale_file_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "FILES", {"page.md": lambda: "new"})
    (tmp_path / "page.md").write_text("old")

    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    assert generate.main() == 1
    assert "page.md is not up to date" in capsys.readouterr().err
    assert (tmp_path / "page.md").read_text() == "old"

    monkeypatch.setattr("sys.argv", ["generate"])
    assert generate.main() == 0
    assert (tmp_path / "page.md").read_text() == "new"


def test_every_hook_is_documented_with_its_arguments():
    assert documented() == {name: list(hook.spec.argnames) for name, hook in specs().items() if hook.spec}


@pytest.mark.parametrize("group", HOOK_GROUPS[1:], ids=lambda group: group.__name__)
def test_signatures_on_the_page_are_exact(group: type):
    page = HOOKS_PAGE.read_text()
    for name, spec in vars(group).items():
        if isinstance(spec, staticmethod):
            signature = f"{name}{inspect.signature(spec.__func__)}".replace("'", "")
            assert f"### {name}\n\n```py\n{signature}\n```\n" in page


def test_every_hook_is_named_in_some_test():
    here = set(specs())
    text = "\n".join(
        path.read_text() for path in sources_of_tests() if path.name not in {"test_operations.py", "test_reference.py"}
    )

    assert {name for name in here if not re.search(rf"\b{name}\b", text)} == set()


def test_every_operation_is_on_the_page_of_operations():
    page = (DOCS / "reference" / "operations.md").read_text()

    assert sorted(re.findall(r"^\| `(\w+)`(?: ✎)? \|", page, re.MULTILINE)) == sorted(OPERATIONS)
    for operation in OPERATIONS.values():
        assert f"`{operation.method} {operation.route}`" in page
