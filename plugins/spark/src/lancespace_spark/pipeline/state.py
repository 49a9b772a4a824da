"""What a pipeline remembers between runs: what each step has seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lancespace.engines.files import MemoryFiles, StoredFiles

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_spark.pipeline.model import Pipeline, Step


class PipelineState:
    """Kept beside the records of jobs in the catalog, so that another machine goes on where this one stopped."""

    def __init__(self, namespace: Namespace, pipeline: Pipeline) -> None:
        storage = namespace.backend.job_storage()
        self._files = MemoryFiles() if storage is None else StoredFiles(storage)
        self._path = f"pipelines/{pipeline.name}.json"
        self._steps: dict[str, Any] = json.loads(self._files.read(self._path) or b"{}")

    def seen(self, step: Step) -> Any:
        """What the step had seen when it last succeeded as it is now; None if it never did."""
        known = self._steps.get(step.name)
        return known["seen"] if known is not None and known["step"] == step.fingerprint() else None

    def succeeded(self, step: Step, seen: Any) -> None:
        """Remember it, at once: a crash in the next step must not repeat this one."""
        self._steps[step.name] = {"step": step.fingerprint(), "seen": seen}
        self._files.replace(self._path, json.dumps(self._steps, indent=2).encode())
