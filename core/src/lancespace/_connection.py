"""One connection: its backend, wrappers, storage and engine, held together by a plugin manager of its own."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

from lancespace import registry
from lancespace._causes import register_finder
from lancespace._errors import translated
from lancespace._hookspecs import HOOK_GROUPS, StorageHooks
from lancespace._manager import new_manager, register
from lancespace._properties import Property, Settings, redact_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from lancespace._backend import Backend
    from lancespace._operations import Operation
    from lancespace._storage.store import Storage

WRAPPERS_PROPERTY = Property("wrappers", "Wrapper plugins around every operation, comma separated, outermost first")
ENGINE_PROPERTY = Property("engine", "Engine plugin that runs long work as jobs", default="local")
UDF_PROPERTY = Property(
    "udf.enabled", "Run Python functions that came with tables: of virtual columns and views", type=bool, default=False
)
COUNTS_PROPERTY = Property(
    "ops_metrics_enabled", "Count the calls of each operation for retrieve_ops_metrics()", type=bool, default=False
)
COMMON_PROPERTIES = (
    WRAPPERS_PROPERTY,
    ENGINE_PROPERTY,
    UDF_PROPERTY,
    COUNTS_PROPERTY,
)
"""What every backend takes beside its own."""
_CONTEXT = "dynamic_context_provider."
"""The properties of a backend that sends context to a server."""


class RequestLimits(Protocol):
    """What a server sets on its namespace; ``lancespace_tables.Limits`` is one."""

    def check_request(self, operation: Operation, request: BaseModel) -> None:
        """Raise InvalidInputError if the request may cost too much."""


class Connection:
    """What a backend is given: its checked settings, and the way to storage and to an engine.

    Plugins get the connection when they are built, and nothing of theirs runs before all are registered.
    """

    def __init__(self, backend_name: str, properties: Mapping[str, str], context_provider: object = None) -> None:
        self._loading = threading.Lock()
        self._is_closed = False
        self._wrappers: dict[str, object] = {}
        self._storages: dict[str, pluggy.PluginManager] = {}
        self._manager = new_manager(*HOOK_GROUPS)
        self.limits: RequestLimits | None = None
        """What requests may cost, where they come from callers of a server."""
        backend_class = registry.find(registry.BACKENDS, backend_name).load()
        wrapper_classes = _wrapper_classes(backend_name, backend_class, properties)
        declared = [*COMMON_PROPERTIES, *backend_class.properties, *_engine_properties(properties)]
        for name, wrapper_class in wrapper_classes.items():
            declared += [replace(prop, name=f"{name}.{prop.name}") for prop in wrapper_class.properties]
        self.settings = Settings(declared, properties, owner=backend_name)
        self.context_provider = context_provider
        """An object with pylance's interface for context providers, for backends that send context to a server."""
        if context_provider is not None and not any(p.name == _CONTEXT and not p.ignored for p in declared):
            warnings.warn(f"{backend_name} ignores the context_provider: it has no server", UserWarning, stacklevel=2)
        with translated(f"connect to {backend_name!r}"):
            self.backend = backend_class(self)
            self._wrappers = {name: wrapper_class(self) for name, wrapper_class in reversed(wrapper_classes.items())}
        for plugin in self.backend.plugins():
            register(self._manager, plugin, f"{backend_name}:{type(plugin).__name__}")
        register(self._manager, self.backend, backend_name)
        self._register_wrappers(self._manager, check=True)

    @property
    def hooks(self) -> pluggy.HookRelay:
        """The hooks to call; every plugin of this connection answers here."""
        return self._manager.hook

    def storage(self, location: str, options: Mapping[str, str] | None = None, *, named: str = "location") -> Storage:
        """The storage below ``location``; its plugin is chosen by the URL scheme and loaded on first use.

        ``options`` are ``storage.*`` properties without the prefix; by default, the connection's own. ``named`` is
        what messages call the location.
        """
        from lancespace._storage.store import Storage, scheme_of

        scheme = scheme_of(location)
        with self._loading:
            if scheme not in self._storages:
                plugin = registry.find(registry.STORAGE, scheme, wanted_by=f"{named} {redact_url(location)!r}")
                self._storages[scheme] = self._storage_manager(plugin)
        given = self._storage_properties() if options is None else options
        return Storage(self._storages[scheme].hook, location, given)

    def use_engine(self) -> None:
        """Load the engine that the ``engine`` property names, if it is not there yet."""
        self._use(registry.ENGINES, self.settings["engine"])

    def use_extension(self, name: str, *, wanted_by: str) -> None:
        """Load an extension, if it is not there yet; ``wanted_by`` is what messages name as the reason."""
        self._use(registry.EXTENSIONS, name, wanted_by=wanted_by)

    def close(self) -> None:
        """Let every plugin give back what it holds; a second time, nothing happens."""
        with self._loading:
            was_closed, self._is_closed = self._is_closed, True
        if not was_closed:
            self.hooks.close()

    def _use(self, group: registry.Group, name: str, *, wanted_by: str = "") -> None:
        key = f"{group.noun}:{name}"
        with self._loading:
            if not self._manager.has_plugin(key):
                register(self._manager, registry.find(group, name, wanted_by=wanted_by).load()(self), key)

    def _storage_manager(self, plugin: registry.Plugin) -> pluggy.PluginManager:
        """Hooks that only this plugin answers, and the connection's wrappers: a location has one storage."""
        manager = new_manager(StorageHooks)
        storage = plugin.load()()
        register(manager, storage, f"storage:{plugin.name}")
        if hasattr(storage, "find_cause"):
            register_finder(plugin.value, storage.find_cause)
        self._register_wrappers(manager, check=False)
        return manager

    def _register_wrappers(self, manager: pluggy.PluginManager, *, check: bool) -> None:
        for name, wrapper in self._wrappers.items():
            register(manager, wrapper, f"wrapper:{name}", check=check)

    def _storage_properties(self) -> dict[str, str]:
        return self.settings.family("storage.") if self.settings.declares("storage.") else {}


def _engine_properties(properties: Mapping[str, str]) -> tuple[Property, ...]:
    """What the chosen engine takes beside; the default one takes nothing, and is not loaded for that."""
    name = properties.get(ENGINE_PROPERTY.name, ENGINE_PROPERTY.default)
    if not isinstance(name, str) or name == ENGINE_PROPERTY.default:
        return ()
    declared: tuple[Property, ...] = getattr(registry.find(registry.ENGINES, name).load(), "properties", ())
    return declared


def _wrapper_classes(backend_name: str, backend_class: type[Backend], properties: Mapping[str, str]) -> dict[str, Any]:
    """The wrappers that are asked for, then the backend's own; loaded first, since they declare properties."""
    given = {name: value for name, value in properties.items() if name == WRAPPERS_PROPERTY.name}
    listed: str = Settings([WRAPPERS_PROPERTY], given, owner=backend_name)[WRAPPERS_PROPERTY.name] or ""
    names = [name.strip() for name in listed.split(",") if name.strip()]
    names += [name for name in backend_class.wrappers if name in registry.installed(registry.WRAPPERS)]
    return {name: registry.find(registry.WRAPPERS, name).load() for name in names}
