"""Requests in: path, query, headers and JSON body become the operation's request model."""

from __future__ import annotations

import functools
import typing
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from lance_namespace import InvalidInputError
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from lancespace.authoring import DELIMITER, OPERATIONS, Operation, Payload, model, translate
from lancespace_server.routes import decode

if TYPE_CHECKING:
    from lancespace_server.headers import Headers

Fields = dict[str, Any]

LARGE_BYTES = 256 << 10
"""Larger bodies are not parsed on the event loop."""

_MOST_VALUES, _MOST_CONTAINERS = 200_000, 20_000
"""What a large body may have; more would keep Python's lock, and all other callers waiting, for seconds."""

_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_CREDENTIALS = {f"{prefix}.{name}" for prefix in ("header", "headers") for name in ("x-api-key", "authorization")}
"""Entries of ``context`` that a client sends on as credentials."""

_UNSAFE_FIELDS = ("storage_options",)
"""Fields that would make the server talk to another store than its own, with its own credentials."""


def build(operation: Operation, segments: list[str], query_string: bytes, headers: Headers, body: bytes) -> BaseModel:
    """The request model of a call; what is in two places must agree.

    Raises:
        InvalidInputError: Naming the field that is wrong.
    """
    query = parse_query(operation, query_string) if query_string else {}
    delimiter = query.pop("delimiter", None) or DELIMITER
    fields: Fields = dict(zip(_path_fields(operation.name), map(decode, segments), strict=True))
    if "id" in fields:
        fields["id"] = split(fields["id"], delimiter)
    if query:
        _merge(operation, fields, query, "query")
    if in_body := _from_body(operation, body):
        _merge(operation, fields, in_body, "body")
    if query or in_body:
        _refuse_unsafe(operation, fields)
    _add_headers(fields, headers)
    try:
        return model(operation.request).model_validate(fields)
    except ValidationError as error:
        raise translate(error, about=operation.name) from error


def split(text: str, delimiter: str) -> list[str]:
    """The names of a string identifier; the delimiter alone is the root namespace."""
    return [] if text == delimiter else text.split(delimiter)


def delimiter_of(query_string: bytes) -> str:
    """The delimiter that a request names."""
    return dict(_pairs(query_string)).get("delimiter") or DELIMITER


def parse_query(operation: Operation, query_string: bytes) -> Fields:
    """The query parameters with the types that the request model gives them; unknown ones are passed over."""
    known = _query_types(operation.name)
    fields: Fields = {}
    for name, text in _pairs(query_string):
        kind = known.get(name)
        if kind is list:
            fields.setdefault(name, []).append(text)
        elif name in fields:
            raise InvalidInputError(f"The query parameter {name!r} is given twice: keep one.")
        elif kind is not None:
            fields[name] = _typed(name, text, kind)
    return fields


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    try:
        text = query_string.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise InvalidInputError(f"The query string cannot be read: {error}") from error


def _typed(name: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return _BOOLEANS[text.lower()]
        return _parse_map(text) if kind is dict else kind(text)
    except (KeyError, ValueError) as error:
        expected = {bool: "true or false", int: "a whole number", dict: "a JSON object of strings"}[kind]
        raise InvalidInputError(f"The query parameter {name!r} must be {expected}, not {text!r:.100}.") from error


def _parse_map(text: str) -> dict[str, Any]:
    value = from_json(text)
    if not isinstance(value, dict):
        raise ValueError(text)  # noqa: TRY004 - told to the caller as a wrong value, like all others
    return value


@functools.cache
def _path_fields(operation_name: str) -> tuple[str, ...]:
    """The fields in the path, found once: a row works them out whenever it is asked."""
    return OPERATIONS[operation_name].path_fields


@functools.cache
def _query_types(operation_name: str) -> dict[str, type]:
    """The Python type of each query parameter, from the request model."""
    operation = OPERATIONS[operation_name]
    fields = model(operation.request).model_fields
    return {"delimiter": str, **{name: _plain(fields[name].annotation) for name in operation.query}}


def _plain(annotation: Any) -> type:
    """``bool`` of ``Optional[Annotated[bool, ...]]``."""
    origin = typing.get_origin(annotation)
    if origin in {list, dict}:
        return typing.cast("type", origin)
    if isinstance(annotation, type):
        return annotation
    return _plain(typing.get_args(annotation)[0])


def _from_body(operation: Operation, body: bytes) -> Fields:
    if not body or (operation.body is not Payload.JSON and operation.body is not Payload.STRING_MAP):
        return {}
    if len(body) > LARGE_BYTES:
        _check_values(body)
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError(f"The body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"The body must be a JSON object, not {type(value).__name__}.")
    return {"metadata": value} if operation.body is Payload.STRING_MAP else value


def _check_values(body: bytes) -> None:
    """Count what takes long to parse; commas and brackets in texts count, too."""
    values = containers = 0
    for start in range(0, len(body), LARGE_BYTES):  # Between the parts, other threads may run.
        end = start + LARGE_BYTES
        values += body.count(b",", start, end)
        containers += body.count(b"[", start, end) + body.count(b"{", start, end)
        if values > _MOST_VALUES or containers > _MOST_CONTAINERS:
            raise InvalidInputError(
                f"The body has more than {_MOST_VALUES} values, or more than {_MOST_CONTAINERS} lists and objects: "
                "send less at a time."
            )


def _merge(operation: Operation, fields: Fields, more: Fields, source: str) -> None:
    """Add fields; where one is there already, both must say the same (the spec: 400 otherwise)."""
    for name, value in more.items():
        if value is None:
            continue
        if name in fields and fields[name] != value:
            raise InvalidInputError(
                f"{operation.name}: the {source} says {name} = {value!r:.200}, but the URL says {fields[name]!r:.200}."
            )
        fields[name] = value


def _refuse_unsafe(operation: Operation, fields: Fields) -> None:
    for name in _UNSAFE_FIELDS:
        if fields.get(name):
            raise InvalidInputError(
                f"{operation.name}: {name} is not taken over REST: the server writes to its own storage, "
                "with the options of its own configuration."
            )


def _add_headers(fields: Fields, headers: Headers) -> None:
    """Credentials come from the headers only: what a body claims, nobody has checked."""
    fields.pop("identity", None)
    given = fields.get("context")
    if isinstance(given, dict):
        given = fields["context"] = {key: value for key, value in given.items() if key.lower() not in _CREDENTIALS}
    if headers.api_key or headers.authorization:
        fields["identity"] = headers.identity() or None
    if headers.others and (context := headers.context()):
        fields["context"] = {**given, **context} if isinstance(given, dict) else context
