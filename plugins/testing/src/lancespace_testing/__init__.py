"""The conformance suite: pytest tests that any backend author runs on his own backend.

One class in a test file is all it takes::

    from lancespace_testing import Conformance


    class TestMine(Conformance):
        def connect(self, workdir):
            return lancespace.connect("mine", {"root": str(workdir)})

The namespace may be any ``lance_namespace.LanceNamespace``; the suite speaks to it in the spec's request models only.
What it does not support is skipped, by name. What it supports and does not pass is a debt, which its author declares
with a reason in :attr:`BackendFixtures.debts`, and which must go on failing as long as it is declared.
"""

import lazy_loader
import pytest

# Pytest explains the asserts of those modules only that are not loaded yet: so the names load on first use.
pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("client", "groups", "storage", "threads", "waiting"))
)
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
