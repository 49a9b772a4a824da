"""Our backends for ``lance_namespace.connect``, and so for all that is built on it (lancedb, lance-ray, Daft).

Upstream names implementations by class path, so every installed backend is an attribute of this module:
``lance_namespace.connect("lancespace.upstream.memory", {})``. :func:`register_aliases` adds short names.
"""

from __future__ import annotations

import functools
from typing import Any

from lancespace import registry
from lancespace.namespace import Namespace


def register_aliases() -> None:
    """Make every installed backend known upstream as ``lancespace-<name>``; ``dir`` and ``rest`` stay pylance's own."""
    from lance_namespace import register_namespace_impl

    for name in registry.installed(registry.BACKENDS):
        register_namespace_impl(f"lancespace-{name}", f"{__name__}.{name}")


@functools.cache
def namespace_class(backend: str) -> type[Namespace]:
    """The class of namespaces of one backend, which takes its properties as keywords, as upstream passes them."""

    def __init__(self: Namespace, **properties: str) -> None:  # noqa: N807 - it becomes the class's own
        Namespace.__init__(self, backend, properties)

    body = {"__init__": __init__, "__module__": __name__, "__doc__": f"A namespace of the backend {backend!r}."}
    return type(backend, (Namespace,), body)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in registry.installed(registry.BACKENDS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no such backend is installed")
    return namespace_class(name)
