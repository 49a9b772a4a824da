"""Each extra alone, installed from our wheels into a clean environment, connects; and nothing else comes with it.

A new folder under plugins/ turns its extra on here: until CONNECTIONS says how to connect with it, its test fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest
from uv import find_uv_bin

from tools.workspace import CONSTRAINTS, ROOT, packages, umbrella

pytestmark = pytest.mark.slow

LATER = {"rest", "server", "sql"}
PROBE = Path(__file__).with_name("probe.py")
OURS = {package.name for package in packages()}
EXTRAS = umbrella().extras
BARE = {"lancespace", "lancespace-cli", "lancespace-core", "lancespace-dir"}
PENDING = {extra for extra, required in EXTRAS.items() if extra != "all" and required[0].name not in OURS}
AVAILABLE = sorted(set(EXTRAS) - PENDING - {"all"})

CLOUDS = {
    "dir-aws": {"root": "s3://bucket/path", "storage.aws_region": "us-east-1"},
    "dir-azure": {"root": "az://container/path", "storage.azure_storage_account_name": "account"},
    "dir-gcp": {"root": "gs://bucket/path", "storage.google_storage_token": "token"},
    "dir-oss": {
        "root": "oss://bucket/path",
        "storage.oss_endpoint": "http://127.0.0.1:1",
        "storage.oss_access_key_id": "id",
        "storage.oss_access_key_secret": "secret",
    },
}
CONNECTIONS = {extra: ("dir", properties) for extra, properties in CLOUDS.items()} | {
    "rest": ("rest", {"uri": "http://localhost:2333"}),
    "server": ("memory", {}),
    "spark": ("dir", {"root": "/data", "engine": "spark"}),
    "sql": ("memory", {}),
}


class Environment(NamedTuple):
    """A clean environment with one of our distributions in it."""

    python: Path

    def run(self, *arguments: str) -> Any:
        """The JSON that a script prints there; isolated, so that it cannot see this checkout."""
        command = [str(self.python), "-I", *arguments]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)

    def probe(self, action: str, backend: str, properties: dict[str, str]) -> Any:
        return self.run(str(PROBE), action, backend, json.dumps(properties))

    def ours(self) -> set[str]:
        """Which of our distributions are installed there."""
        script = "import json, importlib.metadata as m; print(json.dumps([d.name for d in m.distributions()]))"
        return {name for name in self.run("-c", script) if name.startswith("lancespace")}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, "-m", "tools.wheels", folder], cwd=ROOT, check=True)
    return folder


def install(requirement: str, folder: Path, wheels: Path) -> Environment:
    environment = Environment(folder / "bin" / "python")
    where = [f"--python={environment.python}", f"--find-links={wheels}"]
    pins = [f"--constraints={CONSTRAINTS}", f"--build-constraints={CONSTRAINTS}"]
    # uv's cache goes by name and version; without this it gives back yesterday's wheel of the same version.
    fresh = [f"--refresh-package={name}" for name in ("lancespace", *OURS)]
    subprocess.run([find_uv_bin(), "venv", "--quiet", f"--python={sys.executable}", folder], check=True)
    subprocess.run([find_uv_bin(), "pip", "install", "--quiet", *where, *pins, *fresh, requirement], check=True)
    return environment


@pytest.fixture(scope="module")
def bare(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return install("lancespace", tmp_path_factory.mktemp("bare"), wheels)


def test_every_distribution_is_built_with_its_license_and_types(wheels: Path):
    for package in packages():
        stem = f"{package.name.replace('-', '_')}-{package.project['version']}"
        names = ZipFile(wheels / f"{stem}-py3-none-any.whl").namelist()
        assert f"{stem}.dist-info/licenses/LICENSE" in names
        assert f"{package.source.name}/py.typed" in names
        assert (wheels / f"{stem}.tar.gz").exists()


def test_pending_extras_are_those_whose_folders_are_still_to_come():
    assert {extra for extra in LATER if not (ROOT / "plugins" / extra).exists()} == PENDING


def test_core_alone(wheels: Path, tmp_path: Path):
    environment = install("lancespace-core", tmp_path, wheels)

    assert environment.ours() == {"lancespace-core"}
    assert environment.probe("connect", "memory", {}) == {
        "error": "The backend 'memory' needs lance: pip install \"lancespace-core[tables]\""
    }
    assert environment.probe("connect", "dir", {"root": "/data"}) == {
        "error": "'dir' needs the dir backend: pip install lancespace"
    }


def test_lancespace_alone(bare: Environment, tmp_path: Path):
    assert bare.ours() == BARE
    assert bare.probe("list", "dir", {"root": str(tmp_path)}) == {"tables": []}


@pytest.mark.parametrize("extra", CLOUDS)
def test_a_missing_cloud_is_answered_with_its_pip_line(bare: Environment, extra: str):
    properties = CLOUDS[extra]

    assert bare.probe("connect", "dir", properties) == {
        "error": f'root {properties["root"]!r} needs the {extra} backend: pip install "lancespace[{extra}]"'
    }


def test_missing_sql_is_answered_with_its_pip_line(bare: Environment):
    assert bare.probe("sql", "memory", {}) == {"error": 'SQL needs lancespace-sql: pip install "lancespace[sql]"'}


@pytest.mark.parametrize("extra", AVAILABLE)
def test_extra_alone_connects(extra: str, wheels: Path, tmp_path: Path):
    environment = install(f"lancespace[{extra}]", tmp_path, wheels)
    backend, properties = CONNECTIONS[extra]

    answer = environment.probe("sql" if extra == "sql" else "connect", backend, properties)

    assert environment.ours() == {*BARE, f"lancespace-{extra}"}
    assert "error" not in answer
    assert answer["connected"].startswith(backend)


@pytest.mark.skipif(bool(PENDING), reason=f"waits for {', '.join(sorted(PENDING))}")
def test_all_brings_every_package(wheels: Path, tmp_path: Path):
    assert install("lancespace[all]", tmp_path, wheels).ours() == {"lancespace", *OURS}
