"""`docs/comparison.md`: the directory catalogs side by side, counted from the code and from what its tests prove.

The debts that a test class declares are strict: a test on the list that passes, and one off it that fails, both fail
the run. So counting them is as good as running the suite, and takes no minutes.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from lancespace.authoring import OPERATIONS
from lancespace_testing.client import closing_if_possible
from lancespace_testing.debts import ids, reason, standard_tests
from lancespace_testing.requirements import SUCCESS, requirement
from lancespace_testing.suite import Conformance
from tools.generators import markdown
from tools.generators.markdown import codes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

INTRODUCTION = """
# Comparison

The directory catalog of lancespace beside that of pylance, `lance.namespace.DirectoryNamespace`, which works on the
same files. The numbers are counted from the code, and from the
[conformance suite](authors/contract.md#the-conformance-suite), which both run through in the tests of this repository:
what is declared there as not passed must fail, and all else must pass.
"""
NOTES = """
- *Claimed*: what `capabilities()` answers. pylance has no such method; for it, the operations that its class has,
  without four that always answer "not implemented".
- *Success as specified*: no case in which the operation succeeds is declared as not passed; other cases are about its
  errors.
- *Cases that apply*: those about operations that are claimed, and features that the catalog has. A case may be about a
  detail; the reasons are below.

The suite was written for lancespace. It follows the text of the spec where that speaks, and favours its authors where
it does not. Speed is measured by `python -m benchmarks`, with both in one run; the README has figures.
"""
OUTSIDE = """
## What cannot be counted

- pylance's implementation is in Rust, is used in production, and serves other languages too. lancespace is new, and
  needs Python.
- pylance is there already wherever Lance is used from Python; lancespace comes on top of it.
- Plugins found by entry points, wrappers around operations, SQL over the catalog, jobs on Spark and a command line are
  only in lancespace.
- Catalogs in Glue, Hive, Unity, Polaris or Gravitino are reached by `lance-namespace-impls`, and by nothing in
  lancespace; [a backend](authors/index.md) for one of them could be written.
"""


@dataclass(frozen=True)
class Contender:
    """A catalog, and what its class of the conformance suite says about it."""

    title: str
    claimed: frozenset[str]
    applying: tuple[str, ...]
    """The ids of the cases that apply."""
    failing: dict[str, str]
    """Those of them that are declared as not passed, with the reason."""
    flawed: frozenset[str]
    """The operations whose success some of these are about."""


def render() -> str:
    """The page."""
    from plugins.dir.tests.test_conformance import TestCompatibility, TestManaged
    from tests.conformance.test_pylance import TestPylanceDirectory

    pylance = f"pylance {metadata.version('pylance')}"
    ours = judge("lancespace", TestCompatibility)
    contenders = [ours, judge("lancespace, managed tables", TestManaged), judge(pylance, TestPylanceDirectory)]
    return markdown.page(
        INTRODUCTION,
        markdown.table(["", *(each.title for each in contenders)], _rows(contenders)),
        NOTES,
        _reasons(contenders[-1]),
        OUTSIDE,
    )


def judge(title: str, suite: type[Conformance]) -> Contender:
    """Count for one catalog."""
    claimed = _claimed(suite)
    applying: list[str] = []
    failing: dict[str, str] = {}
    flawed: set[str] = set()
    for id_, about in _cases(claimed, suite):
        applying.append(id_)
        why = reason(suite.debts, id_)
        if why is not None:
            failing[id_] = why
            flawed |= about
    return Contender(title, claimed, tuple(applying), failing, frozenset(flawed))


def _claimed(suite: type[Conformance]) -> frozenset[str]:
    instance = suite()
    with tempfile.TemporaryDirectory() as folder:
        namespace = instance.connect(Path(folder))
        with closing_if_possible(namespace):
            return frozenset(instance.capabilities(namespace))


def _cases(claimed: Collection[str], suite: type[Conformance]) -> Iterator[tuple[str, set[str]]]:
    """The cases that apply, and the operations whose success each is about."""
    for name, test in standard_tests(Conformance).items():
        asked = requirement(test)
        if asked is None or not asked.features <= suite.features:
            continue
        for id_, case in zip(ids(name, test), asked.cases or (None,), strict=True):
            if asked.operations_of(case) <= set(claimed):
                succeeding = {operation for operation, code in asked.covers if code == SUCCESS}
                yield id_, succeeding if case is None else succeeding & {case}


def _rows(contenders: list[Contender]) -> Iterator[list[str]]:
    total = len(OPERATIONS)
    yield ["operations claimed", *(f"{len(each.claimed)} of {total}" for each in contenders)]
    yield ["not claimed", *(codes(sorted(OPERATIONS.keys() - each.claimed)) for each in contenders)]
    yield ["success as specified", *(str(len(each.claimed - each.flawed)) for each in contenders)]
    yield ["cases of the suite that apply", *(str(len(each.applying)) for each in contenders)]
    yield ["of these, not passed", *(str(len(each.failing)) for each in contenders)]


def _reasons(contender: Contender) -> str:
    counts = Counter(contender.failing.values())
    rows = [[markdown.plain(why), str(count)] for why, count in counts.most_common()]
    return f"## Why {contender.title} does not pass\n\n{markdown.table(('Defect', 'Cases'), rows)}"
