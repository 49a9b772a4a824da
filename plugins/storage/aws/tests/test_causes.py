"""The codes that S3 sends tell more than the HTTP status, once the plugin is loaded."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from lance_namespace import LanceNamespaceError, ThrottlingError, UnauthenticatedError

from lancespace.authoring import Connection, translate


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (403, "ExpiredToken", UnauthenticatedError),
        (503, "SlowDown", ThrottlingError),
        (503, "QpsLimitExceeded", ThrottlingError),
    ],
)
def test_what_a_code_means(status: int, code: str, expected: type[LanceNamespaceError]):
    Connection("memory", {}).storage("s3://lake/root", {})
    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    assert type(translate(ClientError(answer, "PutObject"))) is expected
