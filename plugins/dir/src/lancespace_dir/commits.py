"""One commit to a managed table, alone or in a batch."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lance_namespace import ConcurrentModificationError

from lancespace.tables.commits import check_next, checked, made_by_another, naming_scheme, read_staged
from lancespace.tables.manifests import Manifest, manifest_name
from lancespace_dir import versionrows
from lancespace_dir.versionrows import Version

if TYPE_CHECKING:
    from lance_namespace import CreateTableVersionRequest

    from lancespace_dir.managedversions import ManagedVersions
    from lancespace_dir.manifest.drafts import Draft

_log = logging.getLogger(__name__)


@contextmanager
def after_commit(what: str) -> Iterator[None]:
    """Run what follows from a commit: that has happened, whatever fails now, and readers make the rest good."""
    try:
        yield
    except OSError:
        _log.warning("%s is committed; what follows from it is left to the next reader", what, exc_info=True)


class Commit:
    """A request for a version: look at the staged manifest, enter the row, then put the manifest in place."""

    def __init__(self, versions: ManagedVersions, request: CreateTableVersionRequest) -> None:
        self._versions = versions
        self._request = request
        self._staged = versions.directory.name_of_staged(request.manifest_path)
        self._content: bytes | None = None
        self._seen: Version | None = None
        self._before: Version | None = None
        self._is_new = False

    def prepare(self) -> None:
        """Look at what is staged. What was built on a write that bypassed the catalog is refused, and mended.

        Raises:
            ConcurrentModificationError: There was such a write; a repeat finds it gone.
        """
        latest = self._seen = self._versions.latest()
        too_far = self._request.version > (0 if latest is None else latest.number) + 1
        if too_far and self._versions.set_aside_bypasses(latest):
            raise ConcurrentModificationError(
                f"version {self._request.version} of table {self._versions.ref.name!r} is built on a write that "
                "bypassed the catalog and does not count: read the latest version and commit on top of it"
            )
        self._content = read_staged(self._versions.directory, self._staged)

    def apply(self, draft: Draft) -> Version:
        """Enter the row, unless this very commit did before.

        Raises:
            ConcurrentModificationError: Another writer has made this version.
            InvalidInputError: The version would leave a gap, or the staged file is not there or not a manifest.
        """
        self._versions.need_table(draft)
        table_id, number = self._versions.table_id, self._request.version
        existing = versionrows.find_in(draft, table_id, number)
        self._is_new = existing is None
        if existing is not None:
            return self._same(existing)
        latest = max(versionrows.numbers_in(draft, table_id), default=0)
        check_next(latest, self._request)
        self._before = versionrows.find_in(draft, table_id, latest)
        if self._seen is not None and self._seen.number == latest and self._seen != self._before:
            raise made_by_another(self._request)  # The table was dropped and created again at the same place.
        made = self._version(checked(self._content, self._request), self._before)
        versionrows.enter(draft, table_id, [made])
        return made

    def finish(self, made: Version) -> None:
        """Put the manifest in place, and delete the staged one of the version before."""
        if not self._is_new:
            self._versions.settle(made)
            return
        self._versions.put_in_place(made)
        if self._before is not None and self._before.staged is not None:
            self._versions.settle(self._before)
            self._versions.directory.delete_if_there(self._before.staged)

    def _same(self, existing: Version) -> Version:
        is_ours = existing.staged == self._staged and self._digest() in {None, existing.digest}
        if not is_ours:
            raise made_by_another(self._request)
        return existing

    def _version(self, content: bytes, before: Version | None) -> Version:
        scheme = naming_scheme(None if before is None else before.manifest, self._request)
        manifest = Manifest(
            self._request.version,
            manifest_name(self._request.version, scheme),
            len(content),
            modified_millis=time.time_ns() // 1_000_000,
            metadata=self._request.metadata,
        )
        return Version(manifest, self._staged, self._digest())

    def _digest(self) -> str | None:
        return None if self._content is None else hashlib.sha256(self._content).hexdigest()
