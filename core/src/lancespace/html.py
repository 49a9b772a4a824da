"""What a notebook shows of a namespace, a table and a schema: facts, at the cost of a page or a description.

No row is read. Whatever comes from the catalog is escaped, and neither storage options nor properties are shown, since
both may hold secrets. A failure is shown as well, instead of a traceback for merely looking at an object.

Schemas are pyarrow's, which has no HTML for them: ``%load_ext lancespace.html`` shows them like the columns of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from lance_namespace import LanceNamespaceError

from lancespace._properties import redact_url

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace import DescribeTableResponse

    from lancespace._namespace import Namespace
    from lancespace._table import Table

_SHOWN = 20
_LISTINGS = {"list_namespaces": "namespaces", "list_tables": "tables"}
_FACTS = {"total_rows": "rows", "total_fragments": "fragments", "total_files_size": "bytes"}


def namespace_html(namespace: Namespace) -> str:
    """The identity of a namespace, and the first names in its root."""
    supported = namespace.capabilities()
    parts = [f"<strong>{escape(repr(namespace))}</strong>"]
    for operation, noun in _LISTINGS.items():
        if operation in supported:
            parts.append(_or_failure(_names, namespace, operation, noun))
    return _joined(parts)


def table_html(table: Table) -> str:
    """Name, version, size and columns of a table."""
    return _joined([f"<strong>{escape(repr(table))}</strong>", _or_failure(_description, table)])


def schema_html(schema: pa.Schema) -> str:
    """The columns of a schema; its metadata is not shown."""
    return _column_table((field.name, str(field.type), field.nullable) for field in schema)


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext lancespace.html`` calls: from then on a cell shows a ``pyarrow.Schema`` as a table."""
    shell.display_formatter.formatters["text/html"].for_type_by_name("pyarrow.lib", "Schema", schema_html)


def _names(namespace: Namespace, operation: str, noun: str) -> str:
    page = getattr(namespace, operation)(limit=_SHOWN)
    names = [f"<code>{escape(name)}</code>" for name in getattr(page, noun)]
    more = ["…"] if page.page_token else []
    return f"{noun}: {', '.join(names + more) or 'none'}"


def _description(table: Table) -> str:
    described = table.namespace.describe_table(table.id, load_detailed_metadata=True)
    facts = "<br>".join(f"{name}: {escape(value)}" for name, value in _facts(described))
    if described.is_only_declared:
        return f"{facts}<br>declared, without data yet"
    return f"{facts}{_columns(described)}"


def _facts(described: DescribeTableResponse) -> Iterator[tuple[str, str]]:
    yield "location", redact_url(described.location or "")
    if described.version is not None:
        yield "version", str(described.version)
    told: Mapping[str, str] = described.metadata or {}
    for key, name in _FACTS.items():
        if told.get(key, "").isdecimal():
            yield name, f"{int(told[key]):,}"


def _columns(described: DescribeTableResponse) -> str:
    fields = described.var_schema.fields if described.var_schema else []
    return _column_table((field.name, _type(field.type), field.nullable) for field in fields)


def _column_table(columns: Iterable[tuple[str, str, bool]]) -> str:
    rows = ((name, kind, "" if nullable else "not null") for name, kind, nullable in columns)
    cells = (f"<td>{'</td><td>'.join(escape(cell) for cell in row)}</td>" for row in rows)
    return f"<table><tr><th>column</th><th>type</th><th></th></tr>{_each('tr', cells)}</table>"


def _type(kind: Any) -> str:
    """A type in the spec's JSON form, as people write it: ``fixed_size_list<item: float32>[2]``."""
    inner = ", ".join(f"{field.name}: {_type(field.type)}" for field in kind.fields or [])
    return f"{kind.type}{f'<{inner}>' if inner else ''}{'' if kind.length is None else f'[{kind.length}]'}"


def _or_failure(show: Callable[..., str], *arguments: Any) -> str:
    try:
        return show(*arguments)
    except LanceNamespaceError as error:
        return f"<em>{escape(f'{type(error).__name__}: {error}')}</em>"


def _each(tag: str, contents: Iterable[str]) -> str:
    return "".join(f"<{tag}>{content}</{tag}>" for content in contents)


def _joined(parts: Iterable[str]) -> str:
    return f"<div>{'<br>'.join(parts)}</div>"
