"""`methods.pyi`: the operation methods as type checkers and editors see them."""

from __future__ import annotations

import re
import subprocess
import sys
import typing
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Union

import lance_namespace
from lance_namespace_urllib3_client import models
from pydantic import BaseModel

from lancespace._operations import ALIASES
from lancespace.authoring import OPERATIONS, Operation, Payload, model

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER = """\
# Written by `python -m tools.generate` from the table of operations: do not edit.
# ruff: noqa: A002 - The names of fields are the spec's.

from abc import ABCMeta
from collections.abc import Mapping, Sequence
from typing import Any

from lance_namespace import LanceNamespace
from lancespace._arrow import ArrowLike
from lancespace.identifiers import Identifier
from lancespace._requests import RequestLike
"""

COERCED = {
    "QueryTableRequestVector": "Sequence[float] | Sequence[Sequence[float]]",
    "QueryTableRequestColumns": "Sequence[str]",
    "QueryTableRequestFullTextQuery": "str",
}
"""What `lancespace._requests` takes for some of the spec's nested models; all of them may be a mapping."""


def render() -> str:
    """The stub, formatted."""
    methods = "".join(_methods())
    imports = "".join(_imports(methods))
    return formatted(f"{HEADER}{imports}class OperationMethods(LanceNamespace, metaclass=ABCMeta):\n{methods}")


def _methods() -> Iterator[str]:
    for operation in OPERATIONS.values():
        yield _method(operation.name, operation)
    for alias, name in ALIASES.items():
        yield f"    # The answer is {name}'s.\n" + _method(alias, OPERATIONS[name], ignore="  # type: ignore[override]")


def _method(name: str, operation: Operation, ignore: str = "") -> str:
    data = "request_data: ArrowLike = ...," if operation.takes_data else ""
    fields = model(operation.request).model_fields.items()
    keywords = " ".join(f"{field}: {_field(field, info.annotation)} = ...," for field, info in fields)
    answer = "str" if operation.result is Payload.TEXT else operation.response
    return (
        f"    def {name}({ignore}\n"
        f"        self, request: {operation.request} | RequestLike = ..., {data} *, {keywords}\n"
        f"    ) -> {answer}: ...\n"
    )


def _field(name: str, annotation: Any) -> str:
    """The type of a field as a keyword: None is as good as leaving it out."""
    text = "Identifier" if name == "id" else _type(annotation)
    return text if text.endswith("| None") else f"{text} | None"


def _type(annotation: Any) -> str:
    """An annotation as a caller meets it: without constraints, and as loose as validation is."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0])
    if origin is Union:
        members = [_type(member) for member in arguments if member is not NoneType]
        if "float" in members:
            members.remove("int")  # Type checkers take an int for a float.
        return " | ".join([*members, *(["None"] if NoneType in arguments else [])])
    if origin is list:
        # A str is a Sequence[str], and never what is meant.
        return "list[str]" if _type(arguments[0]) == "str" else f"Sequence[{_type(arguments[0])}]"
    if origin is dict:
        return f"Mapping[{_type(arguments[0])}, {_type(arguments[1])}]"
    if issubclass(annotation, BaseModel):
        return " | ".join([annotation.__name__, *filter(None, [COERCED.get(annotation.__name__)]), "Mapping[str, Any]"])
    return str(annotation.__name__)


def _imports(methods: str) -> Iterator[str]:
    """Import the models that the methods name; from where they are public, for mypy minds."""
    for name in sorted(set(re.findall(r"\b[A-Z]\w+", methods))):
        if name in lance_namespace.__all__:
            yield f"from lance_namespace import {name}\n"
        elif hasattr(models, name):
            yield f"from {getattr(models, name).__module__} import {name}\n"


def formatted(text: str, filename: str = "core/src/lancespace/_methods.pyi") -> str:
    """Python as ruff writes it in this repository."""
    ruff = Path(sys.executable).with_name("ruff")
    for command in (["check", "--select=I", "--fix", "--quiet"], ["format", "--quiet"]):
        options = [*command, f"--stdin-filename={filename}", "-"]
        text = subprocess.run([ruff, *options], input=text, capture_output=True, text=True, check=True).stdout
    return text
