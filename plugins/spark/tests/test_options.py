from __future__ import annotations

import pytest
from lance_namespace import InvalidInputError

from lancespace_spark.options import parse


def test_names_are_between_commas_or_in_backticks() -> None:
    assert parse({"table": "t", "columns": "a b, `x,y` ,c``d,`e``f`"}).get("columns") == ["a b", "x,y", "c``d", "e`f"]
    assert parse({"table": "t", "vectors": "a:2, b : 16"}).vectors == {"a": 2, "b": 16}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"k": "2"}, "the option 'k' is part of a search"),
        ({"vector_column": "v"}, "the option 'vector_column' is part of a search"),
        ({"version": "1", "tag": "x"}, "leave out 'version' and 'branch', or 'tag'"),
        ({"branch": "b", "tag": "x"}, "leave out 'version' and 'branch', or 'tag'"),
        ({"vectors": "v"}, "'vectors' needs the length of each column"),
        ({"vectors": "v:2,w:0"}, "'vectors' needs the length of each column"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        parse({"table": "t", **options})
