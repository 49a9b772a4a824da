"""Finding plugins: entry points by name, loaded only when they are asked for.

Listing reads metadata and imports nothing, so one broken plugin never breaks another, and connecting to ``dir`` never
imports a cloud SDK. ``LANCESPACE_PLUGINS`` restricts what is visible to the named distributions (comma separated; empty
for the built-ins only).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from types import MappingProxyType
from typing import Any

BUILT_IN = frozenset({"lancespace-core", "lancespace-tables", "lancespace-jobs", "lancespace-views"})
"""Distributions that no selection hides."""
SELECT_VARIABLE = "LANCESPACE_PLUGINS"
_TABLES_PACKAGES = frozenset({"lance", "pyarrow", "fsspec", "numpy", "cloudpickle", "sqlglot"})
"""What ``lancespace-tables`` brings."""


@dataclass(frozen=True)
class Group:
    """One kind of plugin."""

    name: str
    """The entry-point group."""
    noun: str
    """What messages call such a plugin."""
    extras: Mapping[str, str]
    """Plugin names of packages that we publish, and the pip extra that brings each."""

    def __str__(self) -> str:
        return self.name


BACKENDS = Group("lancespace.backends", "backend", {"dir": "", "memory": "", "rest": "rest"})
STORAGE = Group(
    "lancespace.storage",
    "storage plugin",
    {
        "s3": "dir-aws",
        "s3a": "dir-aws",
        "gs": "dir-gcp",
        "gcs": "dir-gcp",
        "az": "dir-azure",
        "abfs": "dir-azure",
        "abfss": "dir-azure",
        "oss": "dir-oss",
    },
)
ENGINES = Group("lancespace.engines", "engine", {"local": "", "spark": "spark"})
WRAPPERS = Group("lancespace.wrappers", "wrapper", {"authz": "server", "views": ""})
AUTH = Group("lancespace.auth", "auth method", dict.fromkeys(("api_key", "basic", "bearer", "oauth2", "sigv4"), "rest"))
COMMANDS = Group(
    "lancespace.commands",
    "command",
    {
        "serve": "server",
        "pipeline": "spark",
        "job.import-spark": "spark",
        "doctor.java": "spark",
        "new-backend": "testing",
        **dict.fromkeys(("compact", "fsck", "import", "insert", "job", "job.migrate", "jobs", "migrate"), ""),
    },
)
EXTENSIONS = Group("lancespace.extensions", "extension", {"dataset": "", "sql": "sql"})
GROUPS = (BACKENDS, STORAGE, ENGINES, WRAPPERS, EXTENSIONS, AUTH, COMMANDS)


@dataclass(frozen=True)
class Plugin:
    """An installed plugin, not yet imported."""

    group: Group
    name: str
    distribution: str
    value: str
    """Where it is, e.g. ``lancespace_dir:DirectoryBackend``."""
    rivals: tuple[Plugin, ...] = ()
    """Plugins of other distributions that claim the same name; such a name is refused when it is asked for."""

    def load(self) -> Any:
        """Import the plugin.

        Raises:
            UnsupportedOperationError: If it opens tables and pylance is not installed; the message has the pip line.
            InternalError: If its module or attribute cannot be imported; the cause is the plugin's own exception.
        """
        entry = metadata.EntryPoint(self.name, self.value, self.group.name)
        try:
            return entry.load()
        except Exception as error:
            from lance_namespace import InternalError, UnsupportedOperationError

            if hint := missing_package(error):
                raise UnsupportedOperationError(f"The {self.group.noun} {self.name!r} {hint}") from error
            raise InternalError(
                f"The {self.group.noun} {self.name!r} of the distribution {self.distribution!r} failed to import "
                f"({self.value}): {type(error).__name__}: {error}"
            ) from error


def installed(group: Group) -> Mapping[str, Plugin]:
    """The visible plugins of a group by name, as a read-only view; nothing is imported."""
    return _scan(group.name, os.environ.get(SELECT_VARIABLE))


def find(group: Group, name: str, *, wanted_by: str = "") -> Plugin:
    """The plugin called ``name``; ``wanted_by`` is what messages name as the reason (``root 's3://...'``).

    Raises:
        UnsupportedOperationError: If it is one of ours that is not installed; the message has the pip line.
        InvalidInputError: If nobody knows the name, or two distributions claim it; the message names them.
    """
    if not isinstance(name, str):
        raise _not_a_name(group, name)
    plugins = installed(group)
    if name in plugins:
        return _only(plugins[name])
    from lance_namespace import InvalidInputError, UnsupportedOperationError

    if name in group.extras:
        raise UnsupportedOperationError(f"{wanted_by or repr(name)} needs {_package_of(group, name)}")
    known = ", ".join(sorted(plugins)) or "none"
    wanted = f", which {wanted_by} needs" if wanted_by else ""
    raise InvalidInputError(f"There is no {group.noun} {name!r}{wanted}. Installed: {known}.{_selection_hint()}")


def install_hint(extra: str) -> str:
    """The pip line that brings an extra of ours."""
    return f'pip install "lancespace[{extra}]"' if extra else "pip install lancespace"


def missing_package(error: BaseException) -> str:
    """Which package of ``lancespace-tables`` could not be imported, and the pip line; empty if it was another one."""
    if isinstance(error, ModuleNotFoundError) and error.name in _TABLES_PACKAGES:
        return f"needs {error.name}: pip install lancespace-tables"
    return ""


def refresh() -> None:
    """Forget what was scanned; for a process that installs plugins while it runs."""
    _scan.cache_clear()


def _package_of(group: Group, name: str) -> str:
    extra = group.extras[name]
    noun = "backend" if extra.startswith("dir-") else group.noun
    return f"the {extra or name} {noun}: {install_hint(extra)}"


def _selection_hint() -> str:
    chosen = os.environ.get(SELECT_VARIABLE)
    return "" if chosen is None else f" ({SELECT_VARIABLE}={chosen!r} hides other distributions.)"


@functools.lru_cache(maxsize=32)
def _scan(group_name: str, selection: str | None) -> Mapping[str, Plugin]:
    group = next(group for group in GROUPS if group.name == group_name)
    chosen = None if selection is None else {_normal(name) for name in selection.split(",")} | BUILT_IN
    found: dict[str, Plugin] = {}
    for entry in metadata.entry_points(group=group_name):
        plugin = Plugin(group, entry.name, _distribution_of(entry), entry.value)
        if chosen is None or _normal(plugin.distribution) in chosen:
            found[plugin.name] = _beside(found.get(plugin.name), plugin)
    return MappingProxyType(found)


def _beside(first: Plugin | None, second: Plugin) -> Plugin:
    """The plugin to keep for a name: the first one, remembering who else claims it."""
    if first is None:
        return second
    return first if first == second else replace(first, rivals=(*first.rivals, second))


def _not_a_name(group: Group, name: object) -> Exception:
    from lance_namespace import InvalidInputError

    return InvalidInputError(f"The name of a {group.noun} must be a string, not {type(name).__name__}.")


def _only(plugin: Plugin) -> Plugin:
    if not plugin.rivals:
        return plugin
    from lance_namespace import InvalidInputError

    claims = " and ".join(f"{one.distribution!r} ({one.value})" for one in (plugin, *plugin.rivals))
    raise InvalidInputError(
        f"The {plugin.group.noun} {plugin.name!r} is claimed by {claims}: "
        f"uninstall one, or choose with {SELECT_VARIABLE}."
    )


def _distribution_of(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution.strip()).lower()
