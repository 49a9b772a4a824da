"""What the expressions of callers may cost: a server sets this on its namespace."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

from lancespace.authoring import Operation
from lancespace_tables._expressions import functions
from lancespace_tables._expressions.growth import FACTOR, TEXTS, Size, check_copies, size_of
from lancespace_tables._expressions.tokens import LanceDialect, check_depth, tokens_of

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

_SHORT = 1000
"""Characters of an expression whose check is remembered."""

_WORD = 64
"""Characters of a text without spaces that count as a word."""

_DIGITS = 38
"""Digits of the largest decimal type that Lance has."""

_NUL = (
    "A literal has the character NUL (0), which is not allowed: Arrow ends the process if it reports an error with one."
)


@dataclass(frozen=True)
class Limits:
    """The limits of one server."""

    characters: int = 256 * 1024
    """Of one expression."""
    values: int = 10_000
    """Of one IN list, or array."""
    texts: int = 32 * 1024
    """Characters of all texts of a request together, those of IN lists aside: each row of a batch may get a copy."""
    pattern: int = 1000
    """Characters of a pattern of LIKE, or of a regular expression."""
    words: int = 1000
    """Of a full-text query."""
    vectors: int = 1000
    """Of a query with several vectors."""
    results: int = 1_000_000
    """That all vectors of a query may ask for together."""
    result_bytes: int = 256 << 20
    """Memory that the rows of a search may take, as estimated from the files and the columns of the table."""
    functions: frozenset[str] = frozenset()
    """Functions that are allowed besides, by name in lower case."""

    def check_request(self, operation: Operation, request: Any) -> None:
        """Check every expression and every search in a request.

        Raises:
            InvalidInputError: Naming the field, the limit, and what to do.
        """
        if not operation.expressions and not operation.searches:
            return
        total: Size = Counter()
        for path in operation.expressions:
            for number, expression in enumerate(values_at(request, path.split("."))):
                if number == self.values:
                    raise InvalidInputError(f"{path}: there are more than {self.values} expressions.")
                total.update(self.check(expression, path))
                self._check_size(total, path)
        for path in operation.searches:
            for query in values_at(request, path.split(".") if path else []):
                self._check_search(query)

    def check_streamed(self, operation: Operation, request: Any, schema: pa.Schema) -> None:
        """Check the expressions of a request whose values are streamed from a table."""
        for path in operation.expressions:
            for expression in values_at(request, path.split(".")):
                self.check_conversions(expression, schema, path)

    def check_conversions(self, expression: str, schema: pa.Schema, field: str) -> None:
        """Check one expression of a field that is streamed from a table; :meth:`check` comes first."""
        from lancespace_tables._expressions.conversions import check_conversions

        check_conversions(expression, schema, field)

    def check(self, expression: str, field: str) -> Size:
        """Check one expression of a field; the size of what it makes."""
        return self._check(expression, field, is_statement=False)

    def check_statement(self, statement: str, field: str) -> None:
        """Check a whole SELECT, which may use functions of several rows, too."""
        self._check(statement, field, is_statement=True)

    def _check(self, expression: str, field: str, *, is_statement: bool) -> Size:
        try:
            check = _remembered if len(expression) <= _SHORT else _check_text
            size = check(self, expression, is_statement)
        except InvalidInputError as error:
            raise InvalidInputError(f"{field}: {error}") from error
        self._check_size(size, field)
        return size

    def _check_size(self, size: Size, field: str) -> None:
        """Check what one expression makes, or all of a request together."""
        if size[TEXTS] > self.texts:
            raise InvalidInputError(
                f"{field}: the texts in it have up to {size[TEXTS]} characters when it is computed, and {self.texts} "
                "are allowed in a request."
            )
        check_copies(size, f"{field}: ")

    def _check_search(self, query: Any) -> None:
        words = sum(len(text.split()) + len(text) // _WORD for text in _searched(query.full_text_query))
        if words > self.words:
            raise InvalidInputError(f"full_text_query: it has {words} words, and {self.words} are allowed.")
        vectors = len(query.vector.multi_vector or ())
        if vectors > self.vectors:
            raise InvalidInputError(f"vector: there are {vectors} vectors, and {self.vectors} are allowed at once.")
        if vectors and vectors * query.k > self.results:
            raise InvalidInputError(
                f"k: {vectors} vectors with k = {query.k} ask for more than {self.results} rows: send fewer at once."
            )


def values_at(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path of a request; ``*`` stands for every item of a list or every value of a mapping."""
    if value is None:
        return
    if not path:
        yield value
        return
    name, rest = path[0], path[1:]
    if name == "*":
        for item in value.values() if isinstance(value, dict) else value:
            yield from values_at(item, rest)
    elif name.isdigit():
        yield from values_at(value[int(name)] if int(name) < len(value) else None, rest)
    else:
        yield from values_at(getattr(value, name), rest)


def _searched(query: Any) -> Iterator[str]:
    """Every text that a full-text query looks for."""
    todo = [] if query is None else [query.model_dump(exclude_none=True)]
    while todo:
        part = todo.pop()
        for name, value in part.items():
            if name in {"query", "terms"} and isinstance(value, str):
                yield value
            todo += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


