"""Our backends for ``lance_namespace.connect``, and so for all that is built on it (lancedb, lance-ray, Daft).

Upstream names implementations by class path, so every installed backend is an attribute of this module:
``lance_namespace.connect("lancespace.upstream.memory", {})``. :func:`register_aliases` adds short names.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, ClassVar

from lancespace import registry
from lancespace._namespace import Namespace


def register_aliases() -> None:
    """Make every installed backend known upstream as ``lancespace-<name>``; ``dir`` and ``rest`` stay pylance's own."""
    from lance_namespace import register_namespace_impl

    for name in registry.installed(registry.BACKENDS):
        register_namespace_impl(f"lancespace-{name}", f"{__name__}.{name}")


class UpstreamNamespace(Namespace):
    """A namespace of one backend that takes its properties as keywords, as upstream passes them."""

    backend_name: ClassVar[str]

    def __init__(self, session: object = None, context_provider: object = None, **properties: str) -> None:
        """Connect; ``session`` and ``context_provider`` are the keywords of pylance's own namespaces."""
        if session is not None:
            message = "the 'session' is ignored: all namespaces of a process share one session"
            warnings.warn(message, UserWarning, stacklevel=2)
        super().__init__(self.backend_name, properties, context_provider=context_provider)


@functools.cache
def namespace_class(backend: str) -> type[UpstreamNamespace]:
    """The class of namespaces of one backend."""
    body = {"backend_name": backend, "__module__": __name__, "__doc__": f"A namespace of the backend {backend!r}."}
    return type(backend, (UpstreamNamespace,), body)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in registry.installed(registry.BACKENDS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no such backend is installed")
    return namespace_class(name)
