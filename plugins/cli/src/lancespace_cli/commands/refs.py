"""Names for versions: tags and branches."""

from __future__ import annotations

from typing import Annotated

import typer

from lancespace_cli.options import Branch, DryRun, Table, all_tags
from lancespace_cli.state import state_of

TagName = Annotated[str, typer.Argument(metavar="TAG", help="The name of the tag.")]
BranchName = Annotated[str, typer.Argument(metavar="BRANCH", help="The name of the branch.")]
TagVersion = Annotated[int, typer.Argument(metavar="VERSION", min=1, help="The version to tag.")]

app = typer.Typer()
tags = typer.Typer(help="Tags: names for versions that stay.", no_args_is_help=True)
branches = typer.Typer(help="Branches: versions of a table beside main.", no_args_is_help=True)
app.add_typer(tags, name="tag")
app.add_typer(branches, name="branch")


@tags.command("list")
def list_tags(context: typer.Context, name: Table) -> None:
    """List the tags of a table.

    Example: lancespace tag list sales.orders
    """
    state = state_of(context)
    rows = [(tag, found.version, found.branch) for tag, found in all_tags(state.namespace, name)]
    state.output.table(("tag", "version", "branch"), sorted(rows))


@tags.command("create")
def create_tag(
    context: typer.Context, name: Table, tag: TagName, version: TagVersion, *, branch: Branch = None
) -> None:
    """Tag a version.

    Example: lancespace tag create sales.orders 2026-Q1 7
    """
    state = state_of(context)
    state.namespace.create_table_tag(name, tag=tag, version=version, branch=branch)
    state.output.done(f"{tag} is version {version} of {name}.", name=name, tag=tag, version=version)


@tags.command("update")
def update_tag(
    context: typer.Context, name: Table, tag: TagName, version: TagVersion, *, branch: Branch = None
) -> None:
    """Have a tag stand for another version.

    Example: lancespace tag update sales.orders latest-good 9
    """
    state = state_of(context)
    state.namespace.update_table_tag(name, tag=tag, version=version, branch=branch)
    state.output.done(f"{tag} is version {version} of {name} now.", name=name, tag=tag, version=version)


@tags.command("delete")
def delete_tag(context: typer.Context, name: Table, tag: TagName, *, dry_run: DryRun = False) -> None:
    """Delete a tag; the version stays until a clean-up. Asks first.

    Example: lancespace tag delete sales.orders 2026-Q1
    """
    state = state_of(context)
    version = state.namespace.get_table_tag_version(name, tag=tag).version
    if dry_run:
        return state.output.done(f"Would delete the tag {tag} (version {version}).", would_delete=tag)
    state.confirm(f"Delete the tag {tag} (version {version}) of {name}?")
    state.namespace.delete_table_tag(name, tag=tag)
    return state.output.done(f"Deleted the tag {tag}.", deleted=tag)


@branches.command("list")
def list_branches(context: typer.Context, name: Table) -> None:
    """List the branches of a table beside main.

    Example: lancespace branch list sales.orders
    """
    state = state_of(context)
    found = state.namespace.list_table_branches(name).branches
    rows = [(branch, one.parent_branch or "main", one.parent_version) for branch, one in sorted(found.items())]
    state.output.table(("branch", "from", "version"), rows)


@branches.command("create")
def create_branch(
    context: typer.Context,
    name: Table,
    branch: BranchName,
    *,
    from_version: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Begin there; the latest, if not given.")
    ] = None,
    from_branch: Annotated[
        str | None, typer.Option(metavar="BRANCH", help="Begin on this branch instead of main.")
    ] = None,
) -> None:
    """Begin a branch.

    Example: lancespace branch create sales.orders experiment --from-version 7
    """
    state = state_of(context)
    state.namespace.create_table_branch(name, name=branch, from_version=from_version, from_branch=from_branch)
    state.output.done(f"Created the branch {branch} of {name}.", name=name, branch=branch)


@branches.command("delete")
def delete_branch(context: typer.Context, name: Table, branch: BranchName, *, dry_run: DryRun = False) -> None:
    """Delete a branch with its versions. Asks first.

    Example: lancespace branch delete sales.orders experiment
    """
    state = state_of(context)
    if dry_run:
        return state.output.done(f"Would delete the branch {branch} of {name}.", would_delete=branch)
    state.confirm(f"Delete the branch {branch} of {name} with its versions?")
    state.namespace.delete_table_branch(name, name=branch)
    return state.output.done(f"Deleted the branch {branch}.", deleted=branch)
