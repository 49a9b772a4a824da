"""Namespaces and tables by name: ls, tree, describe, create, drop, rename."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace_cli.names import everything, neither
from lancespace_cli.options import DryRun, Name, Parent
from lancespace_cli.parsing import parse_properties
from lancespace_cli.state import State, state_of

if TYPE_CHECKING:
    from rich.tree import Tree

    from lancespace import Namespace


_SHOWN = 5

app = typer.Typer()


@app.command()
def ls(
    context: typer.Context,
    namespace: Parent = "",
    *,
    long: Annotated[bool, typer.Option("--long", "-l", help="With what each is: a namespace or a table.")] = False,
) -> None:
    """List the namespaces (with a dot at the end) and tables in a namespace.

    Example: lancespace ls sales
    """
    state = state_of(context)
    ns = state.namespace
    names = [(f"{name}.", "namespace") for name in ns.namespaces(namespace)]
    names += [(name, "table") for name in ns.tables(namespace)]
    if long or state.output.as_json:
        state.output.table(("name", "kind"), [(name.rstrip("."), kind) for name, kind in names])
    else:
        state.output.names(name for name, _ in names)
    if not names:
        _say_empty(state, namespace)


@app.command()
def tree(context: typer.Context, namespace: Parent = "") -> None:
    """Show everything below a namespace: drawn at a terminal, whole names into a pipe.

    Example: lancespace tree | grep orders
    """
    state = state_of(context)
    if state.output.as_json:
        state.output.json(_nested(state.namespace, namespace))
    elif state.output.is_drawn:
        drawn = _drawn(state.namespace, namespace)
        state.output.draw(drawn)
        if not drawn.children:
            _say_empty(state, namespace)
    else:
        found = everything(state.namespace, namespace)
        state.output.lines(name if is_table else f"{name}." for name, is_table in found)


@app.command()
def describe(context: typer.Context, name: Name) -> None:
    """Tell everything about a table, or about a namespace.

    Example: lancespace describe sales.orders
    """
    from lance_namespace import NamespaceNotFoundError, TableNotFoundError

    state = state_of(context)
    try:
        found = state.namespace.describe_table(name, load_detailed_metadata=True)
    except (TableNotFoundError, NamespaceNotFoundError) as error:
        try:
            state.output.record(state.namespace.describe_namespace(name).model_dump(exclude_none=True))
        except NamespaceNotFoundError:
            raise neither(error, name) from error
        return
    _describe_table(state, found.model_dump(by_alias=True, exclude_none=True, exclude={"storage_options"}))


@app.command()
def create(
    context: typer.Context,
    name: Name,
    *,
    properties: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A property of it; may be repeated.")
    ] = None,
    exist_ok: Annotated[bool, typer.Option("--exist-ok", help="No error if it exists.")] = False,
) -> None:
    """Create a namespace; tables come with `import`, or with `op declare_table`.

    Example: lancespace create sales --set owner=ada
    """
    state = state_of(context)
    mode = "exist_ok" if exist_ok else "create"
    made = state.namespace.create_namespace(name, mode=mode, properties=parse_properties(properties or []))
    state.output.done(f"Created the namespace {name}.", name=name, properties=made.properties or {})


@app.command()
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


@app.command()
def rename(
    context: typer.Context,
    name: Name,
    to: Annotated[str, typer.Argument(metavar="TO", help="The new dotted name.")],
) -> None:
    """Give a table another name, also in another namespace; its data stays where it is.

    Example: lancespace rename orders sales.orders
    """
    from lancespace.authoring import identifiers

    state = state_of(context)
    *parent, table = identifiers.parse(to) or [""]
    state.namespace.rename_table(name, new_table_name=table, new_namespace_id=parent)
    state.output.done(f"{name} is {to} now.", name=name, renamed_to=to)


def _say_empty(state: State, namespace: str) -> None:
    """The root may be misspelt."""
    state.output.remark(f"{namespace or state.namespace.namespace_id()} is empty.")


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


def _describe_table(state: State, found: dict[str, Any]) -> None:
    """A table's facts, and below them its columns; as JSON all in one."""
    if state.output.as_json:
        return state.output.json(found)
    fields = found.pop("schema", {}).get("fields", [])
    nested = [(name, value) for name, value in found.items() if isinstance(value, dict)]
    flat = {name: value for name, value in found.items() if not isinstance(value, dict)}
    state.output.record(flat | {f"{name}.{key}": value for name, inside in nested for key, value in inside.items()})
    state.output.lines([""])
    columns = [(one["name"], _type(one["type"]), "" if one.get("nullable", True) else "not null") for one in fields]
    return state.output.table(("column", "type", "null"), columns)


def _type(given: dict[str, Any]) -> str:
    inside = ", ".join(f"{one['name']}: {_type(one['type'])}" for one in given.get("fields") or ())
    length = f" x {given['length']}" if given.get("length") is not None else ""
    return f"{given['type']}{f'<{inside}>' if inside else ''}{length}"


def _nested(ns: Namespace, namespace: str) -> dict[str, object]:
    prefix = f"{namespace}." if namespace else ""
    children = {child: _nested(ns, f"{prefix}{child}") for child in ns.namespaces(namespace)}
    return {"namespaces": children, "tables": list(ns.tables(namespace))}


def _drawn(ns: Namespace, namespace: str) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    drawn = Tree(Text(namespace or ns.namespace_id()))
    branches = {namespace: drawn}
    for name, is_table in everything(ns, namespace):
        parent, _, last = name.rpartition(".")
        added = branches[parent].add(Text(last if is_table else f"{last}.", style="" if is_table else "bold"))
        if not is_table:
            branches[name] = added
    return drawn
