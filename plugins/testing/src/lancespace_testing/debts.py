"""Debts: the tests that a backend does not pass yet, declared with a reason in the backend author's own file.

Each becomes a strict xfail, so that the list cannot rot: a debt that was paid fails the run until it is taken off the
list, and a debt for a test that does not exist is refused when the class is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lancespace_testing.requirements import requirement

Debts = Mapping[str, str]


def reason(debts: Debts, test_id: str) -> str | None:
    """Why a test is expected to fail; None if it is not."""
    return next((why for pattern, why in debts.items() if _matches(pattern, test_id)), None)


def check(suite: type, debts: Debts) -> None:
    """Refuse a suite that hides something.

    Raises:
        TypeError: A standard test is overridden or deleted and no debt says why, or a debt has no reason or no test.
    """
    standard = standard_tests(suite)
    for name, test in standard.items():
        if getattr(suite, name, None) is not test and not any(reason(debts, id_) for id_ in ids(name, test)):
            raise TypeError(
                f"{suite.__name__}.{name} replaces a standard test of the conformance suite. Take it out; or, if the "
                f"backend cannot pass the standard test, say why: debts = {{{name!r}: 'the reason'}}."
            )
    known = [id_ for name, test in standard.items() for id_ in ids(name, test)]
    for pattern, why in debts.items() if standard else ():
        if not why.strip():
            raise TypeError(f"{suite.__name__}.debts[{pattern!r}] needs a reason.")
        if not any(_matches(pattern, id_) for id_ in known):
            raise TypeError(
                f"{suite.__name__}.debts[{pattern!r}] matches no test: it is misspelt, or the test is gone."
            )


def standard_tests(suite: type) -> dict[str, object]:
    """The standard tests that a suite inherits, by name, whatever its own attributes of that name are.

    Raises:
        TypeError: If two groups have a test of the same name, of which one would never run.
    """
    found: dict[str, object] = {}
    for group in reversed(suite.__mro__):
        for name, value in vars(group).items():
            if not name.startswith("test_") or requirement(value) is None:
                continue
            if name in found and found[name] is not value:
                raise TypeError(f"{group.__name__}.{name} hides another standard test of that name: rename one.")
            found[name] = value
    return found


def ids(name: str, test: object) -> Iterator[str]:
    """The ids that pytest gives to a test's cases: ``test_it``, or ``test_it[create_table]`` and so on."""
    asked = requirement(test)
    if asked is None or not asked.cases:
        yield name
    else:
        yield from (f"{name}[{case}]" for case in asked.cases)


def _matches(pattern: str, test_id: str) -> bool:
    """Whether an id is meant; only ``*`` is special, since ids themselves have brackets."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), test_id) is not None
