"""Children that are forked by a process which has used a store: they have clients of their own, and they end."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from lancespace import connect
from lancespace.authoring import Connection
from tests.ecosystem.test_forks import REFUSED, ROWS, forked, in_parent
from tests.emulators.clouds import Cloud

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def check(properties: Mapping[str, str]) -> None:
    storage = Connection("dir", properties).storage(properties["root"])
    storage.put_if_absent(f"{storage.path()}/file", b"x")
    namespace = connect("dir", properties)

    assert forked(lambda: namespace.create_table("t", ROWS).version) == "1"
    assert namespace.table("t").count() == ROWS.num_rows
    assert REFUSED in forked(lambda: namespace.table("t").count())


def test_a_child_has_clients_of_its_own_and_ends(cloud: Cloud):
    in_parent(check, cloud.properties(cloud.new_root()))
