"""What a pipeline remembers between runs: what each step has seen, and what it had begun."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import ConcurrentModificationError, InvalidTableStateError, UnsupportedOperationError

from lancespace.authoring import fingerprint
from lancespace_jobs import StoredFiles
from lancespace_spark.pipeline.functions import digest

if TYPE_CHECKING:
    from lancespace import Namespace
    from lancespace_jobs import JobFiles
    from lancespace_spark.pipeline.model import Pipeline, Step

FOLDER = "pipelines"


@dataclass(frozen=True)
class Entry:
    """What is known of a step."""

    step: str
    """The fingerprint that it had."""
    into: str
    seen: Any = None
    """What it had seen when it last succeeded; None if it never did."""
    began: Any = None
    """What it had begun to append; None once it is known to be over."""


def files_of(namespace: Namespace, pipeline: Pipeline) -> JobFiles:
    """Where the catalog keeps what pipelines remember.

    Raises:
        UnsupportedOperationError: If it has no place for that. Every run would be a first one, and append all again.
    """
    storage = namespace.backend.job_storage()
    if storage is None:
        raise UnsupportedOperationError(
            f"the backend {pipeline.backend!r} has no place for what a pipeline remembers between runs: name the "
            "catalog itself in [catalog], with backend 'dir' and its 'root'"
        )
    return StoredFiles(storage)


class PipelineState:
    """Kept beside the records of jobs in the catalog, so that another machine goes on where this one stopped.

    It is saved under the next number, and the highest number counts. The file that counts is never deleted, so a run
    that was paused while another one took over cannot save over what that one knows.
    """

    def __init__(self, files: JobFiles, pipeline: Pipeline) -> None:
        self._files = files
        self._pipeline = pipeline
        self._folder = f"{FOLDER}/{pipeline.name}.state"
        self._number = 0
        self._steps = self._load()

    def entry(self, step: Step) -> Entry | None:
        """What is known of a step: under its name, or under one that the file no longer has, if it is the same."""
        known = self._steps.get(step.name)
        if known is None:
            names = {other.name for other in self._pipeline.steps}
            gone = (name for name, entry in self._steps.items() if name not in names)
            known = next((self._steps[name] for name in gone if self._steps[name].step == self.mark(step)), None)
        return known

    def mark(self, step: Step) -> str:
        """The step's fingerprint, with that of the module beside the file which its function is in."""
        return fingerprint(step.fingerprint(), digest(step, self._pipeline.folder))

    def begins(self, step: Step, began: Mapping[str, Any]) -> None:
        """Remember what is about to be appended: after a crash, the next run looks whether it was."""
        known = self.entry(step)
        seen = known.seen if known is not None and known.into == step.writes else None
        self._save(step, Entry(self.mark(step), step.writes, seen, dict(began)))

    def succeeded(self, step: Step, seen: Any) -> None:
        """Remember it, at once: a crash in the next step must not repeat this one."""
        self._save(step, Entry(self.mark(step), step.writes, seen))

    def _save(self, step: Step, entry: Entry) -> None:
        self._steps[step.name] = entry
        known = {name: asdict(one) for name, one in self._steps.items()}
        before, self._number = self._number, self._number + 1
        saved = self._files.create(self._path, json.dumps(known, indent=2).encode())
        if not saved or self._latest() != self._number:
            raise ConcurrentModificationError(
                f"another run of the pipeline {self._pipeline.name!r} took over, as this one gave no sign for long"
            )
        self._files.delete(f"{self._folder}/{before}.json")

    @property
    def _path(self) -> str:
        return f"{self._folder}/{self._number}.json"

    def _latest(self) -> int:
        numbers = (name.removesuffix(".json") for name in self._files.names(self._folder))
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def _load(self) -> dict[str, Entry]:
        self._number = self._latest()
        text = self._files.read(self._path) if self._number else b"{}"
        if text is None:
            return self._load()  # A run has just saved the next one.
        try:
            return {name: Entry(**one) for name, one in json.loads(text).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidTableStateError(
                f"what the pipeline remembers, {self._path} beside the catalog's jobs, is damaged ({error}): restore "
                "it, or delete it and give the tables that steps append to new names"
            ) from error
