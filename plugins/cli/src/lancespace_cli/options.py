"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lancespace_cli.completion import namespaces, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lancespace import Namespace

Name = Annotated[str, typer.Argument(metavar="NAME", help="The dotted name, e.g. sales.orders.", autocompletion=tables)]
Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="The table's dotted name, e.g. sales.orders.", autocompletion=tables)
]
Parent = Annotated[
    str,
    typer.Argument(
        metavar="NAMESPACE", help="The dotted name of a namespace; nothing means the root.", autocompletion=namespaces
    ),
]
Columns = Annotated[str | None, typer.Option(metavar="A,B", help="Only these columns.")]
Filter = Annotated[
    str | None, typer.Option("--filter", metavar="SQL", help="Only rows for which this SQL expression holds.")
]
Latest = Annotated[int, typer.Option("-n", "--limit", min=1, max=2**31 - 1, help="How many, the latest first.")]
Version = Annotated[int | None, typer.Option(metavar="N", min=1, help="The table as it was at this version.")]
Tag = Annotated[str | None, typer.Option(metavar="TAG", help="The table as it was when it was tagged.")]
Branch = Annotated[str | None, typer.Option(metavar="BRANCH", help="On this branch instead of main.")]
Column = Annotated[str, typer.Argument(metavar="COLUMN", help="The column to index.")]
IndexType = Annotated[str, typer.Argument(metavar="TYPE", help="e.g. BTREE, BITMAP, FTS, IVF_PQ, IVF_HNSW_SQ.")]
IndexSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="e.g. distance_type=cosine, num_partitions=256; may be repeated."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]


def moment(ns: Namespace, table: str, version: int | None, tag: str | None, branch: str | None) -> dict[str, Any]:
    """Which version of a table is meant, as requests have it: ``version`` and ``branch``."""
    if tag is None:
        return {"version": version, "branch": branch}
    if version is not None:
        raise typer.BadParameter("give either --version or --tag, not both")
    tagged = next((found for name, found in all_tags(ns, table) if name == tag), None)
    if tagged is None:
        from lance_namespace import TableTagNotFoundError

        raise TableTagNotFoundError(f"The table {table!r} has no tag {tag!r}; see: lancespace tag list {table}")
    return {"version": tagged.version, "branch": tagged.branch or branch}


def all_tags(ns: Namespace, table: str) -> list[tuple[str, Any]]:
    """The tags of a table and what they stand for."""
    from lancespace.authoring import pages

    answers = pages(lambda token: ns.list_table_tags(table, page_token=token))
    return [tag for page in answers for tag in page.tags.items()]


def latest_versions(ns: Namespace, table: str, branch: str | None = None) -> Iterator[Any]:
    """The versions of a table, the latest first, page by page as they are consumed."""
    from lancespace.authoring import pages

    for page in pages(lambda token: ns.list_table_versions(table, branch=branch, descending=True, page_token=token)):
        yield from page.versions
