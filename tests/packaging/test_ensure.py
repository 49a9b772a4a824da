"""tools/ensure.py, run as `make setup` runs it, on machines that have the tool, an old one or none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from uv import find_uv_bin

from tools.ensure import AZURITE, AZURITE_VERSION, JAVA, NGINX, NODE
from tools.program import Tool
from tools.workspace import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("tool", "output", "major"),
    [
        (
            JAVA,
            'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)',
            17,
        ),
        (JAVA, 'Picked up JAVA_TOOL_OPTIONS: -Dfile.encoding=UTF-8\nopenjdk version "21" 2023-09-19', 21),
        (JAVA, 'openjdk version "25-ea" 2025-09-16', 25),
        (JAVA, 'java version "1.8.0_392"', 8),
        (JAVA, "Unable to locate a Java Runtime.", None),
        (NODE, "v20.20.2\n", 20),
        (NODE, "v8.10.0\n", 8),
        (NODE, "node: bad option", None),
        (AZURITE, "3.35.0\n", 3),
        (NGINX, "nginx version: nginx/1.22.1\n", 1),
    ],
)
def test_major_version(tool: Tool, output: str, major: int | None):
    assert tool.parse_version(output) == major


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """The interpreter of an environment with no Node in it, and no uv to install one; it borrows our packages."""
    environment = tmp_path / "venv"
    subprocess.run([find_uv_bin(), "venv", "--quiet", f"--python={sys.executable}", environment], check=True)
    (library,) = environment.glob("lib/python*/site-packages")
    (library / "borrowed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return environment / "bin" / "python"


def ensure(python: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "tools.ensure", *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def program(folder: Path, name: str, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)
    return path


def test_nothing_there(bare_python: Path):
    answer = ensure(bare_python, "java", "node", PATH="")

    assert answer.returncode == 1
    assert answer.stderr.splitlines() == [
        f"java 17 or later is missing (none found; cannot be installed from here): {JAVA.remedy}",
        f"node 20 or later is missing (none found; cannot be installed from here): {NODE.remedy}",
    ]


def test_what_is_optional_is_told_but_fails_nothing(bare_python: Path):
    answer = ensure(bare_python, "--optional", "java", PATH="")

    assert answer.returncode == 0
    assert answer.stderr.endswith("set JAVA_HOME to a newer Java (optional: tests that need it are skipped)\n")


def test_too_old(bare_python: Path, tmp_path: Path):
    java = program(tmp_path / "old", "java", 'openjdk version "1.8.0_392"')

    answer = ensure(bare_python, "java", PATH=str(java.parent))

    assert answer.returncode == 1
    assert answer.stderr.startswith(
        f"java 17 or later is missing ({java} is version 8; cannot be installed from here): "
    )


def test_java_home_leads_and_path_follows_if_that_one_is_too_old(bare_python: Path, tmp_path: Path):
    new = program(tmp_path / "new" / "bin", "java", 'openjdk version "21.0.1" 2023-10-17')
    old = program(tmp_path / "old" / "bin", "java", 'openjdk version "11.0.2" 2019-01-15')

    for home, path in ((new, old), (old, new)):
        answer = ensure(bare_python, "java", JAVA_HOME=str(home.parents[1]), PATH=str(path.parent))
        assert (answer.returncode, answer.stdout) == (0, f"java 21: {new}\n")


def test_a_failed_installation_gives_its_reason_in_the_line(bare_python: Path, tmp_path: Path):
    (bare_python.parent / "uv").symlink_to(find_uv_bin())

    answer = ensure(bare_python, "node", PATH="", UV_OFFLINE="1", UV_CACHE_DIR=str(tmp_path / "empty"))

    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert line.startswith("node 20 or later is missing (none found; uv failed: ")


def test_azurite_needs_npm(bare_python: Path):
    answer = ensure(bare_python, "azurite", PATH="")

    assert answer.returncode == 1
    assert answer.stderr == (
        f"azurite 3 or later is missing (none found; cannot be installed from here): {AZURITE.remedy}\n"
    )


def test_azurite_is_installed_with_npm_in_our_environment(bare_python: Path, tmp_path: Path):
    npm = program(tmp_path / "node", "npm", "")
    npm.write_text('#!/bin/sh\necho "no registry: $2 $7" >&2\nexit 1\n')

    answer = ensure(bare_python, "azurite", PATH=f"{npm.parent}:/bin:/usr/bin")

    home = bare_python.parents[1] / f"azurite-{AZURITE_VERSION}"
    assert f"npm failed: no registry: --prefix={home} azurite@{AZURITE_VERSION}" in answer.stderr
