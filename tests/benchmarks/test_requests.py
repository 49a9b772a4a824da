"""How many requests an operation costs is a property of the code, not of the machine: these are upper bounds."""

from __future__ import annotations

import pytest

from benchmarks import requests
from benchmarks.counting import counting_store

Counts = dict[str, dict[str, float]]
Counted = tuple[Counts, dict[str, Counts]]


@pytest.fixture(scope="module")
def counted() -> Counted:
    """All requests of every case, and those of each kind."""
    totals: Counts = {}
    kinds: dict[str, Counts] = {}
    for result in requests.run():
        if result.case.startswith(" "):
            kinds[next(reversed(totals))][result.case.strip()] = result.numbers
        else:
            totals[result.case], kinds[result.case] = result.numbers, {}
    return totals, kinds


@pytest.mark.parametrize("case", requests.CASES, ids=lambda case: case.name)
def test_an_operation_in_a_namespace_costs_no_more_than_this(counted: Counted, case: requests.Case):
    totals, _ = counted

    assert totals[f"{case.name} in a namespace"]["ours"] <= case.goal


@pytest.mark.parametrize("case", requests.CASES, ids=lambda case: case.name)
def test_in_the_root_only_a_listing_costs_more(counted: Counted, case: requests.Case):
    """V1 tables show in no manifest: to list them takes a look into the directory, and a drop deletes what it saw."""
    totals, _ = counted

    assert totals[f"{case.name} in the root"]["ours"] <= case.goal + requests.MORE_IN_THE_ROOT.get(case.name, 0)


def test_the_first_look_up_of_a_client_costs_three(counted: Counted):
    totals, _ = counted

    assert totals["first open + table_exists"]["ours"] <= requests.FIRST_GOAL


def test_a_warm_read_lists_nothing(counted: Counted):
    _, kinds = counted
    for operation in ("table_exists", "describe_table", "list_tables"):
        ours = {kind for kind, numbers in kinds[f"{operation} in a namespace"].items() if numbers["ours"]}
        assert ours == {"HEAD manifest's versions"}, operation


def test_the_kinds_add_up_and_both_are_counted(counted: Counted):
    totals, kinds = counted
    for case, numbers in totals.items():
        for who in requests.OPEN:
            assert numbers[who] == sum(kind[who] for kind in kinds[case].values()) > 0, (case, who)


def test_what_is_taken_is_forgotten():
    with counting_store() as store:
        assert store.take().total() > 0  # The bucket was made.
        assert store.take().total() == 0
