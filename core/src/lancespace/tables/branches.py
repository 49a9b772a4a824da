"""Branches: lines of versions that go on from a version of another one."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableBranchResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    InvalidInputError,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
)
from lance_namespace_urllib3_client.models.branch_contents import BranchContents

from lancespace.errors import translate, translated
from lancespace.hookspecs import hookimpl
from lancespace.storage.reading import read
from lancespace.tables.access import TableAccess, name_of
from lancespace.tables.manifests import ManifestDirectory
from lancespace.tables.paging import page
from lancespace.tables.refs import check_name, finish_branch

_PAUSES = (0.1, 0.2, 0.4, 0.8)
"""Seconds that another creator of a branch is given to finish it himself."""
_TAKEN = (TableAlreadyExistsError, TableBranchAlreadyExistsError)


class BranchOperations(TableAccess):
    """list, create and delete branches."""

    @hookimpl
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """The branches beside main by name, page by page."""
        dataset = self.open(request)
        with translated(f"list the branches of table {name_of(request)!r}"):
            branches = sorted(read(dataset.branches.list).items())
        shown, token = page(branches, lambda item: item[0], request.page_token, request.limit)
        return ListTableBranchesResponse(branches={name: _contents(branch) for name, branch in shown}, page_token=token)

    @hookimpl
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Start a branch from a version of main or of another branch, by default from the latest."""
        check_name("branch", request.name)
        ref = self.locate(request)
        source = ref.open(request.from_version, request.from_branch)
        taken = TableBranchAlreadyExistsError(
            f"branch {request.name!r} of table {ref.name!r} already exists: choose another name"
        )
        with translated(f"create the branch {request.name!r} of table {ref.name!r}"):
            if request.name in read(source.branches.list):
                raise taken
            try:
                source.create_branch(request.name, (request.from_branch, source.version))
            except Exception as error:
                is_ours = _has_first_version(request.name, error)
                if is_ours or isinstance(translate(error), _TAKEN):
                    pauses = () if is_ours else _PAUSES
                    finish_branch(self.storage_for(ref), ref, source, request.name, pauses)
                elif request.name not in read(source.branches.list):
                    raise
                if not is_ours:
                    raise taken from error
        return CreateTableBranchResponse()

    @hookimpl
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Delete a branch and its versions; refused while tags or other branches refer to it."""
        ref = self.locate(request)
        dataset = ref.open()
        with translated(f"delete the branch {request.name!r} of table {ref.name!r}"):
            try:
                dataset.branches.delete(request.name)
            except Exception as error:
                failure = translate(error)
                if isinstance(failure, InvalidInputError) or request.name in read(dataset.branches.list):
                    raise
                # The entry goes first. A failure after that leaves versions that can be read, but not deleted.
                if ManifestDirectory(ref, request.name, self.storage_for(ref)).list():
                    finish_branch(self.storage_for(ref), ref, dataset, request.name)
                    dataset.branches.delete(request.name)
                elif isinstance(failure, TableBranchNotFoundError):
                    raise
        return DeleteTableBranchResponse()


def _has_first_version(branch: str, error: Exception) -> bool:
    """Whether creating a branch got as far as its entry: then its first version is ours, which only one can write.

    If the entry is there all the same, we wrote it and the answer was lost. Whoever loses a race for the name meets the
    winner's first version instead, or other files of his, and hears of those from pylance.
    """
    text = unquote(unquote(str(error)))  # Stores whose URLs have the whole key in one piece quote it once more.
    return "Ref conflict error" in text or f"/_refs/branches/{branch}.json" in text


def _contents(branch: dict[str, Any]) -> BranchContents:
    return BranchContents(
        parentBranch=branch["parent_branch"],
        parentVersion=branch["parent_version"],
        createAt=branch["create_at"],
        manifestSize=branch["manifest_size"],
        metadata=branch["metadata"] or None,
    )
