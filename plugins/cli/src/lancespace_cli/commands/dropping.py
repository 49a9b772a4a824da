"""Tables and namespaces that are to go: drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lancespace_cli.names import everything, neither
from lancespace_cli.options import DryRun, Name
from lancespace_cli.state import State, state_of

if TYPE_CHECKING:
    from lancespace import Namespace

_SHOWN = 5


def drop(
    context: typer.Context,
    name: Name,
    *,
    cascade: Annotated[bool, typer.Option("--cascade", help="Drop a namespace with all that is in it.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Drop a table and its data, or a namespace. Asks first.

    Example: lancespace drop sales --cascade --dry-run
    """
    state = state_of(context)
    if state.namespace.table(name).exists():
        return _drop_table(state, name, dry_run=dry_run)
    inside = _inside(state.namespace, name, cascade=cascade)
    goes = f"the namespace {name}" + (f" and what is in it: {_few(inside)}" if inside else "")
    if dry_run:
        return state.output.done(f"Would drop {goes}.", would_drop=[name, *inside])
    state.confirm(f"Drop {goes}?")
    state.namespace.drop_namespace(name, behavior="cascade" if cascade else "restrict")
    return state.output.done(f"Dropped {goes}.", dropped=[name, *inside])


def _inside(ns: Namespace, name: str, *, cascade: bool) -> list[str]:
    """What goes with a namespace; before anybody is asked, what stands in the way of dropping it is told."""
    from lance_namespace import NamespaceNotEmptyError, NamespaceNotFoundError

    try:
        ns.describe_namespace(name)
    except NamespaceNotFoundError as error:
        raise neither(error, name) from error
    inside = [found for found, _ in everything(ns, name)]
    if inside and not cascade:
        raise NamespaceNotEmptyError(f"The namespace {name!r} holds {_few(inside)}: --cascade drops these with it.")
    return inside


def _drop_table(state: State, name: str, *, dry_run: bool) -> None:
    if dry_run:
        return state.output.done(f"Would drop the table {name} and its data.", would_drop=[name])
    state.confirm(f"Drop the table {name} and its data?")
    state.namespace.drop_table(name)
    return state.output.done(f"Dropped the table {name}.", dropped=[name])


def _few(names: list[str]) -> str:
    """The first names, and how many there are beside."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
