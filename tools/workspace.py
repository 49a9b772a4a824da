"""The distributions of this repository, read from their pyproject.toml files; scripts and tests go by them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
FOLDERS = ("core", "plugins/*", "plugins/storage/*")


@dataclass(frozen=True)
class Distribution:
    """One folder with a pyproject.toml."""

    folder: Path
    pyproject: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Distribution:
        """Parse the pyproject.toml of `folder`."""
        return cls(folder, tomli.loads((folder / "pyproject.toml").read_text()))

    @property
    def project(self) -> Mapping[str, Any]:
        """The [project] table."""
        project: Mapping[str, Any] = self.pyproject["project"]
        return project

    @property
    def name(self) -> str:
        """The name on the package index."""
        return str(self.project["name"])

    @property
    def source(self) -> Path:
        """The folder of the import package."""
        packages: list[str] = self.pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        return self.folder / packages[0]

    @property
    def extras(self) -> Mapping[str, list[Requirement]]:
        """What each extra requires."""
        optional: Mapping[str, list[str]] = self.project.get("optional-dependencies", {})
        return {extra: parse(lines) for extra, lines in optional.items()}

    @property
    def required(self) -> list[Requirement]:
        """What it requires to run without extras."""
        return parse(self.project["dependencies"])

    @property
    def requirements(self) -> list[Requirement]:
        """What it requires to run, with and without extras."""
        return self.required + [line for lines in self.extras.values() for line in lines]

    @property
    def build_requirements(self) -> list[Requirement]:
        """What it requires to be built."""
        return parse(self.pyproject["build-system"]["requires"])

    @property
    def groups(self) -> list[Requirement]:
        """What its dependency groups (PEP 735) require: the tools of its developers."""
        groups: Mapping[str, list[str]] = self.pyproject.get("dependency-groups", {})
        return parse(line for lines in groups.values() for line in lines)


def parse(lines: Iterable[str]) -> list[Requirement]:
    """Read requirement lines."""
    return [Requirement(line) for line in lines]


def umbrella() -> Distribution:
    """`lancespace` itself: no code, only requirements and extras."""
    return Distribution.read(ROOT)


def packages() -> list[Distribution]:
    """The distributions that carry code; a folder joins by having a pyproject.toml."""
    found = (path.parent for pattern in FOLDERS for path in sorted(ROOT.glob(f"{pattern}/pyproject.toml")))
    return [Distribution.read(folder) for folder in found]
