"""What a shell offers when a word is completed. Nothing is printed and nothing raised: no offer is better."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import typer

from lancespace_cli import config
from lancespace_cli.state import State


def profiles(incomplete: str) -> list[str]:
    """Profiles of the config file."""
    try:
        return _starting(incomplete, config.profile_names(os.environ))
    except typer.BadParameter:
        return []


def operations(incomplete: str) -> list[str]:
    """Operations of the spec."""
    from lancespace.authoring import OPERATIONS

    return _starting(incomplete, ["list", *OPERATIONS])


def tables(context: typer.Context, incomplete: str) -> list[str]:
    """Tables, and namespaces with a dot at the end, one level at a time."""
    return _below(context, incomplete, with_tables=True)


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Namespaces, one level at a time."""
    return _below(context, incomplete, with_tables=False)


def choices(*values: str) -> Callable[[str], list[str]]:
    """One of a few words."""
    return lambda incomplete: _starting(incomplete, values)


def _below(context: typer.Context, incomplete: str, *, with_tables: bool) -> list[str]:
    parent, dot, _ = incomplete.rpartition(".")
    state = State()
    state.configure(context.find_root().params)
    try:
        ns = state.namespace
        names = [f"{name}{'.' if with_tables else ''}" for name in ns.namespaces(parent)]
        names += ns.tables(parent) if with_tables else []
    except Exception:  # noqa: BLE001 - no catalog, no access, no such namespace: nothing to offer
        return []
    finally:
        state.close()
    return _starting(incomplete, [f"{parent}{dot}{name}" for name in names])


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
