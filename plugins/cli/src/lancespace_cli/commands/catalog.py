"""Namespaces and tables by name: ls, tree, describe, create, drop, rename."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lancespace_cli.parsing import parse_properties
from lancespace_cli.state import state_of

if TYPE_CHECKING:
    from rich.tree import Tree

    from lancespace import Namespace

Name = Annotated[str, typer.Argument(help="The dotted name, e.g. sales.orders.")]
Parent = Annotated[str, typer.Argument(help="The dotted name of a namespace; nothing means the root.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (ls, tree, describe, create, drop, rename):
        app.command()(command)


def ls(
    context: typer.Context, namespace: Parent = "", *, long: Annotated[bool, typer.Option("--long", "-l")] = False
) -> None:
    """List the child namespaces (with a dot at the end) and the tables of a namespace."""
    state = state_of(context)
    ns = state.namespace
    names = [(f"{name}.", "namespace") for name in ns.namespaces(namespace)]
    names += [(name, "table") for name in ns.tables(namespace)]
    if long or state.output.as_json:
        state.output.table(("name", "kind"), [(name.rstrip("."), kind) for name, kind in names])
    else:
        state.output.names(name for name, _ in names)


def tree(context: typer.Context, namespace: Parent = "") -> None:
    """Show everything below a namespace."""
    state = state_of(context)
    if state.output.as_json:
        state.output.json(_nested(state.namespace, namespace))
        return
    from rich.console import Console
    from rich.tree import Tree

    drawn = Tree(namespace or state.namespace.namespace_id())
    _grow(drawn, state.namespace, namespace)
    Console(highlight=False, soft_wrap=True).print(drawn, markup=False)


def describe(context: typer.Context, name: Name) -> None:
    """Tell everything about a table, or about a namespace."""
    from lance_namespace import NamespaceNotFoundError, TableNotFoundError

    state = state_of(context)
    try:
        found = state.namespace.describe_table(name, load_detailed_metadata=True)
    except (TableNotFoundError, NamespaceNotFoundError) as error:
        try:
            state.output.record(state.namespace.describe_namespace(name).model_dump(exclude_none=True))
        except NamespaceNotFoundError:
            raise error from None
        return
    state.output.record(found.model_dump(by_alias=True, exclude_none=True, exclude={"storage_options"}))


def create(
    context: typer.Context,
    name: Name,
    *,
    properties: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A property of it.")
    ] = None,
    exist_ok: Annotated[bool, typer.Option(help="No error if it exists.")] = False,
) -> None:
    """Create a namespace; tables come with `import`, or with `op declare_table`."""
    state = state_of(context)
    mode = "exist_ok" if exist_ok else "create"
    made = state.namespace.create_namespace(name, mode=mode, properties=parse_properties(properties or []))
    state.output.done(f"Created the namespace {name}.", name=name, properties=made.properties or {})


def drop(
    context: typer.Context,
    name: Name,
    *,
    cascade: Annotated[bool, typer.Option(help="Drop a namespace with all that is in it.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Drop a table and its data, or a namespace."""
    state = state_of(context)
    if state.namespace.table(name).exists():
        return _drop_table(context, name, dry_run=dry_run)
    inside = list(_all_tables(state.namespace, name)) if cascade else []
    goes = f"the namespace {name}" + (f" and its {len(inside)} tables" if inside else "")
    if dry_run:
        state.namespace.describe_namespace(name)
        return state.output.done(f"Would drop {goes}.", would_drop=[name, *inside])
    state.confirm(f"Drop {goes}?")
    state.namespace.drop_namespace(name, behavior="cascade" if cascade else "restrict")
    return state.output.done(f"Dropped {goes}.", dropped=[name, *inside])


def rename(context: typer.Context, name: Name, to: Annotated[str, typer.Argument(help="The new dotted name.")]) -> None:
    """Give a table another name, also in another namespace; its data stays where it is."""
    from lancespace import identifiers

    state = state_of(context)
    *parent, table = identifiers.parse(to)
    state.namespace.rename_table(name, new_table_name=table, new_namespace_id=parent)
    state.output.done(f"{name} is {to} now.", name=name, renamed_to=to)


def _drop_table(context: typer.Context, name: str, *, dry_run: bool) -> None:
    state = state_of(context)
    if dry_run:
        return state.output.done(f"Would drop the table {name} and its data.", would_drop=[name])
    state.confirm(f"Drop the table {name} and its data?")
    state.namespace.drop_table(name)
    return state.output.done(f"Dropped the table {name}.", dropped=[name])


def _below(namespace: str, name: str) -> str:
    return f"{namespace}.{name}" if namespace else name


def _all_tables(ns: Namespace, namespace: str) -> list[str]:
    found = [_below(namespace, table) for table in ns.tables(namespace)]
    for child in ns.namespaces(namespace):
        found += _all_tables(ns, _below(namespace, child))
    return found


def _nested(ns: Namespace, namespace: str) -> dict[str, object]:
    children = {child: _nested(ns, _below(namespace, child)) for child in ns.namespaces(namespace)}
    return {"namespaces": children, "tables": list(ns.tables(namespace))}


def _grow(drawn: Tree, ns: Namespace, namespace: str) -> None:
    for child in ns.namespaces(namespace):
        _grow(drawn.add(f"{child}."), ns, _below(namespace, child))
    for table in ns.tables(namespace):
        drawn.add(table)
