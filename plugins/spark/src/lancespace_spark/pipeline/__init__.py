"""Pipelines: a file that says how tables come from others, run step by step, each only on what is new.

``lancespace pipeline run FILE``, or from Python::

    pipeline = load("orders.toml")
    run(pipeline)
"""

from __future__ import annotations

from lancespace_spark.pipeline.model import Pipeline, Step
from lancespace_spark.pipeline.reading import load
from lancespace_spark.pipeline.running import Outcome, plan, run

__all__ = ["Outcome", "Pipeline", "Step", "load", "plan", "run"]
