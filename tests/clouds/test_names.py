"""Names with characters that mean something in a URL, which is what pylance takes a location for."""

from __future__ import annotations

import pytest

from lancespace_testing.samples import COUNT, sample
from tests.emulators.clouds import Cloud

NAMES = ["q", "q?x", "q?y", "q#x", "100%", "perAcent", "with space", "ü", "a*", "[a]", "a+b&c=d"]
ESCAPE = "per%41cent"
"""On OSS pylance reads an escape twice, and takes this for ``perAcent``."""


@pytest.mark.parametrize("mode", ["manifest_enabled", "dir_listing_enabled", ""], ids=["v1", "v2", "compatibility"])
def test_each_name_is_a_table_of_its_own(cloud: Cloud, mode: str):
    root = cloud.new_root()
    sizes = {name: rows for rows, name in enumerate(NAMES if cloud.scheme == "oss" else [*NAMES, ESCAPE], 1)}
    with cloud.connect(root, **({mode: "false"} if mode else {})) as namespace:
        for name, rows in sizes.items():
            namespace.create_table([name], sample(0, rows))
        assert sorted(namespace.list_tables().tables) == sorted(sizes)
        assert {name: namespace.count_table_rows([name]).count for name in sizes} == sizes
        for name in sizes:
            namespace.drop_table([name])
        assert namespace.list_tables().tables == []
    storage = cloud.storage(root)
    left = [path for path in storage.filesystem.find(storage.path()) if "__manifest" not in path]
    assert left == []


def test_a_location_is_taken_back_as_it_was_answered(cloud: Cloud):
    with cloud.connect(cloud.new_root()) as namespace:
        namespace.create_table(["q?#%"], sample())
        location = namespace.describe_table(["q?#%"]).location
        assert location is not None
        namespace.deregister_table(["q?#%"])
        namespace.register_table(["again"], location=location)
        assert namespace.describe_table(["again"]).location == location
        assert namespace.count_table_rows(["again"]).count == COUNT
