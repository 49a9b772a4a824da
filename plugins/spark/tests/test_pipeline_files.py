from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lance_namespace import InvalidInputError

from lancespace_spark.pipeline import Pipeline, load
from lancespace_spark.pipeline.reading import parse

INGEST = {"name": "ingest", "kind": "ingest", "files": "raw", "into": "raw.orders"}
CLEAN = {"name": "clean", "kind": "clean", "from": "raw.orders", "into": "shop.orders", "sql": "SELECT * FROM source"}


def pipeline(*steps: Any, **sections: Any) -> Pipeline:
    return parse({"catalog": {"root": "lake"}, "step": list(steps), **sections}, name="p", folder="/data")


def test_steps_run_after_those_that_fill_what_they_read() -> None:
    compact = {"name": "compact", "kind": "compact", "table": "raw.orders"}
    found = pipeline(CLEAN, {**compact, "after": ["clean"]}, INGEST)
    assert [step.name for step in found.steps] == ["ingest", "clean", "compact"]


def test_views_come_after_what_their_sql_names() -> None:
    view = {"name": "view", "kind": "view", "view": "shop.totals", "sql": 'SELECT * FROM "shop"."orders"'}
    joined = {**CLEAN, "name": "joined", "into": "shop.more", "sql": "SELECT * FROM source JOIN shop.totals"}
    apart = {**view, "name": "apart", "view": "shop.apart", "sql": "SELECT * FROM shop.orders_of_others"}
    found = pipeline(joined, view, apart, CLEAN, INGEST)
    assert [step.name for step in found.steps] == ["apart", "ingest", "clean", "view", "joined"]


def test_relative_roots_are_beside_the_file() -> None:
    assert pipeline(INGEST).properties == {"root": "/data/lake"}
    assert pipeline(INGEST, catalog={"root": "s3://bucket/lake"}).properties == {"root": "s3://bucket/lake"}


def test_properties_become_text() -> None:
    found = pipeline(INGEST, catalog={"root": "/lake", "manifest_enabled": True}, spark={"spark.executor.cores": 2})
    assert found.properties["manifest_enabled"] == "true"
    assert found.spark == {"spark.executor.cores": "2"}


def test_a_step_with_a_key_upserts() -> None:
    by_key, plain = pipeline({**CLEAN, "key": ["id"]}), pipeline(CLEAN)
    assert by_key.steps[0].mode == "upsert"
    assert plain.steps[0].mode == "append"


def test_a_step_that_means_something_else_is_another_step() -> None:
    first, second = pipeline(CLEAN).steps[0], pipeline({**CLEAN, "sql": "SELECT 1 FROM source"}).steps[0]
    renamed = pipeline({**CLEAN, "name": "other"}).steps[0]
    assert first.fingerprint() != second.fingerprint()
    assert first.fingerprint() == renamed.fingerprint()


