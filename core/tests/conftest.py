"""Plugins for the tests, installed as users install theirs: distributions with entry points."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from lancespace.authoring import registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Installer:
    """Installs distributions into a folder on ``sys.path``."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __call__(self, group: registry.Group, name: str, plugin: object, distribution: str = "") -> str:
        """Install a plugin that is at hand, and return its entry point's value."""
        module_name = f"third_party_{next(self._numbers)}"
        module = ModuleType(module_name)
        module.Plugin = plugin  # type: ignore[attr-defined]
        self.monkeypatch.setitem(sys.modules, module_name, module)
        value = f"{module_name}:Plugin"
        self.distribution(distribution or f"third-party-{name}", {group.name: {name: value}})
        return value

    def distribution(self, name: str, entry_points: dict[str, dict[str, str]], **modules: str) -> None:
        """Install a distribution with these entry points and the sources of its modules."""
        info = self.folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        sections = [
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
            for group, entries in entry_points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(sections))
        for module, source in modules.items():
            (self.folder / f"{module}.py").write_text(source)
        registry.refresh()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """Install plugins for the length of one test."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield Installer(folder, monkeypatch)
    registry.refresh()