@functools.lru_cache(maxsize=1024)
def _remembered(limits: Limits, expression: str, is_statement: bool) -> Size:
    return _check_text(limits, expression, is_statement)


def _check_text(limits: Limits, expression: str, is_statement: bool) -> Size:
    """Look at the tokens first: the parser recurses, and would not survive every text."""
    from sqlglot.errors import ParseError

    if len(expression) > limits.characters:
        raise InvalidInputError(f"It has {len(expression)} characters, and {limits.characters} are allowed.")
    tokens = tokens_of(expression)
    if any(token.comments for token in tokens):
        raise InvalidInputError("Comments are not allowed in expressions: leave them out.")
    check_depth(tokens)
    try:
        trees = LanceDialect().parser().parse(tokens, expression)
    except ParseError as error:
        found = error.errors[0]
        place = f"line {found.get('line')}, column {found.get('col')}"
        raise InvalidInputError(f"It cannot be parsed at {place}: {found.get('description')}.") from error
    except RecursionError as error:
        raise InvalidInputError("Too many brackets, calls or CASEs are inside each other: use fewer.") from error
    if len(trees) != 1 or trees[0] is None:
        raise InvalidInputError("It must be one expression.")
    return _check_tree(limits, trees[0], is_statement)


def _check_tree(limits: Limits, tree: exp.Expr, is_statement: bool) -> Size:
    """Check every node; the size of what the expression makes."""
    from sqlglot import exp

    allowed = functions.BOUNDED | functions.GROWING | limits.functions
    if is_statement:
        allowed |= functions.OF_ROWS
    for node in tree.walk():
        _refuse_panics(node)
        if isinstance(node, (exp.In, exp.Array, exp.Anonymous)) and len(node.expressions) > limits.values:
            raise InvalidInputError(f"A list has {len(node.expressions)} values, and {limits.values} are allowed.")
        if isinstance(node, exp.Anonymous):
            _check_call(node, allowed, limits)
        elif isinstance(node, (exp.HexString, exp.Literal)):
            if "00" in _pairs(node.name) if isinstance(node, exp.HexString) else "\0" in node.name:
                raise InvalidInputError(_NUL)
        elif isinstance(node, (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo)):
            _check_pattern(node.expression, limits)
        elif isinstance(node, exp.With) and node.args.get("recursive"):
            raise InvalidInputError("WITH RECURSIVE is not allowed.")
    size = size_of(tree, limits.functions)
    is_copied = is_statement or not isinstance(tree, exp.Column)  # A column by itself is not copied.
    return size if is_copied else Counter()


def _refuse_panics(node: exp.Expr) -> None:
    """Refuse placeholders and decimal types that do not exist: Lance would panic."""
    from sqlglot import exp

    if isinstance(node, (exp.Placeholder, exp.Parameter)):
        raise InvalidInputError("A placeholder (?, $1, :name) has no value here: write the value.")
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.DECIMAL and node.expressions:
        numbers = [int(each.name) if each.name.isdecimal() else 0 for each in node.expressions]
        precision, scale = (*numbers, 0)[:2]
        if not (1 <= precision <= _DIGITS and scale <= precision):
            raise InvalidInputError(f"decimal(p, s) has at most {_DIGITS} digits, with 1 <= p and s <= p.")


def _pairs(digits: str) -> list[str]:
    """The bytes of a hexadecimal literal, from its end: the first digit may be alone."""
    return [digits[max(end - 2, 0) : end].zfill(2) for end in range(len(digits), 0, -2)]


def _check_call(call: exp.Anonymous, allowed: frozenset[str], limits: Limits) -> None:
    from sqlglot import exp

    name = call.name.lower()
    if name not in allowed:
        raise InvalidInputError(
            f"The function {name!r} is not allowed: only those whose answer has a bounded size are. "
            "The operator of the server can allow it with the setting 'functions'."
        )
    if name == "get_field" and not call.expressions[1:]:  # Lance would panic.
        raise InvalidInputError("get_field needs a struct and the name of a field.")
    if name.startswith("arrow_") and any("Decimal" in each.name for each in call.find_all(exp.Literal)):
        raise InvalidInputError(f"{name} does not take decimal types: write CAST(x AS decimal(p, s)).")
    if name in functions.PATTERNS and len(call.expressions) > 1:
        _check_pattern(call.expressions[1], limits)
    if name in functions.GROWING and name not in limits.functions:
        _check_growth(call, name)


def _check_growth(call: exp.Anonymous, name: str) -> None:
    if any(not _is_small(argument) for argument in call.expressions[1:]):
        raise InvalidInputError(
            f"{name}: the arguments after the first must be literals, of at most {FACTOR} characters or at most "
            f"{FACTOR} in number."
        )


def _is_small(argument: exp.Expr) -> bool:
    from sqlglot import exp

    if not isinstance(argument, exp.Literal):
        return False
    if argument.is_string:
        return len(argument.name) <= FACTOR
    return argument.name.isdigit() and len(argument.name) <= len(str(FACTOR)) and int(argument.name) <= FACTOR


def _check_pattern(pattern: exp.Expr | None, limits: Limits) -> None:
    from sqlglot import exp

    if isinstance(pattern, exp.Literal) and len(pattern.name) > limits.pattern:
        raise InvalidInputError(f"A pattern has {len(pattern.name)} characters, and {limits.pattern} are allowed.")
