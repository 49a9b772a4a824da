"""The conformance suite: pytest tests that any backend author runs on his own backend.

One class in a test file is all it takes::

    from lancespace.testing import Conformance


    class TestMine(Conformance):
        def connect(self, workdir):
            return lancespace.connect("mine", {"root": str(workdir)})

The namespace may be any ``lance_namespace.LanceNamespace``; the suite speaks to it in the spec's request models only.
What it does not support is skipped, by name. What it supports and does not pass is a debt, which its author declares
with a reason in :attr:`BackendFixtures.debts`, and which must go on failing as long as it is declared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lancespace.testing.errors import raises
    from lancespace.testing.fixtures import BackendFixtures
    from lancespace.testing.requirements import Feature, covers, for_each, needs
    from lancespace.testing.suite import Conformance

__all__ = ["BackendFixtures", "Conformance", "Feature", "covers", "for_each", "needs", "raises"]

_WITH_ASSERTS = ("client", "groups", "waiting")
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _WITH_ASSERTS))

_HOMES = {
    "BackendFixtures": "fixtures",
    "Conformance": "suite",
    "raises": "errors",
    **dict.fromkeys(("Feature", "covers", "for_each", "needs"), "requirements"),
}


def __getattr__(name: str) -> Any:
    """Load the suite after pytest was told to explain its asserts, which it can only do for modules still to come."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
