"""create_table with the mode Overwrite: another table under the same name, with the properties of the request."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import InvalidInputError

import lancespace
from lancespace_testing.samples import sample
from plugins.dir.tests.support import V1_ONLY, V2_ONLY, write_table

OURS = {"owner": "Ada"}
MANAGED = {"table_version_management": "true"}


def connect(root: Path, properties: dict[str, str]) -> lancespace.Namespace:
    return lancespace.connect("dir", {"root": str(root), **properties})


@pytest.mark.parametrize("mode", [V2_ONLY, {}, MANAGED], ids=["V2", "compatibility", "managed"])
def test_properties_are_replaced_if_there_are_any(tmp_path: Path, mode: dict[str, str]):
    with connect(tmp_path, mode) as namespace:
        namespace.create_table("t", sample(), properties={"old": "1"})
        assert namespace.create_table("t", sample(), mode="overwrite").properties == {"old": "1"}
        assert namespace.create_table("t", sample(), mode="overwrite", properties=OURS).properties == OURS

        namespace.insert_into_table("t", sample())

        described = namespace.describe_table("t", load_detailed_metadata=True)
        assert (described.properties, described.version) == (OURS, 4)
        assert described.managed_versioning is (True if mode == MANAGED else None)
        assert [each.version for each in namespace.list_table_versions("t").versions] == [1, 2, 3, 4]


def test_a_table_that_only_the_directory_shows_gets_a_row(tmp_path: Path):
    write_table(tmp_path, "t.lance")
    with connect(tmp_path, {}) as namespace:
        namespace.create_table("t", sample(), mode="overwrite", properties=OURS)
        assert namespace.describe_table("t").properties == OURS
        assert list(namespace.tables()) == ["t"]


def test_v1_has_no_place_for_them(tmp_path: Path):
    write_table(tmp_path, "t.lance")
    with connect(tmp_path, V1_ONLY) as namespace:
        with pytest.raises(InvalidInputError, match="cannot keep table properties"):
            namespace.create_table("t", sample(), mode="overwrite", properties=OURS)
        assert namespace.create_table("t", sample(), mode="overwrite").properties is None


def test_a_backend_that_only_registers_replaces_them_too():
    with lancespace.connect("memory") as namespace:
        namespace.create_table("t", sample(), properties={"old": "1"})
        assert namespace.create_table("t", sample(), mode="overwrite", properties=OURS).properties == OURS
        assert (namespace.describe_table("t").properties, namespace.table("t").count()) == (OURS, sample().num_rows)
