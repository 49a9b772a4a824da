"""`docs/reference/properties.md`: what can be given at connect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lancespace._connection import COMMON_PROPERTIES
from lancespace.registry import BACKENDS, STORAGE, WRAPPERS
from tools.generators import markdown, plugins
from tools.generators.markdown import code, codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lancespace.authoring import Property

INTRODUCTION = """
# Properties

What `connect(backend, properties)` takes. Values are strings, as in every Lance namespace client (`"true"`, `"10"`);
where a boolean or a number is expected, Python's own are taken too. An unknown or ill-typed property is refused, and
the message lists the known ones.
"""

TITLES = ("Property", "Type", "Default", "Meaning")


def render() -> str:
    """The page."""
    return markdown.page(
        INTRODUCTION,
        _section("Every backend", COMMON_PROPERTIES),
        *(_section(f"Backend `{name}`", backend.properties) for name, _, backend in plugins.ours(BACKENDS)),
        *_vendor_sections(),
        *(_section(f"Wrapper `{name}`", _prefixed(name, cls.properties)) for name, _, cls in plugins.ours(WRAPPERS)),
    )


def _vendor_sections() -> Iterator[str]:
    """What each store takes to vend credentials."""
    schemes: dict[Any, list[str]] = {}
    for scheme, _, plugin in plugins.ours(STORAGE):
        schemes.setdefault(plugin, []).append(f"{scheme}://")
    for plugin, urls in schemes.items():
        if hasattr(plugin, "vendor_properties"):
            yield _section(f"Credential vending on {codes(urls)}", plugin().vendor_properties())


def _section(title: str, properties: Iterable[Property]) -> str:
    rows = [_row(prop) for prop in properties]
    return f"## {title}\n\n{markdown.table(TITLES, rows) if rows else 'None of its own.'}"


def _prefixed(wrapper: str, properties: Iterable[Property]) -> list[Property]:
    return [replace(prop, name=f"{wrapper}.{prop.name}") for prop in properties]


def _row(prop: Property) -> list[str]:
    name = f"{prop.name}*" if prop.is_family else prop.name
    choices = f" One of {codes(prop.choices)}." if prop.choices else ""
    default = "required" if prop.required else "-" if prop.default is None else code(_text(prop.default))
    return [code(name), prop.type.__name__, default, f"{markdown.plain(prop.doc)}.{choices}"]


def _text(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
