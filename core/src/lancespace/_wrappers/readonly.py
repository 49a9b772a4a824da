"""``wrappers=readonly``: refuses every operation that may change something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import PermissionDeniedError

from lancespace._wrappers.base import Around, OperationWrapper

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace._operations import Operation


class ReadOnlyWrapper(OperationWrapper):
    """Lets reads through and stops writes before the backend is reached."""

    def around(self, operation: Operation, request: BaseModel) -> Around:  # noqa: ARG002 - any request is refused
        """Stop a writing operation."""
        if operation.writes:
            raise PermissionDeniedError(
                f"{operation.name} is refused: this connection is read-only (its property 'wrappers' has 'readonly')."
            )
        return (yield)
