"""The conformance suite, tested: what it covers, what it refuses, and that it finds what is broken."""

from __future__ import annotations

import inspect
import re

import datafusion  # noqa: F401 - A run in this process forgets what it imports, and this cannot be loaded twice.
import pytest

from lancespace.authoring import OPERATIONS, error_class
from lancespace_testing import BackendFixtures, Conformance, covers, for_each, needs, raises
from lancespace_testing.debts import ids, standard_tests
from lancespace_testing.requirements import SUCCESS, Feature, Requirement, requirement
from plugins.testing.tests.broken_backends import CAUGHT_BY, Broken

pytest_plugins = ["pytester"]

_STANDARD = standard_tests(Conformance)
_SECTIONS = {
    *(row.operation_id for row in OPERATIONS.values()),
    *(row.response for row in OPERATIONS.values()),
    *("Error Handling", "ErrorResponse", "Objects & Relationships", "Object Name", "Operations"),
    *("PageToken", "PageLimit", "LanceNamespace.namespace_id"),
}

_FILE = """
import tempfile
import pytest
from lancespace_testing import Conformance, Feature
from plugins.testing.tests.broken_backends import {broken} as Backend


class TestIt(Conformance):
    features = frozenset(Feature) - {{Feature.ATOMIC_BATCHES}}
    debts = {debts}

    def connect(self, workdir):
        return Backend(workdir)

    def connect_with_secret(self, workdir, secret):
        return Backend(workdir, secret)

    @pytest.fixture(autouse=True)
    def tables_in_workdir(self, workdir, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(workdir))
{body}
"""


_NOT_COVERED = {
    ("insert_into_table", "INVALID_TABLE_STATE"),  # An insert creates a declared table; no request makes a worse state.
    ("merge_insert_into_table", "INVALID_TABLE_STATE"),  # As an insert.
    ("list_table_versions", "INVALID_TABLE_STATE"),  # A declared table has no versions, and that is the answer.
    ("alter_table_backfill_columns", "CONCURRENT_MODIFICATION"),  # The request only starts a job.
    ("refresh_materialized_view", "CONCURRENT_MODIFICATION"),  # The request only starts a job.
    ("alter_transaction", "CONCURRENT_MODIFICATION"),  # The spec does not say which states can no longer be left.
}
"""What the table of operations has and no test of the suite makes happen."""


