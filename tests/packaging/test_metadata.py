"""What the pyproject files promise, held against each other and against the files."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import FunctionType

import pytest
import typer
from packaging.requirements import Requirement

from lancespace.authoring import registry
from tools.downstream import from_checkout
from tools.workspace import ROOT, Distribution, packages, umbrella

PACKAGES = packages()
DISTRIBUTIONS = [umbrella(), *PACKAGES]
ENTRY_POINTS = [
    EntryPoint(name, value, group)
    for package in PACKAGES
    if (package.source / "__init__.py").exists()
    for group, entries in package.project.get("entry-points", {}).items()
    for name, value in entries.items()
]

every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.name)
every_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.name)


@every_distribution
def test_there_is_one_version_and_we_pin_each_other_to_it(distribution: Distribution):
    version = umbrella().project["version"]
    ours = [line for line in distribution.requirements if line.name.startswith("lancespace-")]
    pins = {str(line.specifier) for line in ours if line.name != distribution.name}

    assert distribution.project["version"] == version
    assert pins <= {f"=={version}"}


@every_distribution
def test_license_and_oldest_python(distribution: Distribution):
    assert distribution.project["license"] == "Apache-2.0"
    assert distribution.project["license-files"] == ["LICENSE"]
    assert (distribution.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert distribution.project["requires-python"] == ">=3.10"


@every_package
def test_package_is_typed(package: Distribution):
    assert (package.source / "py.typed").is_file()


def test_each_extra_brings_the_package_of_its_name_and_all_brings_every_one():
    extras = {extra: [line.name for line in lines] for extra, lines in umbrella().extras.items()}
    (everything,) = umbrella().extras["all"]
    del extras["all"]

    assert extras == {extra: [f"lancespace-{extra}"] for extra in extras}
    assert (everything.name, everything.extras) == ("lancespace", set(extras))


def test_every_package_is_reached_from_the_umbrella():
    reached = from_checkout([Requirement("lancespace[all]")])

    assert {package.folder for package in PACKAGES} <= set(reached)


@pytest.mark.parametrize("entry", ENTRY_POINTS, ids=lambda entry: f"{entry.group}:{entry.name}")
def test_entry_point_resolves(entry: EntryPoint):
    expected = (typer.Typer, FunctionType) if entry.group == registry.COMMANDS.name else type

    assert isinstance(entry.load(), expected)


@pytest.mark.parametrize(
    "plugin", [one for one in PACKAGES[1:] if "entry-points" in one.project], ids=lambda one: one.name
)
def test_registry_knows_the_extra_that_brings_each_plugin(plugin: Distribution):
    base = {folder.name for folder in from_checkout([Requirement("lancespace")])}
    extra = "" if plugin.folder.name in base else plugin.name.removeprefix("lancespace-")
    known = {group.name: group.extras for group in registry.GROUPS}
    declared = [(group, name) for group, entries in plugin.project["entry-points"].items() for name in entries]

    assert {known[group].get(name) for group, name in declared} == {extra}
