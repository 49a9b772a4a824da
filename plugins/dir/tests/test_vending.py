"""A directory catalog that is asked to vend credentials; how each store does it is tested with its plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

from lancespace import connect

if TYPE_CHECKING:
    from pathlib import Path


def test_a_local_directory_has_none(tmp_path: Path):
    with pytest.raises(InvalidInputError, match=r"credential_vendor.enabled: .* has no credentials to hand out"):
        connect("dir", {"root": str(tmp_path), "credential_vendor.enabled": "true"})


@pytest.mark.parametrize("name", ["aws_role_arn", "enbled"])
def test_properties_that_say_nothing_by_themselves(tmp_path: Path, name: str):
    with pytest.raises(InvalidInputError, match=rf"without credential_vendor.enabled: set it too, or .*{name}"):
        connect("dir", {"root": str(tmp_path), f"credential_vendor.{name}": "x"})


def test_it_can_be_switched_off(tmp_path: Path):
    off = {"credential_vendor.enabled": "false", "credential_vendor.aws_role_arn": "x"}
    namespace = connect("dir", {"root": str(tmp_path), **off})
    assert namespace.create_table("orders", pa.table({"id": [1]})).storage_options is None
    assert namespace.describe_table("orders", vend_credentials=True).storage_options is None
