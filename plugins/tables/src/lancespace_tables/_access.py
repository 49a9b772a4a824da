"""From an identifier to an open Lance dataset: what every table operation starts with."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import lance
from lance.file import LanceFileSession
from lance_namespace import (
    ConcurrentModificationError,
    CreateTableRequest,
    DeclareTableRequest,
    DeclareTableResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespace,
    LanceNamespaceError,
    TableBranchNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from pydantic import BaseModel

from lancespace.authoring import Storage, read, translate, translated
from lancespace_tables._version_client import VersionClient

if TYPE_CHECKING:
    from lancespace_tables._backend import TableBackend
    from lancespace_tables._commits import VersionStore
    from lancespace_tables._expressions.limits import Limits


MAIN_BRANCH = "main"
"""What the spec and pylance call the branch that a table is born with."""

_NOT_THERE = (TableNotFoundError, TableVersionNotFoundError, TableBranchNotFoundError)


@dataclass(frozen=True)
class TableLocation:
    """Where a table is, according to its catalog; whether there is any data yet, only storage knows."""

    id: tuple[str, ...]
    location: str
    storage_options: Mapping[str, str] = field(repr=False)
    versions: LanceNamespace | None = field(default=None, compare=False, repr=False)
    """Whom Lance asks for the versions and commits to, where the catalog keeps them; None where storage does."""

    @property
    def name(self) -> str:
        """The identifier as a person writes it, for messages."""
        return ".".join(self.id)

    def exists(self) -> bool:
        """Whether the table has data; a table that was only declared has none."""
        return self.latest() is not None

    def latest(self, branch: str | None = None) -> lance.LanceDataset | None:
        """The latest version of a branch (default main), or None if the table was declared and has no data yet.

        Raises:
            TableBranchNotFoundError: It has no such branch.
        """
        if branch not in {None, MAIN_BRANCH}:
            return self.open(branch=branch)
        try:
            return self._dataset()
        except Exception as error:
            failure = translate(error, about=f"open table {self.name!r}")
            if isinstance(failure, TableNotFoundError):
                return None
            raise failure from error

    def open(self, version: int | str | None = None, branch: str | None = None) -> lance.LanceDataset:
        """The dataset at a version number, at a tag (a string), or at the latest version of a branch (default main).

        Raises:
            InvalidTableStateError: The table was declared and has no data yet.
            TableVersionNotFoundError: It has no such version.
            TableTagNotFoundError: It has no such tag.
            TableBranchNotFoundError: It has no such branch.
        """
        branch = None if branch == MAIN_BRANCH else branch
        try:
            dataset = self._dataset(version if branch is None else None)
            return dataset if branch is None else dataset.checkout_version((branch, version))
        except Exception as error:
            raise self._why_not(error, version, branch) from error

    def committing(self) -> dict[str, Any]:
        """What pylance must be given, beside the location, to open this table and to commit to it."""
        if self.versions is None:
            return {}
        return {
            "namespace_client": self.versions,
            "table_id": list(self.id),
            "namespace_client_managed_versioning": True,
        }

    def has_files(self, paths: Iterable[str]) -> bool:
        """Whether all of some files, given below the table's directory, exist: a clean-up may have deleted some."""
        session = LanceFileSession(self.location, storage_options=dict(self.storage_options))
        return all(session.contains(path) for path in paths)

    def _dataset(self, version: int | str | None = None) -> lance.LanceDataset:
        """The dataset as Lance opens it, looked for once more if the latest version was gone before it was read."""
        try:
            return self._opened(version)
        except Exception as error:
            if version is not None or not isinstance(translate(error), TableVersionNotFoundError):
                raise
        return self._opened(version)

    def _opened(self, version: int | str | None) -> lance.LanceDataset:
        options = dict(self.storage_options)
        return lance.LanceDataset(
            self.location, version, storage_options=options, session=_session(), **self.committing()
        )

    def _why_not(self, error: Exception, version: int | str | None, branch: str | None) -> LanceNamespaceError:
        """Which of data, branch and version is missing: pylance only names a file that it did not find."""
        failure = translate(error, about=f"open table {self.name!r}")
        if not isinstance(failure, _NOT_THERE):
            return failure
        latest = self.latest()
        if latest is None:
            return InvalidTableStateError(
                f"table {self.name!r} was declared but has no data yet: create it with create_table, "
                "or write its first rows with insert_into_table"
            )
        with translated(f"list the branches of table {self.name!r}"):
            branches = read(latest.branches.list)
        if branch is not None and branch not in branches:
            return TableBranchNotFoundError(f"table {self.name!r} has no branch {branch!r}: see list_table_branches")
        where = f"the branch {branch!r} of table {self.name!r}" if branch else f"table {self.name!r}"
        if version is None:
            return ConcurrentModificationError(f"{where} was replaced by another caller while it was opened: try again")
        return TableVersionNotFoundError(f"{where} has no version {version}: see list_table_versions")