class Outer:
    """Runs the suite in a pytest of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def run(
        self, *tests: str, broken: str = "Broken", debts: dict[str, str] | None = None, body: str = ""
    ) -> pytest.RunResult:
        path = self._pytester.makepyfile(_FILE.format(broken=broken, debts=debts or {}, body=body))
        chosen = [f"{path.name}::TestIt::{test}" for test in tests]
        return self._pytester.runpytest_inprocess("-q", "-ra", "-p", "no:cacheprovider", *(chosen or [path.name]))


@pytest.fixture
def outer(pytester: pytest.Pytester) -> Outer:
    return Outer(pytester)


class TestCoverage:
    def test_every_row_of_the_table_is_covered(self):
        specified = {(row.name, code) for row in OPERATIONS.values() for code in (SUCCESS, *row.errors)}
        covered = {pair for test in _STANDARD.values() for pair in (requirement(test) or Requirement()).covers}
        assert specified - covered == _NOT_COVERED

    def test_docstrings_cite_the_spec(self):
        cited = {name: (inspect.getdoc(test) or "").partition(": ")[0] for name, test in _STANDARD.items()}
        unknown = {name: text for name, text in cited.items() if not set(text.split(", ")) <= _SECTIONS}
        assert unknown == {}

    def test_ids_are_pytests_own(self, outer: Outer, pytester: pytest.Pytester):
        outer.run("test_root_namespace")
        listed = pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider").outlines
        collected = {line.partition("::TestIt::")[2] for line in listed if "::TestIt::" in line}
        assert collected == {id_ for name, test in _STANDARD.items() for id_ in ids(name, test)}

    def test_coverage_of_unknown_operations_or_codes_is_refused(self):
        with pytest.raises(ValueError, match="no operation of the table: create_tabel"):
            covers("create_tabel")
        with pytest.raises(ValueError, match="create_table does not answer 'TABLE_TAG_NOT_FOUND'"):
            covers("create_table", "TABLE_TAG_NOT_FOUND")
        with pytest.raises(ValueError, match="list_tables does not answer 'NO_SUCH_CODE'"):
            for_each(["list_tables"], "NO_SUCH_CODE")


class TestGuard:
    def test_overriding_a_standard_test_is_refused(self):
        with pytest.raises(TypeError, match=r"Mine\.test_create_table replaces a standard test"):

            class Mine(Conformance):
                def test_create_table(self):
                    pass

    def test_deleting_a_standard_test_is_refused(self):
        with pytest.raises(TypeError, match=r"Mine\.test_create_table replaces a standard test"):

            class Mine(Conformance):
                test_create_table = None

    def test_overriding_by_a_mixin_is_refused(self):
        class Mixin:
            def test_create_table(self):
                pass

        with pytest.raises(TypeError, match=r"Mine\.test_create_table replaces a standard test"):

            class Mine(Mixin, Conformance):
                pass

    def test_a_debt_allows_it(self):
        class Mine(Conformance):
            debts = {"test_create_table": "it would end the process"}  # noqa: RUF012
            test_create_table = None

        assert Mine.test_create_table is None

    def test_new_tests_are_welcome(self):
        class Mine(Conformance):
            def test_of_my_own(self):
                pass

        assert requirement(Mine.test_of_my_own) is None

    @pytest.mark.parametrize("pattern", ["test_create_tabel", "test_missing_table[create_tabel]", "test_x*"])
    def test_a_debt_without_a_test_is_refused(self, pattern: str):
        with pytest.raises(TypeError, match=re.escape(f"Mine.debts[{pattern!r}] matches no test")):
            type("Mine", (Conformance,), {"debts": {pattern: "a reason"}})

    def test_a_debt_without_a_reason_is_refused(self):
        with pytest.raises(TypeError, match=r"Mine\.debts\['test_create_table'\] needs a reason"):
            type("Mine", (Conformance,), {"debts": {"test_create_table": " "}})

    def test_two_tests_of_one_name_are_refused(self):
        class One(BackendFixtures):
            @needs(Feature.CASCADE)
            def test_it(self):
                pass

        with pytest.raises(TypeError, match=r"Other\.test_it hides another standard test"):

            class Other(One):
                @needs(Feature.CASCADE)
                def test_it(self):
                    pass


class TestRaises:
    def test_nothing_raised(self):
        expected = re.escape("expected TableNotFoundError (code 4), but nothing was raised")
        with pytest.raises(pytest.fail.Exception, match=expected), raises("TABLE_NOT_FOUND"):
            pass

    def test_any_of_several_codes(self):
        with raises("TABLE_NOT_FOUND", "INVALID_INPUT"):
            raise error_class("INVALID_INPUT")("why")

    def test_an_error_without_a_message_is_not_enough(self):
        with pytest.raises(AssertionError, match="expected TableNotFoundError"), raises("TABLE_NOT_FOUND"):
            raise error_class("TABLE_NOT_FOUND")("")

    def test_the_interruption_of_a_test_passes_through(self):
        with pytest.raises(KeyboardInterrupt), raises("TABLE_NOT_FOUND"):
            raise KeyboardInterrupt


class TestRunning:
    def test_a_debt_that_fails_is_an_xfail(self, outer: Outer):
        test = "test_query_branch"
        outer.run(test, broken="IgnoresBranches", debts={test: "branches are ignored"}).assert_outcomes(xfailed=1)

    def test_a_debt_that_passes_fails(self, outer: Outer):
        result = outer.run("test_query_branch", debts={"test_query_*": "branches are ignored"})
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*XPASS(strict)*branches are ignored*"])

    def test_a_debt_for_one_case_is_for_no_other(self, outer: Outer):
        cases = [f"test_missing_table[{operation}]" for operation in ("describe_table", "table_exists")]
        result = outer.run(*cases, broken="AnswersAnotherCode", debts={cases[0]: "it answers another code"})
        result.assert_outcomes(xfailed=1, passed=1)

    def test_an_unsupported_operation_is_skipped_by_name(self, outer: Outer):
        result = outer.run("test_batch_commit", broken="LacksBatches")
        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["*the backend does not support batch_commit_tables*"])

    def test_a_feature_it_lacks_is_skipped_by_name(self, outer: Outer):
        result = outer.run("test_batch_of_versions_is_atomic")
        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["*the backend has no changes of several tables that happen together*"])

    def test_a_test_that_calls_an_unsupported_operation_is_skipped_too(self, outer: Outer):
        body = """
    def test_of_my_own(self, client):
        from lancespace_testing.threads import race
        race(lambda _: client("batch_commit_tables", operations=[]))
"""
        result = outer.run("test_of_my_own", broken="LacksBatches", body=body)
        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["*the backend does not support batch_commit_tables*"])

    def test_connect_is_asked_for(self, pytester: pytest.Pytester):
        pytester.makepyfile("from lancespace_testing import Conformance\nclass TestIt(Conformance): pass")
        result = pytester.runpytest_inprocess("-q", "-k", "test_root_namespace and not managed")
        result.stdout.fnmatch_lines(["*TestIt must implement connect(workdir)*"])


class TestMutants:
    """Suites of which every test must fail, run in a pytest of their own: see ``mutants.py``."""

    @pytest.mark.parametrize(("mutant", "at_least"), [("TestWrongCodes", 300), ("TestDoesNothing", 25)])
    def test_no_test_passes(self, pytester: pytest.Pytester, mutant: str, at_least: int):
        pytester.makepyfile(f"from plugins.testing.tests.mutants import {mutant}")
        outcomes = pytester.runpytest_inprocess("-q", "--tb=line", "-p", "no:cacheprovider").parseoutcomes()
        assert outcomes.keys() <= {"xfailed", "skipped"}
        assert outcomes["xfailed"] >= at_least


class TestBrokenBackends:
    @pytest.mark.parametrize("broken", CAUGHT_BY, ids=lambda broken: broken.__name__)
    def test_it_is_caught(self, outer: Outer, broken: type[Broken]):
        tests = CAUGHT_BY[broken]
        outer.run(*tests, broken=broken.__name__).assert_outcomes(failed=len(tests))

    def test_the_one_they_deviate_from_is_not(self, outer: Outer):
        tests = sorted({test for tests in CAUGHT_BY.values() for test in tests})
        outer.run(*tests).assert_outcomes(passed=len(tests))
