"""Random expressions: mostly sound ones, some deep, long, greedy or broken."""

from __future__ import annotations

import random

from lancespace_tables._expressions.functions import BOUNDED, GROWING, OF_ROWS

_COLUMNS = ("id", "s", "l", "v", "`s`", "nope", "_rowid", "l[0]", "id::string", "s.x")
_LITERALS = (
    "0",
    "1",
    "-1",
    "1e308",
    "9223372036854775807",
    "'a'",
    "''",
    "'%'",
    "NULL",
    "true",
    "0.1",
    "X'00ff'",
    "[1]",
)
_GREEDY = ("10000000000", "200000000", "'" + "x" * 5000 + "'", "'((a{99}){99}){99}'", "range(0, 10000000000)")
_OPERATORS = ("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "AND", "OR", "LIKE", "~", "IS DISTINCT FROM", "&")
_TYPES = ("int", "string", "float", "date", "timestamp", "decimal(38, 10)", "boolean", "binary")
_COMPARISONS = ("=", "<>", "<", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_CHOOSING = ("coalesce", "nullif", "greatest", "least", "nvl", "ifnull")
_JOINING = ("array_concat", "array_union", "array_intersect", "array_except")
_READING = ("to_timestamp", "to_date", "to_unixtime", "to_timestamp_millis", "abs", "to_time", "st_geomfromtext")
_FUNCTIONS = (
    *sorted(BOUNDED | GROWING | OF_ROWS | {"chr"}),
    "range",
    "generate_series",
    "space",
    "nope",
    "REPEAT",
    "`lpad`",
)
_BROKEN = ("(", ")", "'", "--", "/*", ";", ",", "$1", "E'\\'", "\x00", "\\", "SELECT", "é", "`")


def expression(chance: random.Random) -> str:
    """One expression."""
    kind = chance.random()
    if kind < 0.05:
        return _chain(chance)
    made = _condition(chance, chance.randint(1, 5)) if kind < 0.8 else _value(chance, chance.randint(1, 5))
    if kind > 0.95:
        place = chance.randrange(len(made) + 1)
        made = made[:place] + chance.choice(_BROKEN) + made[place:]
    return made


def _condition(chance: random.Random, depth: int) -> str:
    left = _value(chance, depth - 1)
    return chance.choice(
        (
            f"{left} = {_value(chance, depth - 1)}",
            f"{left} IS NOT NULL",
            f"NOT ({left} < {_value(chance, depth - 1)})",
            f"{left} IN ({', '.join(_value(chance, 0) for _ in range(chance.randint(1, 5)))})",
            f"{left} BETWEEN {_value(chance, 0)} AND {_value(chance, 0)}",
            f"{left} LIKE {_value(chance, 0)} AND {_value(chance, depth - 1)} > 0",
        )
    )


def _value(chance: random.Random, depth: int) -> str:
    if depth <= 0:
        kind = chance.random()
        return chance.choice(_COLUMNS if kind < 0.5 else _LITERALS if kind < 0.95 else _GREEDY)
    kind = chance.random()
    if kind < 0.6:
        arguments = ", ".join(_value(chance, depth - 1) for _ in range(chance.choice((1, 1, 2, 2, 3, 4))))
        return f"{chance.choice(_FUNCTIONS)}({arguments})"
    if kind < 0.85:
        return f"({_value(chance, depth - 1)} {chance.choice(_OPERATORS)} {_value(chance, depth - 1)})"
    if kind < 0.95:
        return f"CAST({_value(chance, depth - 1)} AS {chance.choice(_TYPES)})"
    return f"CASE WHEN {_condition(chance, depth - 1)} THEN {_value(chance, 0)} ELSE {_value(chance, 0)} END"


def conversion(chance: random.Random) -> str:
    """A condition that reads stored text as something else, in the open or because of what it stands beside."""
    text = chance.choice(("s", "lower(s)", "concat(s, id)", "s || id", "reverse(s)", "array_element([s], 1)"))
    other = chance.choice(("id", "id + 1", "length(s)", "1.5", "v[1]", "now()", "id > 1", "abs(id)"))
    kind = chance.choice(_TYPES)
    return chance.choice(
        (
            f"CAST({text} AS {kind}) IS NOT NULL",
            f"{text}::{kind} = {other}",
            f"TRY_CAST({text} AS {kind}) IS NULL",
            f"arrow_cast({text}, 'Int32') = {other}",
            f"CAST(CAST(id AS binary) AS string)::{kind} = {other}",
            f"{text} {chance.choice(_COMPARISONS)} {other}",
            f"{other} {chance.choice(_COMPARISONS)} {text}",
            f"{other} IN ({text}, {other})",
            f"{other} BETWEEN {text} AND {other}",
            f"{chance.choice(_CHOOSING)}({other}, {text}) = {other}",
            f"array_length([{other}, {text}]) > 0",
            f"array_length({chance.choice(_JOINING)}(l, [{text}])) > 0",
            f"named_struct('a', {text}) = named_struct('a', {other})",
            f"{chance.choice(_READING)}({text}) IS NULL",
            f"date_part('year', {text}) = {other}",
            f"regexp_like(s, 'a', {text})",
        )
    )


_TYPED_COLUMNS = (
    *("id", "s", "t", "l", "ls", "v", "st", "st.a", "st.b", "st['c']", "bin", "lb", "f", "f16", "b", "u8", "i8", "u64"),
    *("d", "ts", "tz", "dur", "tm", "dec", "dc", "lst", "`Odd Name`", "_rowid", "l[1]", "lst[1]", "NULL"),
)
_TYPED_LITERALS = (
    *("0", "1", "-1", "64", "1e308", "9223372036854775807", "18446744073709551615", "-9223372036854775808", "0.1"),
    *("'a'", "''", "'%'", "'year'", "'2020-01-01'", "'99999-12-31'", "'sha256'", "'hex'", "'Utf8'", "'List(Int32)'"),
    *("INTERVAL '1 month'", "INTERVAL '999999999 years'", "DATE '2020-01-01'", "TIMESTAMP '2020-01-01 00:00:00'"),
    *("'Decimal128(38,10)'", "'(a|b)*'", "'\\\\'", "'é😀'", "[1,2]", "['a']", "[]", "true", "X'ff'", "'$.a'"),
    *("named_struct('a',1)", "map(['a'],[1])", "'%Y-%m-%d'", "'{\"a\":1}'", "'POINT(1 1)'", "CAST('nan' AS double)"),
)
_ALL_TYPES = (
    *("int", "tinyint", "bigint", "smallint", "string", "float", "double", "date", "time", "timestamp", "timestamp(9)"),
    *("decimal(38,10)", "decimal(76,0)", "decimal(1,1)", "boolean", "binary", "interval", "int unsigned", "int[]"),
    *("bigint unsigned", "uuid", "json", "real", "varchar(5)", "char", "bytea"),
)
_ALL_OPERATORS = (
    *(*_OPERATORS, "NOT LIKE", "ILIKE", "~*", "!~", "|", "#", "^", "<<", ">>", "@>", "<@", "->", "->>", "SIMILAR TO"),
)


def typed(chance: random.Random) -> str:
    """A condition over columns of all types."""
    first = _typed_value(chance, chance.randint(1, 4))
    return chance.choice(
        (
            f"{first} IS NOT NULL",
            f"{first} = {_typed_value(chance, 1)}",
            f"{first} IN ({_typed_value(chance, 0)}, {_typed_value(chance, 0)})",
            f"{first} BETWEEN {_typed_value(chance, 0)} AND {_typed_value(chance, 0)}",
            first,
            f"NOT ({first} < {_typed_value(chance, 1)})",
            f"{first} LIKE {_typed_value(chance, 0)} ESCAPE {chance.choice(_TYPED_LITERALS)}",
            f"{first} IS TRUE",
        )
    )


def _typed_value(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth <= 0:
        return chance.choice(_TYPED_COLUMNS if kind < 0.55 else _TYPED_LITERALS)
    inner, plain = _typed_value(chance, depth - 1), _typed_value(chance, 0)
    if kind < 0.6:
        more = chance.choices((inner, plain, _typed_value(chance, depth - 1)), k=chance.choice((0, 1, 1, 2, 2, 3)))
        return f"{chance.choice(_FUNCTIONS)}({', '.join([inner, *more] if chance.random() < 0.95 else [])})"
    if kind < 0.8:
        return f"({inner} {chance.choice(_ALL_OPERATORS)} {_typed_value(chance, depth - 1)})"
    if kind < 0.88:
        return f"{chance.choice(('CAST', 'TRY_CAST'))}({inner} AS {chance.choice(_ALL_TYPES)})"
    return chance.choice(
        (
            f"({inner})[{chance.choice((plain, '1', '-1', '0', '1:2', '9223372036854775807'))}]",
            f"EXTRACT({chance.choice(('year', 'epoch', 'dow', 'nanosecond', 'xx'))} FROM {inner})",
            f"substring({inner} from {plain} for {_typed_value(chance, 0)})",
            f"CASE {plain} WHEN {inner} THEN {plain} ELSE {_typed_value(chance, 0)} END",
            f"({inner} AT TIME ZONE 'Europe/Berlin')",
        )
    )


def _chain(chance: random.Random) -> str:
    """Many levels, or terms, of one kind."""
    count = chance.choice((50, 130, 900, 6000))
    start, link, end = chance.choice(
        (
            ("id = 1", " OR id = 2", ""),
            ("id = 1", " AND id = 2", ""),
            ("id = 1", " + 1", ""),
            ("s = ''", " || 'a'", ""),
            ("id", "::bigint", " = 1"),
            ("", "NOT ", "true"),
            ("id = ", "- ", "1"),
            ("id IN (1", ", 2", ")"),
            ("l", "[0]", " = 1"),
        )
    )
    if chance.random() < 0.3:
        return "(" * count + "id = 1" + ")" * count
    return start + link * count + end