class TableAccess(ABC):
    """What the operations on tables need of a backend."""

    groups: tuple[OperationGroup, ...] = ()
    """The operations that are done for the backend; its own ones come before them."""

    @abstractmethod
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """At least ``location`` and ``storage_options``; what is only known by opening the table is added."""

    @abstractmethod
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Enter a table name, atomically: of several callers exactly one succeeds.

        The location is ``request.location`` if that is given; otherwise the backend chooses one that no table ever had.
        """

    @abstractmethod
    def storage_for(self, ref: TableLocation) -> Storage:
        """The storage of a table's directory."""

    def locate(self, request: BaseModel) -> TableLocation:
        """Where the table of a request is, whether it has data or not.

        Raises:
            NamespaceNotFoundError: As ``describe_table`` does.
            TableNotFoundError: As ``describe_table`` does.
        """
        names: list[str] = getattr(request, "id", None) or []
        described = self.describe_table(DescribeTableRequest(id=names))
        versions = VersionClient(self) if described.managed_versioning else None
        return TableLocation(tuple(names), described.location or "", described.storage_options or {}, versions)

    def open(self, request: BaseModel) -> lance.LanceDataset:
        """The table of a request, at the version, tag or branch that it names, otherwise the latest of main."""
        version = getattr(request, "version", None)
        tag = getattr(request, "tag", None)
        branch = getattr(request, "branch", None)
        if tag is not None and (version is not None or branch is not None):
            raise InvalidInputError(
                "a tag names a version and a branch already: leave out 'version' and 'branch', or 'tag'"
            )
        ref = self.locate(request)
        try:
            return ref.open(tag if tag is not None else version, branch)
        except InvalidTableStateError:
            self.locate(request)  # If the table was dropped meanwhile, that error says more.
            raise

    @abstractmethod
    def versions_of(self, ref: TableLocation, branch: str | None) -> VersionStore:
        """Where the versions of a table's branch are."""

    def declare_for_data(self, request: CreateTableRequest) -> tuple[TableLocation, DeclareTableResponse]:
        """Enter the name of a table whose first data follows: where it goes, and what ``declare_table`` answers.

        A backend overrides this if it knows both without being asked twice.

        Raises:
            TableAlreadyExistsError: If the name is taken.
        """
        declared = self.declare_table(DeclareTableRequest(id=request.id, properties=request.properties))
        return self.locate(request), declared

    def check_overwrite(self, ref: TableLocation) -> None:  # noqa: B027 - for overriding
        """Refuse to overwrite a table, as one whose files are also those of another."""

    def check_properties(self, ref: TableLocation, properties: Mapping[str, str]) -> None:  # noqa: B027 - for overriding
        """Refuse properties that a table which is there cannot get."""

    def query_limits(self) -> Limits | None:
        """What a query may cost; None if there are no limits."""
        return None

    def operation(self, name: str) -> Callable[..., Any]:
        """An operation as the hook would answer it, for calls within the backend: they bypass wrappers."""
        found = [getattr(plugin, name) for plugin in (self, *self.groups) if hasattr(plugin, name)]

        def answer(*arguments: Any, **named: Any) -> Any:
            answers = (implementation(*arguments, **named) for implementation in found)
            return next((each for each in answers if each is not None), None)

        return answer


class OperationGroup:
    """Operations on tables that belong together: a plugin beside the backend whose tables they are about."""

    def __init__(self, backend: TableBackend) -> None:
        self.backend = backend

    @contextmanager
    def opened(self, request: BaseModel, doing: str) -> Iterator[lance.LanceDataset]:
        """The table of a request; Lance's errors become the spec's, and say what could not be done with the table."""
        dataset = self.backend.open(request)
        with translated(f"{doing} table {name_of(request)!r}"):
            yield dataset


def name_of(request: BaseModel) -> str:
    """The identifier of a request as a person writes it, for messages."""
    return ".".join(getattr(request, "id", None) or [])


def data_files(fragments: Iterable[Mapping[str, Any]]) -> list[str]:
    """Where the data files of fragments are, which are given as JSON values; those of another table are left out."""
    return [
        f"data/{file['path']}" for fragment in fragments for file in fragment["files"] if file.get("base_id") is None
    ]


def transaction_id(dataset: lance.LanceDataset) -> str | None:
    """The id of the transaction that made the version a dataset is at; None where an old version kept none."""
    transaction = dataset.read_transaction(dataset.version)
    return None if transaction is None else str(transaction.uuid)


_METADATA_BYTES = 128 << 20
"""Each version of a table has its own entry, as large as its manifest: by default Lance keeps 1 GB of them."""


@functools.cache
def _session() -> lance.Session:
    """One cache of metadata and indexes for the process: an open takes a tenth of the time, a query a quarter.

    Its entries are keyed by what never changes (a manifest's version and entity tag, an index's id), and every open
    asks storage for the latest version, so a reader never sees less than what was committed before.
    """
    return lance.Session(metadata_cache_size_bytes=_METADATA_BYTES)
