"""Stable row ids: rows that are written anew keep theirs, as in ``update_table``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from lancespace.jobs.written import Written

ROW_ID = "_rowid"


def carried(written: Written, ids: np.ndarray) -> Written:
    """What a task wrote, with the ids that its rows had, in the order of the rows."""
    from lance.fragment import RowIdSequence

    fragments, start = [], 0
    for fragment in written["fragments"]:
        stop = start + fragment["physical_rows"]
        told = RowIdSequence(ids[start:stop].tolist()).to_inline_metadata().asdict()
        fragments.append({**fragment, "row_id_meta": told})
        start = stop
    return {**written, "fragments": fragments}
