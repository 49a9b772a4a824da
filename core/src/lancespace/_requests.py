"""From what a person passes to the spec's request model.

An operation takes its request model as it is, a mapping with the model's fields, or an identifier and the fields as
keywords. Whatever is wrong is one ``InvalidInputError`` that says which field and what it should be.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from lance_namespace import InvalidInputError
from pydantic import BaseModel, ValidationError

from lancespace import identifiers
from lancespace._errors import translate
from lancespace._models import model
from lancespace._operations import Operation, Subject
from lancespace._reserved import refuse_reserved

RequestLike = BaseModel | Mapping[str, Any] | str | Sequence[str] | None

_ALL_ROWS = 2**31 - 1
_SEARCH_ROWS = 10


def build(operation: Operation, request: RequestLike, fields: Mapping[str, Any]) -> BaseModel:
    """The operation's request model, with a validated identifier.

    Raises:
        InvalidInputError: If a field is unknown or ill-typed, the identifier is not allowed, or metadata is reserved.
    """
    expected = model(operation.request)
    if type(request) is expected and not fields:
        checked = request
    elif isinstance(request, BaseModel):
        checked = _from_model(operation, expected, request, fields)
    elif isinstance(request, Mapping):
        checked = _from_fields(operation, expected, {**request, **fields})
    else:
        checked = _from_fields(operation, expected, {**_identifier(operation, request, fields), **fields})
    _check_identifier(operation, checked)
    refuse_reserved(operation.name, checked)
    return checked


def _from_model(
    operation: Operation, expected: type[BaseModel], request: BaseModel, fields: Mapping[str, Any]
) -> BaseModel:
    """A request of the right model, or of another one whose set fields the right one has (deprecated aliases)."""
    if fields:
        names = ", ".join(sorted(fields))
        raise InvalidInputError(f"{operation.name}: pass either a request object or fields ({names}), not both.")
    given = request.model_dump(exclude_none=True)
    foreign = given.keys() - expected.model_fields.keys()
    if foreign:
        raise InvalidInputError(
            f"{operation.name} takes a {expected.__name__}, "
            f"not a {type(request).__name__} with {', '.join(sorted(foreign))}."
        )
    return _from_fields(operation, expected, given)


def _identifier(
    operation: Operation, request: identifiers.Identifier | None, fields: Mapping[str, Any]
) -> dict[str, Any]:
    if request is None:
        return {}
    if "id" in fields:
        raise InvalidInputError(
            f"{operation.name}: the identifier is given twice, as {request!r} and as 'id': keep one."
        )
    return {"id": identifiers.parse(request)}


def _from_fields(operation: Operation, expected: type[BaseModel], fields: Mapping[str, Any]) -> BaseModel:
    known = {info.alias or name: name for name, info in expected.model_fields.items()}
    for name in fields:
        if name not in known and name not in known.values():
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(f"{operation.name} has no field {name!r}.{hint} Known: {', '.join(sorted(known))}.")
    try:
        return expected.model_validate(_coerced(operation, fields))
    except ValidationError as error:
        raise translate(error, about=operation.name) from error


def _coerced(operation: Operation, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Plain Python values in the shape of the spec's nested models, where a person would write them plainly."""
    values = {name: value for name, value in fields.items() if value is not None}
    if isinstance(values.get("id"), str):
        values["id"] = identifiers.parse(values["id"])
    if operation.request in {"QueryTableRequest", "AnalyzeTableQueryPlanRequest"}:
        return _coerced_query(values)
    if operation.request == "CreateMaterializedViewRequest":
        return _coerced_view(values)
    if operation.request == "ExplainTableQueryPlanRequest" and isinstance(values.get("query"), Mapping):
        values["query"] = _coerced_query(dict(values["query"]))
    return values


def _coerced_view(values: dict[str, Any]) -> dict[str, Any]:
    """A chunker is also called scalar_udtf, says the spec; its models know one name."""
    kinds = {"scalar_udtf": "chunker"}
    values["kind"] = kinds.get(str(values.get("kind")), values.get("kind"))
    spec = values.get("udtf_spec")
    if isinstance(spec, Mapping):
        values["udtf_spec"] = {**spec, "kind": kinds.get(str(spec.get("kind")), spec.get("kind"))}
    return values


def _coerced_query(values: dict[str, Any]) -> dict[str, Any]:
    vector = values.setdefault("vector", {})
    if _is_sequence(vector):
        nested = len(vector) > 0 and _is_sequence(vector[0])
        values["vector"] = {"multi_vector": [list(v) for v in vector]} if nested else {"single_vector": list(vector)}
    columns: Any = values.get("columns")
    if _is_sequence(columns):
        values["columns"] = {"column_names": list(columns)}
    elif isinstance(columns, Mapping) and not {"column_names", "column_aliases"} & columns.keys():
        values["columns"] = {"column_aliases": dict(columns)}
    if isinstance(values.get("full_text_query"), str):
        values["full_text_query"] = {"string_query": {"query": values["full_text_query"]}}
    is_search = bool(values["vector"]) or "full_text_query" in values
    values.setdefault("k", _SEARCH_ROWS if is_search else _ALL_ROWS)
    return values


def _is_sequence(value: object) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (str, bytes, Mapping))


def _check_identifier(operation: Operation, request: BaseModel) -> None:
    """Refuse an identifier that is not allowed here; the fast path of every operation, hence no copying."""
    names = getattr(request, "id", None)
    if names:
        identifiers.validate(tuple(names))
    elif operation.subject is Subject.CATALOG:
        _check_nested(request)
    elif operation.subject is not Subject.NAMESPACE:
        raise InvalidInputError(
            f"{operation.name} needs the identifier of a {operation.subject.value}, "
            "e.g. ['sales', 'orders'] or 'sales.orders'."
        )


def _check_nested(request: BaseModel) -> None:
    """Refuse the identifiers of a batch that are not allowed, or that name no table."""
    for entry in (*getattr(request, "entries", ()), *getattr(request, "operations", ())):
        part = entry if hasattr(entry, "id") else next((value for _, value in entry if value is not None), None)
        if part is None or not part.id:
            raise InvalidInputError("Every entry of a batch needs the identifier of a table, e.g. ['sales', 'orders'].")
        identifiers.validate(tuple(part.id))
