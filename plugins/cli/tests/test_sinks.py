"""Files that are written beside each other."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lancespace_cli.sinks import sink

SCHEMA = pa.schema({"id": pa.int64()})


@pytest.mark.parametrize("fails", [False, True])
def test_two_exports_to_one_file_are_in_each_others_way_only_at_the_end(tmp_path: Path, fails: bool):
    target = tmp_path / "out.parquet"

    def late() -> None:
        with sink(str(target), "parquet", SCHEMA) as write:
            write(pa.record_batch({"id": [2] * 1000}, SCHEMA))
            with sink(str(target), "parquet", SCHEMA) as first:
                first(pa.record_batch({"id": [1]}, SCHEMA))
            assert parquet.read_table(target).num_rows == 1
            if fails:
                raise InterruptedError

    if fails:
        with pytest.raises(InterruptedError):
            late()
    else:
        late()
    assert parquet.read_table(target).num_rows == (1 if fails else 1000)
    assert list(tmp_path.iterdir()) == [target]
