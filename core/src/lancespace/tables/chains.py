"""Whether a version that was put in storage is part of the history that readers follow.

Clean-up frees the numbers of old versions. A writer that was paused between its look for the latest version and the put
of the next one may take a number that was freed meanwhile, and no reader ever gets there. Whether it did shows
afterwards: its version is the latest, or the next one after it has files that were first in its version. Nothing else
proves it. The version before may be there all the same, as Lance deletes in no order and spares what is tagged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import LanceNamespaceError

if TYPE_CHECKING:
    import lance

    from lancespace.tables.manifests import Manifest, ManifestDirectory


def is_followed(directory: ManifestDirectory, base: Manifest | None, version: int) -> bool:
    """Whether readers provably follow a version that was made after it was looked up which one was the latest.

    Args:
        directory: The versions of the table's branch.
        base: The version before, as it was then; None if the branch had none.
        version: The version.
    """
    found = {manifest.version: manifest for manifest in directory.list()}
    if version not in found or (base is not None and found.get(base.version, base) != base):
        return False  # It is gone already, or another table has taken the place of this one.
    later = [number for number in found if number > version]
    return not later or _goes_on(directory, None if base is None else base.version, version, min(later))


def _goes_on(directory: ManifestDirectory, base: int | None, version: int, later: int) -> bool:
    """Whether a later version has files that came with this one; False also if that cannot be found out any more."""
    try:
        before = set() if base is None else _files(directory.open(base))
        new = _files(directory.open(version)) - before
        return not new.isdisjoint(_files(directory.open(later)))
    except LanceNamespaceError:
        return False


def _files(dataset: lance.LanceDataset) -> set[str]:
    """What the data files, deletion files and indexes of a version are called; no two ever have the same name."""
    found = {str(segment.uuid) for index in dataset.describe_indices() for segment in index.segments}
    for fragment in dataset.get_fragments():
        found.update(file.path for file in fragment.data_files())
        found.add(fragment.deletion_file() or "")
    return found - {""}
