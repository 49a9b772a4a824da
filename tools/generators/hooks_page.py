"""`docs/reference/hooks.md`: every hook with its signature."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from lancespace._hookspecs import HOOK_GROUPS, OperationHooks
from lancespace.authoring import OPERATIONS, Payload
from lancespace.registry import BACKENDS, ENGINES, EXTENSIONS, STORAGE, WRAPPERS
from tools.generators import markdown
from tools.generators.markdown import code

if TYPE_CHECKING:
    from collections.abc import Callable

INTRODUCTION = """
# Hooks

Everything that a plugin can implement; all of it is in `lancespace.authoring`. A plugin is an object whose
methods are marked with `@hookimpl`. It names only the arguments it needs, so a hook can gain arguments without breaking
anyone. A misspelt hook or argument is refused at registration, naming the plugin, the hook and the argument. Unless a
hook says otherwise, the first answer that is not None counts.

{kinds}

Every connection has a plugin manager of its own: two connections never see each other's plugins.
"""

KINDS = (
    (BACKENDS, "operation hooks, connection hooks"),
    (STORAGE, "storage hooks; the entry point's name is the URL scheme"),
    (ENGINES, "job hooks, `close`"),
    (WRAPPERS, "`hookimpl(wrapper=True)` around any hook of this page"),
    (EXTENSIONS, "the hook of a method that needs another package"),
)

TITLES = {
    "OperationHooks": "Operation hooks",
    "ConnectionHooks": "Connection hooks",
    "StorageHooks": "Storage hooks",
    "JobHooks": "Job hooks",
    "ExtensionHooks": "Extension hooks",
}


def render() -> str:
    """The page."""
    rows = [(group.noun, code(group.name), what) for group, what in KINDS]
    kinds = markdown.table(("Plugin", "Entry-point group", "Implements"), rows)
    return markdown.page(INTRODUCTION.format(kinds=kinds), *(_group(group) for group in HOOK_GROUPS))


def hooks(group: type) -> dict[str, Callable[..., Any]]:
    """The hook specifications of a group by name."""
    return {name: spec.__func__ for name, spec in vars(group).items() if isinstance(spec, staticmethod)}


def signature(name: str, spec: Callable[..., Any]) -> str:
    """A hook with its arguments and their types."""
    return f"{name}{inspect.signature(spec)}".replace("'", "")


def _group(group: type) -> str:
    body = _as_table if group is OperationHooks else _as_sections
    return f"## {TITLES[group.__name__]}\n\n{markdown.docstring(group)}\n\n{body(hooks(group))}"


def _as_table(specs: dict[str, Callable[..., Any]]) -> str:
    return markdown.table(("Hook", "Takes", "Answers"), [_row(name, spec) for name, spec in specs.items()])


def _row(name: str, spec: Callable[..., Any]) -> list[str]:
    operation = OPERATIONS[name]
    arguments = ", ".join(inspect.signature(spec).parameters)
    answer = "str" if operation.result is Payload.TEXT else operation.response
    return [code(f"{name}({arguments})"), code(operation.request), code(answer)]


def _as_sections(specs: dict[str, Callable[..., Any]]) -> str:
    return "\n\n".join(_section(name, spec) for name, spec in specs.items())


def _section(name: str, spec: Callable[..., Any]) -> str:
    first = getattr(spec, "lancespace_spec")["firstresult"]  # noqa: B009 - pluggy's mark, which no type knows of
    called = "" if first else " All plugins are called."
    return f"### {name}\n\n```py\n{signature(name, spec)}\n```\n\n{markdown.docstring(spec)}{called}"
