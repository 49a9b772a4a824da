"""How large the values of an expression may become: how often each column, and how much text, is in one of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from lance_namespace import InvalidInputError
from sqlglot import exp

from lancespace_tables._expressions import functions

MOST_COPIES = 128
"""How often a value may have the same column in it: a batch of a scan has about 8 MiB of it."""

FACTOR = 64
"""How much larger a function of GROWING makes its input; its other arguments are limited accordingly."""

TEXTS = ""
"""The key of the characters of literals; no column has that name."""

_NUMBER = 3
"""The characters of a number, at least: it takes 8 bytes of memory, and lists may have many."""

Size: TypeAlias = "Counter[str]"
"""Of a value: how often each column is in it, and the characters of literals."""

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)
_SMALL = (exp.Predicate, exp.Connector, exp.Not, *_ARITHMETIC)
"""What they make has a few bytes, whatever they are given."""

_CHOOSING = (exp.Case, exp.If, exp.Select)
"""Of what is below them, a value has one: a branch, or a column."""


def size_of(tree: exp.Expr, ignored: frozenset[str]) -> Size:
    """The size of what an expression or a statement makes; ``ignored`` functions count as if they did not grow.

    Raises:
        InvalidInputError: If a value in it has a column too often.
    """
    sizes: dict[int, Size] = {}
    selects = []
    for node in reversed(list(tree.walk())):  # What is below a node comes before it.
        sizes[id(node)] = _size(node, sizes, ignored)
        if isinstance(node, exp.Select):
            selects.append(sizes[id(node)])
    return _of_all(selects) if selects else sizes[id(tree)]


def check_copies(size: Size, about: str = "") -> Size:
    """The size, if it has no column too often; ``about`` begins the message."""
    for name, copies in size.items():
        if copies > MOST_COPIES and name != TEXTS:
            raise InvalidInputError(
                f"{about}The column {name!r} is up to {copies} times in what is computed, and {MOST_COPIES} times are "
                "allowed: use it less often, or with fewer functions that make their input larger."
            )
    return size


def _size(node: exp.Expr, sizes: dict[int, Size], ignored: frozenset[str]) -> Size:
    if isinstance(node, exp.Column):
        return Counter({".".join(part.name for part in node.parts).lower(): 1})
    if isinstance(node, (exp.Literal, exp.HexString)):
        return Counter({TEXTS: len(node.name) if node.is_string else max(len(node.name), _NUMBER)})
    children = [child for child in node.iter_expressions() if sizes[id(child)]]
    if isinstance(node, exp.In):  # Each value is compared by itself.
        children = [child for child in children if not isinstance(child, exp.Literal)]
    made = _sum((sizes[id(child)] for child in children), is_choice=isinstance(node, _CHOOSING))
    if isinstance(node, exp.Anonymous) and node.name.lower() not in ignored:
        return _of_call(node.name.lower(), made)
    if isinstance(node, (exp.DPipe, exp.Array)):
        return check_copies(made)
    return _small(made) if isinstance(node, _SMALL) else made


def _of_call(name: str, made: Size) -> Size:
    """Of a call; its arguments are in memory together, whatever it makes of them."""
    if name in functions.GROWING or name in functions.SQUARED:
        made = Counter({key: count * FACTOR for key, count in made.items()})
    check_copies(made)
    return _small(made) if name in functions.COUNTING else made


def _sum(sizes: Iterable[Size], *, is_choice: bool) -> Size:
    total: Size = Counter()
    for size in sizes:
        for name, count in size.items():
            total[name] = max(total[name], count) if is_choice and name != TEXTS else total[name] + count
    return total


def _small(size: Size) -> Size:
    return Counter({TEXTS: size[TEXTS]}) if size[TEXTS] else Counter()


def _of_all(selects: list[Size]) -> Size:
    """Of a statement: one SELECT may read what another one has made, so their growth multiplies."""
    growths = [max((count for name, count in size.items() if name != TEXTS), default=1) for size in selects]
    total = math.prod(growths)
    if total > MOST_COPIES:
        raise InvalidInputError(
            f"The SELECTs together may have a column {total} times in a value, and {MOST_COPIES} times are allowed: "
            "use it less often, or with fewer functions that make their input larger."
        )
    texts = (size[TEXTS] * (total // growth) for size, growth in zip(selects, growths, strict=True))
    return Counter({TEXTS: max(texts)})
