"""The dynamic context provider: a class of the user's that is asked for context before every operation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lancespace.operations import Operation

PROPERTY = "dynamic_context_provider.impl"


class ContextProvider(Protocol):
    """What the class must have: the interface of pylance's ``DynamicContextProvider``."""

    def provide_context(self, info: dict[str, str]) -> Mapping[str, str]:
        """The context of an operation; ``info`` has ``operation`` and ``object_id``, its joined identifier."""


def choose(given: object, options: Mapping[str, str]) -> ContextProvider | None:
    """The provider that was given as an object, or else the one that the properties name.

    Raises:
        InvalidInputError: If the object is no provider, or the class that is named cannot be made.
    """
    if given is None:
        return load(options)
    if not callable(getattr(given, "provide_context", None)):
        raise InvalidInputError(
            f"rest: the context_provider, a {type(given).__name__}, needs a method provide_context."
        )
    return cast("ContextProvider", given)


def load(options: Mapping[str, str]) -> ContextProvider | None:
    """Build the provider of ``dynamic_context_provider.*``, if there is one.

    Raises:
        InvalidInputError: If the class cannot be imported or does not take the options.
    """
    if not options:
        return None
    path = options.get("impl", "")
    module, _, name = path.rpartition(".")
    if not module:
        raise InvalidInputError(f"rest: the property {PROPERTY!r} must be a class path like 'package.module.Class'.")
    try:
        kind = getattr(importlib.import_module(module), name)
        provider: ContextProvider = kind(**{key: value for key, value in options.items() if key != "impl"})
    except Exception as error:
        raise InvalidInputError(f"rest: the context provider {path!r} cannot be made: {_shown(error)}") from error
    return provider


def context_of(provider: ContextProvider | None, operation: Operation, object_id: str) -> dict[str, str]:
    """What the provider says about one operation.

    Raises:
        InternalError: If it fails, or does not answer strings.
        LanceNamespaceError: What the provider itself raises of the spec's errors.
    """
    if provider is None:
        return {}
    name = type(provider).__name__
    try:
        context: dict[str, Any] = dict(provider.provide_context({"operation": operation.name, "object_id": object_id}))
    except LanceNamespaceError:
        raise
    except Exception as error:
        raise InternalError(f"The context provider {name} failed: {_shown(error)}") from error
    for key, value in context.items():
        if not isinstance(value, str):
            raise InternalError(
                f"The context provider {name} must answer strings, but {key!r} is {type(value).__name__}."
            )
    return context


def _shown(error: Exception) -> str:
    from lancespace.errors import redact

    return redact(f"{type(error).__name__}: {error}")
