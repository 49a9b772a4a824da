"""Backends that are broken on purpose, each in one way, for the tests of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lance_namespace import (
    ErrorCode,
    InvalidInputError,
    LanceNamespace,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)

from lancespace._namespace import Namespace
from lancespace.authoring import OPERATIONS
from lancespace_testing.samples import sample, stream


class Broken(LanceNamespace):
    """The reference backend behind a namespace of the spec, from which the others deviate."""

    def __init__(self, workdir: Path, secret: str = "none") -> None:
        self.inner: Any = Namespace("memory", {})
        self.workdir = workdir
        self.secret = secret

    def namespace_id(self) -> str:
        return "broken"

    def capabilities(self) -> frozenset[str]:
        claimed: frozenset[str] = self.inner.capabilities()
        return claimed

    def close(self) -> None:
        self.inner.close()


def _pass_on(operation: str) -> Callable[..., Any]:
    return lambda self, *arguments: getattr(self.inner, operation)(*arguments)


for _operation in OPERATIONS:
    setattr(Broken, _operation, _pass_on(_operation))


class LosesANamePerPage(Broken):
    def list_tables(self, request: Any) -> Any:
        page = self.inner.list_tables(request)
        if page.page_token:
            page.tables.pop()
        return page


class CountsInsteadOfNaming(Broken):
    """Its tokens are positions."""

    def list_tables(self, request: Any) -> Any:
        start, limit = int(request.page_token or 0), request.limit or 1000
        answer = self.inner.list_tables(request.model_copy(update={"page_token": None, "limit": None}))
        more = len(answer.tables) > start + limit
        return answer.model_copy(
            update={"tables": answer.tables[start : start + limit], "page_token": str(start + limit) if more else None}
        )


class NeverEnds(Broken):
    def list_namespaces(self, request: Any) -> Any:
        return self.inner.list_namespaces(request).model_copy(update={"page_token": "again"})


class TakesAnyToken(Broken):
    def list_tables(self, request: Any) -> Any:
        try:
            return self.inner.list_tables(request)
        except InvalidInputError:
            return self.inner.list_tables([])


class LetsEverybodyWin(Broken):
    def create_table(self, request: Any, request_data: Any) -> Any:
        return self.inner.create_table(request.model_copy(update={"mode": "ExistOk"}), request_data)


class ForgetsSomeDeclarations(Broken):
    def declare_table(self, request: Any) -> Any:
        answer = self.inner.declare_table(request)
        if request.id[0] == "n3":
            self.inner.deregister_table(request.id)
        return answer


class WritesWhenRead(Broken):
    def describe_table(self, request: Any) -> Any:
        (self.workdir / "seen").write_text("yes")
        return self.inner.describe_table(request)


class WritesWhenConnected(Broken):
    def __init__(self, workdir: Path) -> None:
        super().__init__(workdir)
        (workdir / "here").write_text("yes")


class AnswersAnotherCode(Broken):
    def describe_table(self, request: Any) -> Any:
        try:
            return self.inner.describe_table(request)
        except TableNotFoundError as error:
            raise InvalidInputError(str(error)) from error


class AnswersTheCodeInAnotherClass(Broken):
    def describe_table(self, request: Any) -> Any:
        try:
            return self.inner.describe_table(request)
        except TableNotFoundError as error:
            other = LanceNamespaceError(str(error))
            other.code = ErrorCode.TABLE_NOT_FOUND
            raise other from error


class ActsBeforeItFails(Broken):
    def create_table(self, request: Any, request_data: Any) -> Any:
        try:
            return self.inner.create_table(request, request_data)
        except TableAlreadyExistsError:
            self.inner.insert_into_table(request.id, request_data)
            raise


class KeepsHalfOfABadStream(Broken):
    def create_table(self, request: Any, request_data: Any) -> Any:
        try:
            return self.inner.create_table(request, request_data)
        except InvalidInputError:
            self.inner.create_table(request.id, stream(sample(0, 1)))
            raise


class IgnoresBranches(Broken):
    def query_table(self, request: Any) -> Any:
        return self.inner.query_table(request.model_copy(update={"branch": None}))


class DeletesWhenDeregistering(Broken):
    def deregister_table(self, request: Any) -> Any:
        return self.inner.drop_table(request.id)


class ClaimsTooMuch(Broken):
    def batch_commit_tables(self, request: Any) -> Any:
        raise UnsupportedOperationError(f"no batches such as {request}")


class LacksBatches(ClaimsTooMuch):
    """Not broken: it says so."""

    def capabilities(self) -> frozenset[str]:
        return super().capabilities() - {"batch_commit_tables"}


class RefusesInItsOwnWords(LacksBatches):
    def batch_commit_tables(self, request: Any) -> Any:
        raise NotImplementedError(f"no batches such as {request}")


class TellsItsSecret(Broken):
    def __repr__(self) -> str:
        return f"<broken, with the secret {self.secret}>"


class ReportsItsSecret(Broken):
    def describe_table(self, request: Any) -> Any:
        try:
            return self.inner.describe_table(request)
        except TableNotFoundError as error:
            raise TableNotFoundError(f"{error} (I came with {self.secret})") from error


CAUGHT_BY: dict[type[Broken], tuple[str, ...]] = {
    LosesANamePerPage: ("test_pages_hold_everything_once[list_tables]", "test_pages_of_child_namespace"),
    CountsInsteadOfNaming: ("test_pages_while_names_come_and_go[list_tables]",),
    NeverEnds: ("test_pages_hold_everything_once[list_namespaces]",),
    TakesAnyToken: ("test_bad_token[list_tables]", "test_bad_limit[list_tables]"),
    LetsEverybodyWin: ("test_one_creator_wins", "test_create_existing_table"),
    ForgetsSomeDeclarations: ("test_different_entries_do_not_conflict",),
    WritesWhenRead: (
        "test_reading_a_catalog_writes_nothing[describe_table]",
        "test_reading_an_empty_catalog_writes_nothing[describe_table]",
    ),
    WritesWhenConnected: ("test_connecting_writes_nothing",),
    AnswersAnotherCode: ("test_missing_table[describe_table]",),
    AnswersTheCodeInAnotherClass: ("test_missing_table[describe_table]",),
    ActsBeforeItFails: ("test_create_existing_table",),
    KeepsHalfOfABadStream: ("test_create_table_from_broken_stream", "test_create_table_from_garbage"),
    IgnoresBranches: ("test_query_branch", "test_missing_branch[query_table]"),
    DeletesWhenDeregistering: ("test_deregister_table_keeps_the_data",),
    ClaimsTooMuch: ("test_supported_operation[batch_commit_tables]",),
    RefusesInItsOwnWords: ("test_unsupported_operations",),
    TellsItsSecret: ("test_secrets_are_not_shown",),
    ReportsItsSecret: ("test_secrets_are_not_in_errors",),
}
"""Which tests must find each of them out."""
