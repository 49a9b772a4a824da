"""The code on every page runs, in order, and prints what the page says it prints.

- The `python` blocks of a page share their names, and run in an empty directory.
- A `text` block right after one is what it prints.
- A block with a title is a file, or the next part of one; a page that has a `pyproject.toml` is installed before its
  first block that runs.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from uv import find_uv_bin

from lancespace.authoring import registry
from tests.docs.pages import PAGES, Block, blocks, name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WITH_CODE = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SMALL_SPARK = (
    f'--driver-java-options "{QUICK_JAVA}" --conf spark.sql.shuffle.partitions=2 --conf spark.ui.enabled=false '
    "pyspark-shell"
)
"""Settings for a Spark of few rows: by default it divides every join into 200 tasks, and Java, which runs for a minute,
compiles for days.
"""


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory to run a page in; what it installs and imports is gone afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", SMALL_SPARK)
    yield tmp_path
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]
    registry.refresh()


def install(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build and install a project for this test only."""
    target = project / "site-packages"
    options = ["--quiet", "--offline", "--no-deps", "--no-build-isolation", f"--python={sys.executable}"]
    subprocess.run([find_uv_bin(), "pip", "install", *options, f"--target={target}", str(project)], check=True)
    monkeypatch.syspath_prepend(str(target))
    registry.refresh()
    return target


def run(block: Block, page: Path, names: dict[str, Any]) -> str:
    """Run a block, so that a traceback points into the page; return what it printed."""
    tree = ast.increment_lineno(ast.parse(block.code, filename=str(page)), block.line - 1)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(page), "exec"), names)
    return printed.getvalue()


def run_page(page: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page in a context of its own: the variables that it sets are not those of the tests after it."""
    contextvars.copy_context().run(_run_blocks, page, workdir, monkeypatch)


def _run_blocks(page: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    to_install = False
    for block in blocks(page):
        if block.title:
            path = workdir / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(block.code)
            to_install = to_install or block.title == "pyproject.toml"
        elif block.language == "python":
            if to_install:
                install(workdir, monkeypatch)
                to_install = False
            printed = run(block, page, names)
            assert block.output is None or printed == block.output, f"{name(page)}:{block.line} prints something else"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_is_understood(page: Path):
    fences = [line for line in page.read_text().splitlines() if line.lstrip().startswith(("```", "~~~"))]

    assert len(fences) == 2 * len(list(blocks(page)))


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_code_of_the_page_runs(page: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch):
    run_page(page, workdir, monkeypatch)


@pytest.mark.slow
def test_the_suite_of_the_tutorial_passes(workdir: Path, monkeypatch: pytest.MonkeyPatch):
    page = next(page for page in WITH_CODE if page.name == "writing-a-backend.md")
    run_page(page, workdir, monkeypatch)
    environment = {"PYTHONPATH": str(workdir / "site-packages"), "PATH": "", "HOME": str(workdir)}

    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=workdir,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert " passed" in answer.stdout
