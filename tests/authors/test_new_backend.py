"""`lancespace new-backend`: the package it writes installs, and its tests pass, from the first minute."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from lance_namespace import InvalidInputError
from packaging.requirements import Requirement
from uv import find_uv_bin

import lancespace
from lancespace_testing.skeleton import TEMPLATES, write_backend
from tools.workspace import ROOT, Distribution

OFFLINE = ["--quiet", "--offline", "--no-build-isolation", f"--python={sys.executable}"]


def run(*command: str, cwd: Path, **environment: str) -> str:
    answer = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package as the command writes it."""
    into = tmp_path_factory.mktemp("new")
    command = [sys.executable, "-m", "lancespace_cli", "--json", "new-backend", "my-catalog", "--into", str(into)]
    return Path(json.loads(run(*command, cwd=into, HOME=str(into)))["folder"])


@pytest.fixture(scope="module")
def installed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, installed into a folder of its own."""
    target = tmp_path_factory.mktemp("site-packages")
    run(find_uv_bin(), "pip", "install", *OFFLINE, "--no-deps", f"--target={target}", str(folder), cwd=folder)
    return target


def test_no_trace_of_the_template_is_left(folder: Path):
    files = [path for path in folder.rglob("*") if path.is_file()]

    assert sorted(str(path.relative_to(folder)) for path in files) == [
        ".github/workflows/test.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "src/lance_catalog_my_catalog/__init__.py",
        "src/lance_catalog_my_catalog/backend.py",
        "src/lance_catalog_my_catalog/py.typed",
        "tests/test_conformance.py",
    ]
    assert [path for path in files if "template" in path.read_text().lower()] == []


def test_it_requires_this_version_and_what_is_compatible(folder: Path):
    ours = Distribution.read(folder).requirements

    assert {requirement.name for requirement in ours} == {"lancespace-tables", "lancespace-testing"}
    assert all(lancespace.__version__ in requirement.specifier for requirement in ours)
    assert ours[0].specifier == Requirement(f"x~={lancespace.__version__}").specifier


def test_its_ci_passes(folder: Path, installed: Path):
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "test.yml").read_text())
    python, *arguments = workflow["jobs"]["test"]["steps"][-1]["run"].split()
    environment = {"PYTHONPATH": str(installed), "HOME": str(folder), "PATH": ""}

    printed = run(sys.executable, *arguments, "-q", "-rs", "-p", "no:cacheprovider", cwd=folder, **environment)

    assert python == "python"
    assert " passed" in printed
    skipped = [line.rpartition(": ")[2] for line in printed.splitlines() if line.startswith("SKIPPED")]
    assert [reason for reason in skipped if not reason.startswith("the backend ")] == []
    assert "the backend does not support create_namespace" in skipped


@pytest.mark.parametrize("name", ["", "My", "a_b", "-a", "a--b", "1a", "a b", "../a", "a" * 41, "é", "a\n"])
def test_a_bad_name_is_refused(name: str, tmp_path: Path):
    with pytest.raises(InvalidInputError, match="cannot be the name of a backend"):
        write_backend(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["dir", "memory", "rest"])
def test_a_taken_name_is_refused(name: str, tmp_path: Path):
    with pytest.raises(InvalidInputError, match=f"There is a backend '{name}' already"):
        write_backend(name, tmp_path)


def test_nothing_is_overwritten(tmp_path: Path):
    write_backend("mine", tmp_path)

    with pytest.raises(InvalidInputError, match="lance-catalog-mine' already"):
        write_backend("mine", tmp_path)


def test_the_templates_are_in_the_wheel(tmp_path: Path):
    run(
        find_uv_bin(),
        "build",
        "--wheel",
        *OFFLINE,
        f"--out-dir={tmp_path}",
        str(ROOT / "plugins" / "testing"),
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("*.whl")

    packed = {name for name in ZipFile(wheel).namelist() if "/templates/" in name}

    sources = [path for path in TEMPLATES.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert packed == {str(path.relative_to(TEMPLATES.parents[3])) for path in sources}
