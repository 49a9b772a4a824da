"""Moto: an S3 that stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.emulators.clouds import Cloud

BUCKET = "lake"


@pytest.fixture
def moto_options(s3_cloud: Cloud) -> Iterator[dict[str, str]]:
    """Options for a moto with one empty bucket."""
    s3_cloud.create_bucket(BUCKET)
    yield dict(s3_cloud.options)
    s3_cloud.storage(f"s3://{BUCKET}").filesystem.rm(BUCKET, recursive=True)
