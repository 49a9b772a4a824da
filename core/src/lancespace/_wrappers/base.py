"""One generator around all operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, ClassVar

from lancespace._errors import translate
from lancespace._hookspecs import hookimpl
from lancespace._operations import OPERATIONS, Operation
from lancespace._properties import Property

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace._connection import Connection

Around = Generator[None, Any, Any]


class OperationWrapper:
    """A wrapper plugin; its property ``path``, say, is given to ``audit`` as ``audit.path``."""

    properties: ClassVar[tuple[Property, ...]] = ()

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def around(self, operation: Operation, request: BaseModel) -> Around:
        """Runs around an operation: yield once, where the operation happens, and return its answer or another."""
        raise NotImplementedError


class ObservingWrapper(OperationWrapper):
    """A wrapper that only looks on: it hears of every operation when it is over."""

    def observe(self, operation: Operation, request: BaseModel, outcome: str, seconds: float) -> None:
        """An operation is over; ``outcome`` is ``OK``, or the name of the error code it ended with."""
        raise NotImplementedError

    def around(self, operation: Operation, request: BaseModel) -> Around:
        """Time the operation and pass its answer or error on."""
        started = time.perf_counter()
        outcome = "OK"
        try:
            return (yield)
        except BaseException as error:
            outcome = translate(error).code.name if isinstance(error, Exception) else type(error).__name__
            raise
        finally:
            self.observe(operation, request, outcome, time.perf_counter() - started)


def _wrapped(operation: Operation) -> Callable[..., Any]:
    def wrapper(self: OperationWrapper, request: BaseModel) -> Around:
        return (yield from self.around(operation, request))

    wrapper.__name__ = operation.name
    return hookimpl(wrapper=True)(wrapper)


for _row in OPERATIONS.values():
    setattr(OperationWrapper, _row.name, _wrapped(_row))
