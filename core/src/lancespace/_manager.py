"""Plugin managers that are cheap to make: every connection has its own."""

from __future__ import annotations

import functools
from typing import Any

import pluggy
from lance_namespace import InternalError

from lancespace import _tracing as tracing


def new_manager(*groups: type) -> pluggy.PluginManager:
    """A manager with the hooks of these groups (:data:`lancespace._hookspecs.HOOK_GROUPS`)."""
    manager = _Manager("lancespace")
    for group in groups:
        manager.add_hookspecs(group)
    tracing.install(manager)
    return manager


def register(manager: pluggy.PluginManager, plugin: object, name: str, *, check: bool = True) -> None:
    """Take a plugin in, checked: a misspelt hook or argument is refused here and not at the first call.

    Without ``check``, hooks that the manager does not have are passed over: it may be one for storage only.

    Raises:
        InternalError: Naming the plugin, the hook and the argument that is wrong.
    """
    try:
        manager.register(_HookMethods(plugin), name)
        if check:
            manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise InternalError(f"The plugin {name!r} cannot be registered: {error}") from error


class _HookMethods:
    """A plugin's hook implementations and nothing else, as attributes of its own."""

    def __init__(self, plugin: object) -> None:
        self.__dict__.update({name: getattr(plugin, name) for name in _hook_names(type(plugin))})  # type: ignore[arg-type]


class _Manager(pluggy.PluginManager):
    """Looks for hooks where ours are.

    pluggy looks at every attribute of a plugin statically and through all of its base classes, which takes milliseconds
    for a backend, at every connection.
    """

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> Any:
        """Our hook specifications are static methods of their group."""
        return getattr(getattr(vars(module_or_class).get(name), "__func__", None), "lancespace_spec", None)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """Plugins come as :class:`_HookMethods`."""
        return getattr(vars(plugin).get(name), "lancespace_impl", None)


@functools.lru_cache(maxsize=256)
def _hook_names(kind: Any) -> tuple[str, ...]:
    """The attributes of a class that are marked with ``hookimpl``."""
    return tuple(name for name in dir(kind) if hasattr(getattr(kind, name, None), "lancespace_impl"))
