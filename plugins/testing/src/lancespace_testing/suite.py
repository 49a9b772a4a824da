"""All groups as one suite."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from lancespace_testing import groups
from lancespace_testing.fixtures import BackendFixtures


class Conformance(BackendFixtures):
    """The whole suite; subclass it, name the class ``Test...``, and implement ``connect``."""


def _groups() -> Iterator[type[BackendFixtures]]:
    for found in pkgutil.iter_modules(groups.__path__):
        module = importlib.import_module(f"{groups.__name__}.{found.name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, BackendFixtures) and kind.__module__ == module.__name__:
                yield kind


for _group in _groups():
    for _name, _member in vars(_group).items():
        if _name.startswith("__"):
            continue
        if _name in vars(Conformance):
            raise TypeError(f"{_group.__name__}.{_name} is the name of something in another group too: rename one.")
        setattr(Conformance, _name, _member)
