"""The checks of ``lancespace doctor``: each ends with a verdict, and one that fails does not hold up the others."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

import typer
from lance_namespace import UnsupportedOperationError

from lancespace import registry
from lancespace_cli import config

if TYPE_CHECKING:
    from lancespace_cli.state import State

OK = "ok"
MISSING = "missing"
FAILED = "failed"
_OTHERS = ("pylance", "lance-namespace", "pyarrow", "pyspark")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    verdict: str
    detail: str


def diagnose(state: State, *, write: bool) -> Iterator[Check]:
    """All checks; writing is only tried if it is agreed to."""
    yield Check("python", OK, f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield from _packages()
    yield from _plugins()
    yield _java()
    yield _attempt("config file", lambda: _config(state))
    connected = _attempt("connect", lambda: _connected(state))
    yield connected
    if connected.verdict == OK:
        yield _attempt("read", lambda: f"{sum(1 for _ in state.namespace.tables())} tables in the root namespace")
        yield from _catalog(state, write=write)


def _packages() -> Iterator[Check]:
    ours = sorted({one.name for one in metadata.distributions() if (one.name or "").startswith("lancespace")})
    for name in ours:
        yield Check(name, OK, metadata.version(name))
    for name in _OTHERS:
        try:
            yield Check(name, OK, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Check(
                name, MISSING, f"needed by spark only: {registry.install_hint('spark')}" if "spark" in name else ""
            )


def _plugins() -> Iterator[Check]:
    for group in registry.GROUPS:
        for name, plugin in sorted(registry.installed(group).items()):
            yield _attempt(f"{group.noun} {name}", lambda plugin=plugin: _loaded(plugin))  # type: ignore[misc]


def _loaded(plugin: registry.Plugin) -> str:
    registry.find(plugin.group, plugin.name).load()
    return plugin.distribution


def _java() -> Check:
    """The Java that local Spark would run on."""
    try:
        from lancespace_spark.java import find_java

        java = find_java()
    except ImportError:
        return Check("java", MISSING, f"needed by spark only: {registry.install_hint('spark')}")
    except UnsupportedOperationError as error:
        return Check("java", MISSING, str(error))
    return Check("java", OK, f"{java.version}: {java.program}")


def _config(state: State) -> str:
    path = config.config_path(os.environ)
    known = ", ".join(config.profile_names(os.environ)) or "none"
    _, properties = state.catalog()
    there = f"profiles: {known}" if path.exists() else "not there"
    return f"{path} ({there}); properties: {', '.join(sorted(properties))}"


def _connected(state: State) -> str:
    return state.namespace.namespace_id()


def _catalog(state: State, *, write: bool) -> Iterator[Check]:
    catalog = getattr(state.namespace.backend, "catalog", None)
    storage = getattr(state.namespace.backend, "storage", None)
    if storage is None:
        return
    if hasattr(catalog, "manifest"):
        yield _attempt("manifest", lambda: _manifest(catalog))
    if write:
        yield _attempt("write", lambda: _probe(storage))
    else:
        yield Check("write", "not tried", "add --write to put a small file below the root, and remove it again")


def _manifest(catalog: object) -> str:
    with catalog.manifest.reading() as reader:  # type: ignore[attr-defined] # looked for by the caller
        entries = len(reader.load())
        return f"version {reader.version}, {entries:,} entries in {len(reader.fragments)} fragments"


def _probe(storage: object) -> str:
    path = f"{storage.path()}/.lancespace-doctor-{uuid.uuid4().hex}"  # type: ignore[attr-defined]
    storage.put_if_absent(path, b"doctor")  # type: ignore[attr-defined]
    storage.filesystem.rm_file(path)  # type: ignore[attr-defined]
    return "a file was written and removed"


def _attempt(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, OK, look())
    except typer.BadParameter as error:
        return Check(what, FAILED, error.format_message())
    except Exception as error:  # noqa: BLE001 - whatever is wrong is what is wanted to be known
        return Check(what, FAILED, f"{type(error).__name__}: {error}")
