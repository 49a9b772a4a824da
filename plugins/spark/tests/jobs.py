"""The engine ``spark`` in tests: a catalog whose jobs run on the cluster, and their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lancespace import Namespace, connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 300


def on_spark(spark: SparkSession, root: str, **properties: str) -> Namespace:
    """The catalog, with the engine of the session's cluster; functions that are kept in tables may run."""
    settings = {"engine": "spark", "spark.master": str(spark.sparkContext.master), "udf.enabled": "true"}
    return connect("dir", {"root": root, **settings, **properties})


def ended(namespace: Namespace, job: str | None) -> Any:
    """How a job ended, by ``describe_transaction``; a cluster takes longer than ``until`` waits."""
    import time

    assert job is not None
    deadline = time.monotonic() + PATIENCE
    while (found := namespace.describe_transaction(job)).status in {"QUEUED", "RUNNING"}:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def succeeded(namespace: Namespace, job: str | None) -> dict[str, str]:
    """What ``describe_transaction`` tells of a job that succeeded."""
    found = ended(namespace, job)
    assert found.status == "SUCCEEDED", found.properties
    properties: dict[str, str] = found.properties
    return properties
