"""`_operation_hooks.py`: the hooks of the operations as source, for readers, editors and grep."""

from __future__ import annotations

from lancespace.authoring import OPERATIONS, Operation, Payload
from tools.generators.stub import formatted

HEADER = '''\
# Written by `python -m tools.generate` from the table of operations: do not edit.
# mypy: disable-error-code="empty-body"
"""The hooks of the operations. A backend implements those it supports; a wrapper goes around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import lance_namespace as spec
    import pyarrow as pa

    from lancespace._arrow import ArrowData


'''


def render() -> str:
    """The module."""
    return formatted(HEADER + "\n".join(map(_hook, OPERATIONS.values())), "core/src/lancespace/_operation_hooks.py")


def _hook(operation: Operation) -> str:
    data = ", data: ArrowData" if operation.takes_data else ""
    return f"def {operation.name}(request: spec.{operation.request}{data}) -> {_answer(operation)}: ..."


def _answer(operation: Operation) -> str:
    if operation.result is Payload.TEXT:
        return "str"
    streams = " | pa.RecordBatchReader" if operation.result is Payload.ARROW_FILE else ""
    return f"spec.{operation.response}{streams}"
