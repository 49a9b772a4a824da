"""Spark's plans as Python sees them: fetched whole, since every look into a plan of Java's is a call over a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Node:
    """A node of a plan or of an expression."""

    kind: str
    """Its class in Catalyst, without the package."""
    fields: Mapping[str, Any]
    children: tuple[Node, ...]

    def inner(self, field: str) -> list[Node]:
        """The expressions that a field holds, one or several."""
        value = self.fields.get(field) or []
        flat = [value] if value and isinstance(value[0], dict) else value
        return [_tree(iter(one)) for one in flat]

    def below(self) -> Iterator[Node]:
        """It, and all that it is made of, in Catalyst's order."""
        yield self
        for child in self.children:
            yield from child.below()


def fetch(plan: Any) -> Node:
    """A plan of Java's; plans inside its expressions are in their fields, not among its children.

    A column has the name that its relation gives it; ``shown`` is the one that the statement gives it, perhaps with
    other letters in capitals.
    """
    nodes = json.loads(plan.toJSON())
    columns = [one for node in nodes if not node["num-children"] for one in _columns(node)]
    names = {one["exprId"]["id"]: one["name"] for one in columns}
    for one in _columns(nodes):
        one["shown"], one["name"] = one["name"], names.get(one["exprId"]["id"], one["name"])
    return _tree(iter(nodes))


def attributes(expression: Node) -> set[str]:
    """The columns that an expression refers to, from inside a subquery as well."""
    found = {str(one.fields["name"]) for one in expression.below() if one.kind == "AttributeReference"}
    outer = [each for one in expression.below() for name in ("outerAttrs", "joinCond") for each in one.inner(name)]
    return found.union(*map(attributes, outer))


def items(sequence: Any) -> list[Any]:
    """What is in a sequence of Scala's."""
    return [sequence.apply(index) for index in range(sequence.size())]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All plans and expressions inside a plan that is written as JSON, however deep."""
    if isinstance(value, dict):
        if "class" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from objects(one)


def _columns(value: Any) -> list[dict[str, Any]]:
    """All references to columns inside a part of a plan."""
    return [one for one in objects(value) if str(one["class"]).endswith(".AttributeReference")]


def _tree(flat: Iterator[Mapping[str, Any]]) -> Node:
    """A tree that is written down parents first, each with the number of its children."""
    fields = next(flat)
    kind = str(fields["class"]).rpartition(".")[2]
    return Node(kind, fields, tuple(_tree(flat) for _ in range(int(fields["num-children"]))))


def leaves(node: Node, above: Sequence[Node] = ()) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """The nodes without children, each with what is above it, the nearest first."""
    if not node.children:
        yield node, tuple(above)
    for child in node.children:
        yield from leaves(child, (node, *above))
