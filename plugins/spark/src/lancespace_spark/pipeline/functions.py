"""The functions of steps: of a module beside the pipeline file, or of an installed one."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lance_namespace import InvalidInputError

from lancespace.authoring import fingerprint

if TYPE_CHECKING:
    import pyarrow as pa

    from lancespace_spark.pipeline.model import Step

Function = Callable[["pa.RecordBatch"], "pa.RecordBatch"]


def digest(step: Step, folder: str) -> str:
    """Of the module beside the file, so that an edit of it is noticed; empty for a step without one."""
    beside = _beside(step, folder)
    return hashlib.sha256(beside.read_bytes()).hexdigest() if beside is not None else ""


def find(step: Step, folder: str) -> Function:
    """The function that a step names as ``module:name``.

    Raises:
        InvalidInputError: If it is not there, or its module cannot be imported; the message says why.
    """
    module, _, name = str(step.get("function")).partition(":")
    beside = _beside(step, folder)
    try:
        home = import_module(module) if beside is None else _shipped(beside)
        found: Function = getattr(home, name)
    except Exception as error:
        raise InvalidInputError(
            f"there is no function {step.get('function')!r}: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise InvalidInputError(f"'function' names {step.get('function')!r}, which is no function")
    return found


def _beside(step: Step, folder: str) -> Path | None:
    module, colon, _ = str(step.get("function", "")).partition(":")
    file = Path(folder, f"{module}.py")
    return file if colon and file.exists() else None


def _shipped(file: Path) -> ModuleType:
    """A module beside the file: executors, which do not have it, are sent its functions themselves.

    It is not imported, since Python would take what it has compiled before for a file edited in the same second.
    """
    from pyspark import cloudpickle

    module = ModuleType(f"pipeline_{fingerprint(str(file))}_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    exec(compile(file.read_bytes(), file, "exec"), vars(module))  # noqa: S102 - the pipeline's own code
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module
