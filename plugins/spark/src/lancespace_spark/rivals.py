"""What others have committed while an upsert was at work: whether it still holds, or must look at the table anew."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from lance_namespace import ConcurrentModificationError

from lancespace_spark import keys
from lancespace_spark.streams import contents

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata

    from lancespace_jobs import TableSpec


@dataclass(frozen=True)
class Upserted:
    """What an upsert has written, on top of a version of its table."""

    handle: TableSpec
    fragments: Sequence[FragmentMetadata]
    """Its rows, whose files are in their place."""
    touched: Collection[int]
    """The fragments of the table that have rows which these replace."""
    on: Sequence[str]

    def check(self, base: lance.LanceDataset, latest: lance.LanceDataset) -> None:
        """See that what it was computed from is still so, and that nobody has added a row with one of its keys.

        Raises:
            ConcurrentModificationError: If that is not so, and it must be computed again.
        """
        before, after = contents(base), contents(latest)
        new = [number for number, content in after.items() if before.get(number) != content]
        if (
            base.lance_schema != latest.lance_schema
            or any(after.get(number) != before[number] for number in self.touched)
            or self._are_in(latest, new)
        ):
            raise ConcurrentModificationError(
                f"others have changed what an upsert into table {self.handle.name!r} was about, up to version "
                f"{latest.version}"
            )

    def _are_in(self, dataset: lance.LanceDataset, numbers: Sequence[int]) -> bool:
        """Whether some fragments have rows with keys of ours."""
        if not numbers:
            return False
        fragments = [dataset.get_fragment(number) for number in numbers]
        theirs = dataset.scanner(columns=list(self.on), fragments=fragments).to_table()
        found = keys.comparable(theirs, self.on).join(self._keys, list(self.on), join_type="left semi")
        return bool(found.num_rows)

    @functools.cached_property
    def _keys(self) -> pa.Table:
        """The keys of its rows, from the files that it wrote: no version names them yet."""
        from lance.file import LanceFileReader

        place = self.handle.place()
        found = [
            LanceFileReader(f"{place.location}/data/{file.path}", columns=list(self.on), **self.handle.renewing(place))
            .read_all()
            .to_table()
            for fragment in self.fragments
            for file in fragment.files
        ]
        return keys.comparable(pa.concat_tables(found), self.on)
