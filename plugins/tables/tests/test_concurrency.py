"""Many writers at once: each call succeeds or says that it lost, and nothing is half done."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from lance_namespace import (
    ConcurrentModificationError,
    TableBranchAlreadyExistsError,
    TableTagAlreadyExistsError,
)

WRITERS = 4


def at_once(backend: Any, *calls: tuple[str, Any, dict[str, Any]]) -> list[Any]:
    """Every call from every writer; the answers, and what was raised instead."""

    def attempt(operation: str, data: Any, fields: dict[str, Any]) -> Any:
        try:
            return backend.call(operation, data, **fields)
        except Exception as error:  # noqa: BLE001 - the test looks at what it is.
            return error

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(lambda call: attempt(*call), [call for call in calls for _ in range(WRITERS)]))


def test_whoever_loses_is_told_so(people):
    rows = pa.table({"id": [1, 2], "name": ["x", "y"]})
    answers = at_once(
        people,
        ("merge_insert_into_table", rows, {"on": ["id"], "when_matched_update_all": True}),
        ("restore_table", None, {"version": 1}),
        ("update_table", None, {"updates": [["name", "'u'"]]}),
        ("delete_from_table", None, {"predicate": "id = 3"}),
        ("restore_table", None, {"version": 1}),
        ("update_table_schema_metadata", None, {"metadata": {"a": "b"}}),
        ("alter_table_alter_columns", None, {"alterations": [{"path": "name", "nullable": True}]}),
        ("insert_into_table", rows, {}),
    )
    lost = [answer for answer in answers if isinstance(answer, Exception)]
    assert {type(error) for error in lost} <= {ConcurrentModificationError}
    assert len(lost) < len(answers)
    versions = [answer.version for answer in answers if getattr(answer, "version", None)]
    made = people.call("describe_table_version").version.version - 1
    shared = len(versions) - len(set(versions))  # Appends that arrive together share a commit.
    assert made == len(answers) - len(lost) - shared


def test_appends_all_succeed(people):
    answers = at_once(people, *[("insert_into_table", pa.table({"id": [n], "name": ["n"]}), {}) for n in range(5)])
    versions = {answer.version for answer in answers}
    assert versions == set(range(2, 2 + len(versions)))
    assert people.call("count_table_rows").count == 3 + 5 * WRITERS


def test_a_name_is_given_once(people):
    tags = at_once(people, ("create_table_tag", None, {"tag": "one", "version": 1}))
    branches = at_once(people, ("create_table_branch", None, {"name": "one"}))
    for answers, taken in ((tags, TableTagAlreadyExistsError), (branches, TableBranchAlreadyExistsError)):
        assert Counter(isinstance(answer, taken) for answer in answers) == {True: WRITERS - 1, False: 1}
    assert len(people.rows(branch="one")) == 3


def test_the_first_rows_of_a_declared_table_are_written_once(backend):
    backend.call("declare_table")
    answers = at_once(backend, ("insert_into_table", pa.table({"id": [1]}), {}))
    lost = [answer for answer in answers if isinstance(answer, Exception)]
    assert {type(error) for error in lost} <= {ConcurrentModificationError}
    assert backend.call("count_table_rows").count == len(answers) - len(lost)
