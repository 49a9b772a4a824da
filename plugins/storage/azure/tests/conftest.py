"""Azurite with one empty container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.emulators.clouds import Cloud

CONTAINER = "lake"


@pytest.fixture
def azurite_options(azure_cloud: Cloud) -> Iterator[dict[str, str]]:
    """Options for an emulator with one empty container."""
    azure_cloud.create_bucket(CONTAINER)
    yield dict(azure_cloud.options)
    azure_cloud.storage(f"az://{CONTAINER}").filesystem.rm(CONTAINER, recursive=True)
