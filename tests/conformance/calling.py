"""How pylance's Python classes are called: some of their methods take and answer dicts instead of the spec's models."""

from __future__ import annotations

from typing import Any

from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lancespace.authoring import OPERATIONS, model

_TAKE_DICTS = {"create_table_version", "describe_table_version", "batch_delete_table_versions"}


def call(namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
    """Send one request to a namespace of pylance 14.0.2."""
    method = getattr(namespace, operation)
    if operation in _TAKE_DICTS:
        return model(OPERATIONS[operation].response).model_validate(method(request.model_dump(exclude_none=True)))
    return method(request) if data is None else method(request, data)
