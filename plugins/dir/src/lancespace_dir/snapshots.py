"""Reading several managed tables as they are together at one moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lance_namespace import InvalidTableStateError, UnsupportedOperationError

from lancespace.authoring import identifiers, public
from lancespace_dir import versionrows
from lancespace_dir.manifest_catalog import ManifestCatalog
from lancespace_dir.mutations import need_table, place_of

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace.authoring import Identifier
    from lancespace_dir.manifest.reader import ManifestReader


@public
def snapshot(namespace: Namespace, tables: Iterable[Identifier]) -> dict[str, int]:
    """The latest versions of managed tables, all from one version of the manifest.

    Reading each table at its version shows what batch commits changed together either wholly or not at all.

    Raises:
        TableNotFoundError: There is no such table.
        InvalidTableStateError: A table was declared and has no version yet.
        UnsupportedOperationError: The namespace is no directory catalog with a manifest, or a table is not managed.
    """
    catalog = getattr(namespace.backend, "catalog", None)
    if not isinstance(catalog, ManifestCatalog):
        raise UnsupportedOperationError(f"{namespace!r} is no directory catalog with a manifest.")
    with catalog.manifest.reading() as reader:
        wanted = [identifiers.parse(table) for table in tables]
        return {identifiers.show(names): _latest(reader, names) for names in wanted}


def _latest(reader: ManifestReader, names: list[str]) -> int:
    if not place_of(need_table(reader, names)).is_managed:
        raise UnsupportedOperationError(
            f"The table {identifiers.show(names)!r} keeps its versions in storage, where they are not of one moment "
            f"with others: register it again with mode='overwrite' and the property {versionrows.MANAGEMENT}=true."
        )
    numbers = versionrows.numbers_in(reader, identifiers.join(names))
    if not numbers:
        raise InvalidTableStateError(f"The table {identifiers.show(names)!r} was declared and has no version yet.")
    return numbers[-1]
