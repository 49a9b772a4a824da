"""The conformance suite of storage plugins: the local one passes it, and a broken one does not."""

from __future__ import annotations

import pytest

from lancespace_testing import StorageConformance

pytest_plugins = ["pytester"]

_FILE = """
from pathlib import Path
from lance_namespace import InvalidInputError
from lancespace.authoring import Connection, Storage
from lancespace_testing import StorageConformance


class Broken(Storage):
    {body}


class TestIt(StorageConformance):
    secrets = {{"key": "s3cr3t"}}

    def location(self, tmp_path):
        return str(tmp_path)

    def open(self, location, options):
        whole = Connection("memory", {{}}).storage(location, options)
        return Broken(whole._hooks, location, options)
"""

_BROKEN = {
    "def put_if_absent(self, path, data, unique=False): self.filesystem.pipe_file(path, data)": (
        "test_put_if_absent",
        "test_one_of_many_threads_puts",
    ),
    """def put_if_absent(self, path, data, unique=False):
        if self.exists(path): raise FileExistsError(f"{path} exists already")
        __import__("time").sleep(0.01)
        self.filesystem.pipe_file(path, data)""": ("test_one_of_many_threads_puts",),
    "def list_tree(self, path): return {}": ("test_what_was_written_is_listed", "test_delete_unchanged"),
    """def delete_tree(self, path, last=None):
        self.delete_files(found for found in self.list_tree(self.path()) if found.startswith(path))""": (
        "test_delete_tree",
    ),
    "def delete_files(self, paths): [self.filesystem.rm_file(path) for path in paths]": ("test_delete_files",),
    "def delete_unchanged(self, path, version): self.filesystem.rm_file(path); return True": ("test_delete_unchanged",),
    "options = {}": ("test_unknown_options_are_refused",),
    "def __repr__(self): return str(self._given)": ("test_secrets_are_not_shown",),
    """@property
    def options(self): raise InvalidInputError(f"no option 'made_up': {self._given}")""": (
        "test_unknown_options_are_refused",
    ),
}


class TestLocal(StorageConformance):
    def location(self, tmp_path):
        return str(tmp_path)


@pytest.mark.parametrize("body", _BROKEN)
def test_a_broken_storage_is_caught(body: str, pytester: pytest.Pytester):
    path = pytester.makepyfile(_FILE.format(body=body))
    tests = [f"{path.name}::TestIt::{test}" for test in _BROKEN[body]]
    outcomes = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", *tests).parseoutcomes()
    assert set(outcomes) == {"failed"}
