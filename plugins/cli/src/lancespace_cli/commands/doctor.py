"""Whether everything is there that lancespace needs: each check ends with a verdict, and none stops the others."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Annotated, NamedTuple

import typer

from lancespace.authoring import registry
from lancespace_cli import config, exits
from lancespace_cli.state import State, state_of

OK = "ok"
MISSING = "missing"
FAILED = "failed"
ADDED = "doctor."
"""How the names of checks begin that other packages add to the entry-point group of commands."""
_OTHERS = ("pylance", "lance-namespace", "pyarrow", "pyspark")


class Check(NamedTuple):
    """One thing that was looked at."""

    what: str
    verdict: str
    detail: str


app = typer.Typer()


@app.command()
def doctor(
    context: typer.Context,
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Also try to write: a small file is put below the root, and removed.")
    ] = False,
) -> None:
    """Tell what is installed, which plugins load, and whether the catalog can be read.

    Example: lancespace doctor --root ./lake
    """
    state = state_of(context)
    checks = [one._replace(detail=state.hidden.clean(one.detail)) for one in _checks(state, write=write)]
    state.output.table(("check", "verdict", "detail"), checks, whole=True)
    failed = [one.what for one in checks if one.verdict == FAILED]
    if failed:
        state.output.remark(f"Failed: {', '.join(failed)}.")
        raise typer.Exit(exits.REFUSED)


def _checks(state: State, *, write: bool) -> Iterator[Check]:
    """All checks; writing is only tried if it is agreed to."""
    yield Check("python", OK, f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield from _packages()
    yield from _plugins()
    yield from _added()
    yield _attempt("config file", lambda: _config(state))
    connected = _attempt("connect", lambda: _connected(state))
    yield connected
    if connected.verdict == OK:
        yield _attempt("read", lambda: f"{sum(1 for _ in state.namespace.tables())} tables in the root namespace")
        yield from _catalog(state, write=write)


def _packages() -> Iterator[Check]:
    ours = sorted({one.name for one in metadata.distributions() if (one.name or "").startswith("lancespace")})
    for name in (*ours, *_OTHERS):
        try:
            yield Check(name, OK, metadata.version(name))
        except metadata.PackageNotFoundError:
            hint = f"needed by spark only: {registry.install_hint('spark')}" if name == "pyspark" else ""
            yield Check(name, MISSING, hint)


def _plugins() -> Iterator[Check]:
    for group in registry.GROUPS:
        for name, plugin in sorted(registry.installed(group).items()):
            yield _attempt(f"{group.noun} {name}", lambda plugin=plugin: _loaded(plugin))  # type: ignore[misc]


def _loaded(plugin: registry.Plugin) -> str:
    registry.find(plugin.group, plugin.name).load()
    return plugin.distribution


def _added() -> Iterator[Check]:
    """Checks of other packages: the entry ``doctor.java`` names a function that answers what there is."""
    from lance_namespace import UnsupportedOperationError

    for name, plugin in sorted(registry.installed(registry.COMMANDS).items()):
        if name.startswith(ADDED):
            look = lambda plugin=plugin: plugin.load()()  # noqa: E731 - as the plugins above
            yield _attempt(name.removeprefix(ADDED), look, missing=UnsupportedOperationError)


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


def _attempt(what: str, look: Callable[[], str], missing: type[Exception] | tuple[()] = ()) -> Check:
    try:
        return Check(what, OK, look())
    except missing as error:
        return Check(what, MISSING, str(error))
    except typer.BadParameter as error:
        return Check(what, FAILED, error.format_message())
    except Exception as error:  # noqa: BLE001 - the report is about whatever is wrong
        return Check(what, FAILED, f"{type(error).__name__}: {error}")
