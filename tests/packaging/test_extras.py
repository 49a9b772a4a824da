"""Each extra alone, installed from our wheels into a clean environment, connects; and nothing else comes with it.

A new folder under plugins/ turns its extra on here: until CONNECTIONS says how to connect with it, its test fails.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest
from uv import find_uv_bin

from tests.docs.pages import DOCS, blocks
from tools import record
from tools.workspace import CONSTRAINTS, ROOT, packages, umbrella

pytestmark = pytest.mark.slow

LATER = {"rest", "server", "sql"}
OUR_WHEELS = "wheels.txt"
PROBE = Path(__file__).with_name("probe.py")
OURS = {package.name for package in packages()}
EXTRAS = umbrella().extras
BARE = {"lancespace"} | {f"lancespace-{name}" for name in ("cli", "core", "dir", "jobs", "tables", "views")}
BESIDE = {"testing": {"lancespace-sql"}}
"""What an extra brings beside its own package."""
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
    "testing": ("memory", {}),
}


class Environment(NamedTuple):
    """A clean environment with one of our distributions in it."""

    python: Path

    def run(self, *arguments: str, cwd: Path | None = None) -> str:
        """What a script prints there; isolated, so that it cannot see this checkout."""
        command = [str(self.python), "-I", *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=cwd).stdout

    def probe(self, *calls: tuple[str, str, dict[str, str]]) -> list[dict[str, Any]]:
        """What came of connecting, for each of some actions, backends and properties."""
        answers: list[dict[str, Any]] = json.loads(self.run(str(PROBE), json.dumps(calls)))
        return answers

    def ours(self) -> set[str]:
        """Which of our distributions are installed there."""
        script = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"
        return {name for name in self.run("-c", script).split() if name.startswith("lancespace")}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run([sys.executable, "-m", "tools.wheels", folder], cwd=ROOT, check=True)
    # By their paths: uv's cache goes by name and version, and would give back yesterday's wheels of the same version.
    ours = (f"{wheel.name.partition('-')[0]} @ {wheel.as_uri()}\n" for wheel in folder.glob("*.whl"))
    (folder / OUR_WHEELS).write_text("".join(ours))
    return folder


def install(requirement: str, folder: Path, wheels: Path) -> Environment:
    environment = Environment(folder / "bin" / "python")
    subprocess.run([find_uv_bin(), "venv", "--quiet", f"--python={sys.executable}", folder], check=True)
    pins = [f"--constraints={CONSTRAINTS}", f"--constraints={wheels / OUR_WHEELS}"]
    command = [find_uv_bin(), "pip", "install", "--quiet", f"--python={environment.python}", *pins, requirement]
    subprocess.run([*command, "--offline"], check=True)  # `make setup` has put all else in uv's cache.
    return environment


@pytest.fixture(scope="module")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """An environment for each requirement, made when it is asked for."""
    return cache(lambda requirement: install(requirement, tmp_path_factory.mktemp("environment"), wheels))


@pytest.fixture(scope="module")
def bare(installed: Callable[[str], Environment]) -> Environment:
    return installed("lancespace")


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
    assert environment.probe(("connect", "memory", {}), ("connect", "dir", {"root": "/data"})) == [
        {"error": "'memory' needs the memory backend: pip install lancespace"},
        {"error": "'dir' needs the dir backend: pip install lancespace"},
    ]


def test_lancespace_alone(bare: Environment, tmp_path: Path):
    assert bare.ours() == BARE
    assert bare.probe(("list", "dir", {"root": str(tmp_path)})) == [{"tables": []}]


def test_a_missing_package_is_answered_with_its_pip_line(bare: Environment):
    clouds = [("connect", "dir", properties) for properties in CLOUDS.values()]

    *answers, sql = bare.probe(*clouds, ("sql", "memory", {}))

    assert answers == [
        {"error": f'root {properties["root"]!r} needs the {extra} backend: pip install "lancespace[{extra}]"'}
        for extra, properties in CLOUDS.items()
    ]
    assert sql == {"error": 'sql() needs the sql extension: pip install "lancespace[sql]"'}


@pytest.mark.parametrize("extra", AVAILABLE)
def test_extra_alone_connects(extra: str, installed: Callable[[str], Environment]):
    environment = installed(f"lancespace[{extra}]")
    backend, properties = CONNECTIONS[extra]

    (answer,) = environment.probe(("sql" if extra == "sql" else "connect", backend, properties))

    assert environment.ours() == {*BARE, f"lancespace-{extra}", *BESIDE.get(extra, ())}
    assert "error" not in answer
    assert answer["connected"].startswith(backend)


@pytest.mark.skipif(bool(PENDING), reason=f"waits for {', '.join(sorted(PENDING))}")
def test_all_brings_every_package(wheels: Path, tmp_path: Path):
    assert install("lancespace[all]", tmp_path, wheels).ours() == {"lancespace", *OURS}


def test_the_first_page_works_as_installed(bare: Environment, tmp_path: Path):
    (page,) = [block for block in blocks(DOCS / "index.md") if block.language == "python"]

    assert bare.run("-c", page.code, cwd=tmp_path) == page.output


def test_the_page_of_spark_works_as_installed(installed: Callable[[str], Environment], tmp_path: Path):
    """Upserts among it: Spark must not ask for packages that the extra does not bring."""
    page = [block for block in blocks(DOCS / "spark" / "index.md") if block.language == "python"]

    printed = installed("lancespace[spark]").run("-c", "\n".join(block.code for block in page), cwd=tmp_path)

    assert printed == "".join(block.output or "" for block in page)


@pytest.mark.filterwarnings("ignore:lance is not fork-safe")  # What is forked becomes a shell at once.
def test_the_tour_is_what_a_new_user_sees_and_what_is_recorded(installed: Callable[[str], Environment]):
    """`python -m tools.newcomer` does the same with pip, and says how long it takes."""
    (required,) = [step.command.split('"')[1] for step in record.steps() if step.command.startswith("pip install")]

    recording = record.record(installed(required).python)

    for answer in recording.answers:
        assert lines(answer.printed) == lines(answer.step.printed), answer.step.command
    kept = [json.loads(event) for event in record.CAST.read_text().splitlines()]
    shown = record.shown("".join(text for _, _, text in kept[1:]))
    assert lines(shown) == lines(record.shown(recording.text)), "run `python -m tools.record`"


def lines(text: str) -> list[str]:
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in text.strip().splitlines()]