WRONG: dict[str, tuple[tuple[Any, ...], str]] = {
    "unknown kind": (({**INGEST, "kind": "ingst"},), "kind must be one of .* not 'ingst'. Did you mean 'ingest'"),
    "missing field": (({"name": "x", "kind": "ingest", "into": "t"},), "step 'x': .* needs 'files'"),
    "unknown field": (({**INGEST, "fromat": "csv"},), "has no field 'fromat'. Did you mean 'format'"),
    "both sql and function": (({**CLEAN, "function": "m:f"},), "needs either 'sql' or 'function'"),
    "function without schema": (
        ({"name": "x", "kind": "embed", "from": "a", "into": "b", "function": "m:f"},),
        "'function' needs 'schema'",
    ),
    "upsert without key": (({**CLEAN, "mode": "upsert"},), "needs 'key'"),
    "key that is no list": (({**CLEAN, "key": "id"},), "'key' must be a list of names"),
    "unknown mode": (({**CLEAN, "mode": "replace"},), "mode must be one of append, overwrite, upsert, not 'replace'"),
    "upsert of files": (({**INGEST, "mode": "upsert"},), "one of append, overwrite, not 'upsert'; .* have a transform"),
    "key without upsert": (({**CLEAN, "key": ["id"], "mode": "append"},), "'key' is for mode 'upsert', not 'append'"),
    "into what it reads": (({**CLEAN, "into": "raw.orders"},), "'from' and 'into' are the same table"),
    "name that is no text": (({**INGEST, "name": 5},), "step 1: 'name' must be a text that is not empty, not 5"),
    "files that are numbers": (({**INGEST, "files": [5]},), r"'files' must be a path or URL, or a list .* not \[5\]"),
    "empty into": (({**INGEST, "into": ""},), "step 'ingest': 'into' must be the dotted name of a table, .* not ''"),
    "into with an empty name": (({**INGEST, "into": "a..b"},), "'into' must be the dotted name .* not 'a..b'"),
    "sql that is no text": (({**CLEAN, "sql": 5},), "'sql' must be a text that is not empty, not 5"),
    "vectors without sizes": (({**CLEAN, "vectors": ["v"]},), "'vectors' must be a table of columns and the sizes"),
    "function without a module": (
        ({"name": "x", "kind": "embed", "from": "a", "into": "b", "function": "f", "schema": "id long"},),
        "'function' must be of the form 'module:name', not 'f'",
    ),
    "options that are no table": (
        ({"name": "x", "kind": "index", "table": "a", "column": "c", "type": "BTREE", "options": "y"},),
        "'options' must be a table of options",
    ),
    "age that is no number": (
        ({"name": "x", "kind": "clean_up", "table": "a", "older_than_days": "week"},),
        "'older_than_days' must be a number of days, 0 or more, not 'week'",
    ),
    "rows that are no number": (
        ({"name": "x", "kind": "compact", "table": "a", "target_rows_per_fragment": "many"},),
        "'target_rows_per_fragment' must be a whole number above 0, not 'many'",
    ),
    "two of a name": ((INGEST, INGEST), "two steps are called 'ingest'"),
    "after nothing": (({**INGEST, "after": ["x"]},), "comes after 'x', which is no step"),
    "a circle": (
        ({**CLEAN, "name": "a", "from": "x", "into": "y"}, {**CLEAN, "name": "b", "from": "y", "into": "x"}),
        "wait for each other",
    ),
    "no table of fields": (("ingest",), "step 1 must be a table of fields"),
    "no step": ((), r"at least one \[\[step\]\]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_makes_no_sense_is_named(what: str) -> None:
    steps, message = WRONG[what]
    with pytest.raises(InvalidInputError, match=message):
        pipeline(*steps)


WRONG_SECTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "one bracket": ({"step": INGEST}, r"write \[\[step\]\], in two brackets"),
    "no list": ({"step": 5}, r"at least one \[\[step\]\]"),
    "name that is a path": ({"name": "../../evil"}, "'name' must be of letters, .* not '../../evil'"),
    "name that is no text": ({"name": 5}, "'name' must be of letters"),
    "setting without its beginning": ({"spark": {"master": "local"}}, '"spark.master"'),
    "setting without quotes": ({"spark": {"spark": {"master": "local"}}}, 'in quotes: "spark.master" = …'),
    "property without quotes": ({"catalog": {"storage": {"region": "x"}}}, 'in quotes: "storage.region" = …'),
    "property that is a list": ({"catalog": {"root": ["x"]}}, "'root' must be a text, a number or a boolean"),
}


@pytest.mark.parametrize("what", WRONG_SECTIONS)
def test_sections_that_make_no_sense_are_named(what: str) -> None:
    sections, message = WRONG_SECTIONS[what]
    with pytest.raises(InvalidInputError, match=message):
        pipeline(INGEST, **sections)


def test_a_message_begins_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(TOML.replace("ingest", "ingst"))
    with pytest.raises(InvalidInputError, match=r"p.toml: step 'ingst': kind must be one of"):
        load(tmp_path / "p.toml")


def test_unknown_sections_and_missing_roots_are_named() -> None:
    with pytest.raises(InvalidInputError, match="a pipeline has no 'steps'; it has catalog, name, spark, step"):
        pipeline(INGEST, steps=[])
    with pytest.raises(InvalidInputError, match="needs 'root'"):
        pipeline(INGEST, catalog={})


TOML = """
[catalog]
root = "lake"
[[step]]
name = "ingest"
kind = "ingest"
files = "raw"
into = "raw.orders"
"""
YAML = """
catalog: {root: lake}
step:
  - {name: ingest, kind: ingest, files: raw, into: raw.orders}
"""


@pytest.mark.parametrize(("name", "text"), [("orders.toml", TOML), ("orders.yaml", YAML)])
def test_toml_and_yaml_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    found = load(tmp_path / name)
    assert found.name == "orders"
    assert found.properties == {"root": str(tmp_path / "lake")}
    assert [step.writes for step in found.steps] == ["raw.orders"]


@pytest.mark.parametrize(("name", "text"), [("p.toml", "[catalog"), ("p.yaml", "a: [1"), ("p.yml", "just text")])
def test_a_file_that_is_no_pipeline_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=name):
        load(tmp_path / name)


def test_the_example_is_a_pipeline() -> None:
    example = Path(__file__).parents[3] / "examples" / "pipeline" / "orders.toml"
    assert [step.name for step in load(example).steps][:3] == ["ingest", "clean", "embed"]
