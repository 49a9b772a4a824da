"""get_table_stats, and the details of describe_table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import DescribeTableRequest, GetTableStatsRequest

from lancespace_tables._stats import _summary, table_details


def row(count: int) -> pa.Table:
    return pa.table({"id": range(count), "name": [str(n) for n in range(count)]})


def test_it_tells_the_same_as_pylance(people, tmp_path):
    for count in (1, 2, 4, 10):
        people.call("insert_into_table", row(count))
    people.call("create_table_index", column="id", index_type="BTREE")
    theirs = DirectoryNamespace(root=str(tmp_path)).get_table_stats(GetTableStatsRequest(id=["t"]))
    assert people.call("get_table_stats") == theirs


def test_deleted_rows_do_not_count(people):
    people.call("delete_from_table", predicate="id = 1")
    stats = people.call("get_table_stats")
    assert (stats.num_rows, stats.fragment_stats.lengths.max) == (2, 2)


def test_an_empty_table(people):
    people.call("delete_from_table", predicate="true")
    stats = people.call("get_table_stats")
    assert (stats.num_rows, stats.fragment_stats.num_fragments, stats.fragment_stats.lengths.p99) == (0, 0, 0)


def test_a_branch(branched):
    assert branched.call("get_table_stats").num_rows == 3
    assert branched.call("get_table_stats", branch="dev").num_rows == 4


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([7], (7, 7, 7, 7, 7, 7, 7)),
        ([1, 2, 3, 4, 10], (1, 10, 4, 2, 3, 4, 4)),
        (list(range(101)), (0, 100, 50, 25, 50, 75, 99)),
    ],
)
def test_percentiles(lengths, expected):
    summary = _summary(lengths)
    found = (summary.min, summary.max, summary.mean, summary.p25, summary.p50, summary.p75, summary.p99)
    assert found == expected


def test_details(people, tmp_path):
    people.call("insert_into_table", row(2))
    people.call("delete_from_table", predicate="id = 3")
    request = DescribeTableRequest(id=["t"], load_detailed_metadata=True)
    details = table_details(people.open(request), request)
    theirs = DirectoryNamespace(root=str(tmp_path)).describe_table(request)
    assert (details["version"], details["var_schema"], details["metadata"]) == (3, theirs.var_schema, theirs.metadata)
    assert (details["stats"].num_deleted_rows, details["stats"].num_fragments) == (1, 2)


def test_details_of_a_version_with_metadata_of_its_own(people):
    people.open(DescribeTableRequest(id=["t"])).update_metadata({"owner": "ann"})
    latest = DescribeTableRequest(id=["t"])
    first = DescribeTableRequest(id=["t"], version=1)
    assert table_details(people.open(latest), latest)["metadata"]["owner"] == "ann"
    assert "owner" not in table_details(people.open(first), first)["metadata"]
