"""From an HTTP answer to what an operation answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lancespace.models import model
from lancespace.operations import Operation, Payload
from lancespace_rest import failures
from lancespace_rest.headers import to_context

if TYPE_CHECKING:
    import requests


def understood(operation: Operation, about: str, answer: requests.Response, body: bytes) -> Any:
    """The response model, with the headers of the answer as its context; a plain string for the plans.

    Raises:
        InternalError: If a success is not what the spec says it is.
    """
    if operation.result is Payload.TEXT:
        return _text(about, answer, body)
    expected, fields_of = _FORMS[operation.result]
    try:
        value = fields_of(body)
        told = value.get("context") or {}
        return model(operation.response).model_validate({**value, "context": {**told, **to_context(answer.headers)}})
    except (ValueError, TypeError) as error:
        raise failures.not_understood(about, expected, answer, body) from error


def _text(about: str, answer: requests.Response, body: bytes) -> str:
    """A JSON string, as the spec has it, or plain text, which some servers send."""
    try:
        is_plain = answer.headers.get("content-type", "").startswith("text/plain")
        text: str = body.decode() if is_plain else _typed(str, json.loads(body))
    except (ValueError, TypeError) as error:
        raise failures.not_understood(about, "a string", answer, body) from error
    return text


def _object(body: bytes) -> dict[str, Any]:
    """The fields of a model; no body at all is an object without fields."""
    fields: dict[str, Any] = _typed(dict, json.loads(body)) if body.strip() else {}
    return fields


def _integer(body: bytes) -> dict[str, Any]:
    return {"count": _typed(int, json.loads(body))}


def _string_map(body: bytes) -> dict[str, Any]:
    return {"metadata": _typed(dict, json.loads(body))}


def _nothing(_: bytes) -> dict[str, Any]:
    return {}


def _typed(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} instead of {kind.__name__}")
    return value


_FORMS: dict[Payload, tuple[str, Callable[[bytes], dict[str, Any]]]] = {
    Payload.JSON: ("a JSON object with the fields of the spec", _object),
    Payload.INTEGER: ("a number", _integer),
    Payload.STRING_MAP: ("a JSON object of strings", _string_map),
    Payload.EMPTY: ("empty", _nothing),
}
