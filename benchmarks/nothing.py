"""A backend that answers every operation at once, installed for as long as it is measured."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lancespace.authoring import OPERATIONS, Backend, Operation, Payload, hookimpl, model, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import BaseModel

NAME = "nothing"


class NothingBackend(Backend):
    """Each operation returns an answer that was made beforehand."""

    if TYPE_CHECKING:
        list_tables: Callable[..., Any]


def _method(operation: Operation) -> Callable[..., Any]:
    answer = "plan" if operation.result is Payload.TEXT else model(operation.response).model_construct()

    def with_data(self: NothingBackend, request: BaseModel, data: object) -> Any:  # noqa: ARG001 - the hook's arguments
        return answer

    def without_data(self: NothingBackend, request: BaseModel) -> Any:  # noqa: ARG001 - the hook's arguments
        return answer

    return hookimpl(specname=operation.name)(with_data if operation.takes_data else without_data)


for _operation in OPERATIONS.values():
    setattr(NothingBackend, _operation.name, _method(_operation))


def request_for(name: str) -> BaseModel:
    """A request that passes for one of the operation; only its identifier is ever looked at."""
    expected = model(OPERATIONS[name].request)
    fields: dict[str, Any] = {"id": ["a", "b"]} if "id" in expected.model_fields else {}
    return expected.model_construct(**fields)


@contextmanager
def installed() -> Iterator[str]:
    """Install the backend as a distribution of its own, and tell its name."""
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "nothing-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{registry.BACKENDS}]\n{NAME} = {__name__}:NothingBackend\n")
        sys.path.append(folder)
        registry.refresh()
        try:
            yield NAME
        finally:
            sys.path.remove(folder)
            registry.refresh()
