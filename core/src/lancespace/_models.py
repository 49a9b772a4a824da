"""The spec's models and error classes, looked up by name on first use.

``import lance_namespace`` builds more than a hundred pydantic validators and takes over a second, so the modules
that must start fast name models by string and come here when they need the class.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_namespace import LanceNamespaceError
    from pydantic import BaseModel


@functools.cache
def model(name: str) -> type[BaseModel]:
    """The request or response model called ``name``, e.g. ``model("CreateTableRequest")``."""
    from lance_namespace_urllib3_client import models

    found: type[BaseModel] = getattr(models, name)
    return found


@functools.cache
def error_class(code_name: str) -> type[LanceNamespaceError]:
    """The exception class of an ``ErrorCode`` by the code's name, e.g. ``error_class("TABLE_NOT_FOUND")``."""
    from lance_namespace import ErrorCode, from_error_code

    return type(from_error_code(ErrorCode[code_name], ""))
