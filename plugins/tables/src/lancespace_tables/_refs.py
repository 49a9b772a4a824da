"""Tags, which are names for versions, and branches, which go on from a version of another line of versions.

A write whose answer is lost is sent again, and the store says that the file exists: pylance takes that for the file of
another writer. What is written here has a content of its own, by which its writer knows it.
"""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, unquote

import lance
from lance_namespace import (
    CreateTableBranchRequest,
    CreateTableBranchResponse,
    CreateTableTagRequest,
    CreateTableTagResponse,
    DeleteTableBranchRequest,
    DeleteTableBranchResponse,
    DeleteTableTagRequest,
    DeleteTableTagResponse,
    GetTableTagVersionRequest,
    GetTableTagVersionResponse,
    InvalidInputError,
    ListTableBranchesRequest,
    ListTableBranchesResponse,
    ListTableTagsRequest,
    ListTableTagsResponse,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    UpdateTableTagRequest,
    UpdateTableTagResponse,
)
from lance_namespace_urllib3_client.models.branch_contents import BranchContents
from lance_namespace_urllib3_client.models.tag_contents import TagContents

from lancespace.authoring import Storage, hookimpl, page, read, translate, translated
from lancespace_tables._access import MAIN_BRANCH, OperationGroup, TableLocation, name_of
from lancespace_tables._manifests import ManifestDirectory

_LONGEST = 250
"""Bytes of a name; a file is called by it, with ``.json`` at the end, and 255 bytes is what file systems allow."""


def check_name(kind: str, name: str) -> None:
    """Refuse a name that no file can have: pylance finds out when it has written the half of a branch.

    A tag with other letters than those of ASCII, pylance writes but cannot list, and then lists no other tag either.

    Raises:
        InvalidInputError: The name is too long, or not one for a tag.
    """
    if kind == "tag" and not name.isascii():
        raise InvalidInputError(f"The name of the tag, {name[:40]!r}, has letters that are not ASCII: choose another.")
    length = len(quote(name, safe="", errors="replace"))
    if length > _LONGEST:
        raise InvalidInputError(
            f"The name of the {kind}, {name[:40] + '…'!r}, is too long: it takes {length} bytes in the name of a file, "
            f"{_LONGEST} are allowed. Choose a shorter one."
        )


def write_tag(
    storage: Storage, ref: TableLocation, name: str, branch: str | None, version: int, size: int | None
) -> None:
    """Give a version a name, as pylance writes it; ``size`` is that of the version's manifest.

    Raises:
        FileExistsError: The name is taken.
    """
    now = _moment()
    content: dict[str, Any] = {
        "branch": None if branch == MAIN_BRANCH else branch,
        "version": version,
        "createdAt": now,
        "updatedAt": now,
        "manifestSize": size or 0,
        "metadata": {},
    }
    _write(storage, ref, f"tags/{name}.json", content)


def finish_branch(
    storage: Storage, ref: TableLocation, table: lance.LanceDataset, name: str, pauses: Sequence[float] = ()
) -> None:
    """Enter a branch that has versions into the list of branches, if it is not there, nor after any of the pauses.

    Creating one takes two steps: its first version, which only one can write, and its entry. Whoever broke off between
    them left a branch that one can read but not see, delete or create.
    """
    branches = read(table.branches.list)
    for pause in pauses:
        if name in branches:
            break
        time.sleep(pause)
        branches = read(table.branches.list)
    if name not in branches:
        _enter_branch(storage, ref, table, name, branches)


def _enter_branch(
    storage: Storage, ref: TableLocation, table: lance.LanceDataset, name: str, branches: dict[str, Any]
) -> None:
    first = ManifestDirectory(ref, name, storage).list()[0].version
    cloned: Any = table.checkout_version((name, first)).read_transaction(first).operation
    parent = cloned.ref_name
    source = table.checkout_version((parent, cloned.ref_version))
    lineage = branches[parent]["branch_identifier"] if parent is not None else []
    content = {
        "parentBranch": parent,
        "identifier": {"version_mapping": [*lineage, (source.version, uuid.uuid4().hex)]},
        "parentVersion": source.version,
        "createAt": int(time.time()),
        "manifestSize": _size(ManifestDirectory(ref, parent, storage), source.version),
        "metadata": {},
    }
    with suppress(FileExistsError):  # Its creator was not gone, only slow.
        _write(storage, ref, f"branches/{quote(name, safe='')}.json", content)


def _write(storage: Storage, ref: TableLocation, name: str, content: dict[str, Any]) -> None:
    path = f"{storage.path(ref.location).rstrip('/')}/_refs/{name}"
    storage.put_if_absent(path, json.dumps(content, indent=2).encode(), unique=True)


def _size(directory: ManifestDirectory, version: int) -> int:
    return next((found.size or 0 for found in directory.list() if found.version == version), 0)


def _moment() -> str:
    """Now, in nanoseconds as pylance writes it: true to the millisecond, and no two writers have the same digits."""
    now = datetime.now(timezone.utc)
    return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}{secrets.randbelow(10**6):06d}Z"


class TagOperations(OperationGroup):
    """list, get, create, update and delete tags; a tag may point to a version of a branch."""

    @hookimpl
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """The tags by name, page by page."""
        with self.opened(request, "list the tags of") as dataset:
            tags = sorted(read(dataset.tags.list).items())
        shown, token = page(tags, lambda item: item[0], request.page_token, request.limit)
        contents = {
            name: TagContents(branch=tag["branch"], version=tag["version"], manifestSize=tag["manifest_size"])
            for name, tag in shown
        }
        return ListTableTagsResponse(tags=contents, page_token=token)

    @hookimpl
    def get_table_tag_version(self, request: GetTableTagVersionRequest) -> GetTableTagVersionResponse:
        """The version, and the branch if it is not main, that a tag points to."""
        dataset = self.backend.locate(request).open()
        with translated(f"read the tag {request.tag!r} of table {name_of(request)!r}"):
            tag = read(dataset.tags.list).get(request.tag)
        if tag is None:
            raise TableTagNotFoundError(f"table {name_of(request)!r} has no tag {request.tag!r}: see list_table_tags")
        return GetTableTagVersionResponse(version=tag["version"], branch=tag["branch"])

    @hookimpl
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Give a version a name that is not taken."""
        check_name("tag", request.tag)
        ref = self.backend.locate(request)
        dataset = ref.open(request.version, request.branch)
        with translated(f"create the tag {request.tag!r} of table {ref.name!r}"):
            if _has(dataset, request.tag):
                raise _taken(request)
            manifest = self.backend.versions_of(ref, request.branch).find(request.version)
            size = None if manifest is None else manifest.size
            try:
                write_tag(self.backend.storage_for(ref), ref, request.tag, request.branch, request.version, size)
            except FileExistsError as error:
                raise _taken(request) from error
        return CreateTableTagResponse()

    @hookimpl
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Point an existing tag to another version."""
        # Opened at that version, since pylance does not tell a missing branch from a missing version.
        dataset = self.backend.locate(request).open(request.version, request.branch)
        with translated(f"update the tag {request.tag!r} of table {name_of(request)!r}"):
            dataset.tags.update(request.tag, (request.branch, request.version))
        return UpdateTableTagResponse()

    @hookimpl
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Forget a tag; the version it names stays."""
        check_name("tag", request.tag)
        dataset = self.backend.locate(request).open()
        with translated(f"delete the tag {request.tag!r} of table {name_of(request)!r}"):
            try:
                dataset.tags.delete(request.tag)
            except Exception as error:
                # If it was there and is gone, only the answer was lost: some stores then say that there is none.
                if isinstance(translate(error), TableTagNotFoundError) or _has(dataset, request.tag):
                    raise
        return DeleteTableTagResponse()


def _has(dataset: lance.LanceDataset, tag: str) -> bool:
    """Whether there is such a tag; pylance refuses what cannot be one."""
    try:
        dataset.tags.get_version(tag)
    except Exception as error:
        failure = translate(error, about=f"look for the tag {tag!r}")
        if isinstance(failure, TableTagNotFoundError):
            return False
        raise failure from error
    return True


def _taken(request: CreateTableTagRequest) -> TableTagAlreadyExistsError:
    return TableTagAlreadyExistsError(
        f"tag {request.tag!r} of table {name_of(request)!r} already exists: "
        "choose another name, or use update_table_tag"
    )


_PAUSES = (0.1, 0.2, 0.4, 0.8)
"""Seconds that another creator of a branch is given to finish it himself."""
_TAKEN = (TableAlreadyExistsError, TableBranchAlreadyExistsError)


class BranchOperations(OperationGroup):
    """list, create and delete branches."""

    @hookimpl
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """The branches beside main by name, page by page."""
        with self.opened(request, "list the branches of") as dataset:
            branches = sorted(read(dataset.branches.list).items())
        shown, token = page(branches, lambda item: item[0], request.page_token, request.limit)
        return ListTableBranchesResponse(branches={name: _contents(branch) for name, branch in shown}, page_token=token)

    @hookimpl
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Start a branch from a version of main or of another branch, by default from the latest."""
        check_name("branch", request.name)
        ref = self.backend.locate(request)
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
                    finish_branch(self.backend.storage_for(ref), ref, source, request.name, pauses)
                elif request.name not in read(source.branches.list):
                    raise
                if not is_ours:
                    raise taken from error
        return CreateTableBranchResponse()

    @hookimpl
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Delete a branch and its versions; refused while tags or other branches refer to it."""
        ref = self.backend.locate(request)
        dataset = ref.open()
        with translated(f"delete the branch {request.name!r} of table {ref.name!r}"):
            try:
                dataset.branches.delete(request.name)
            except Exception as error:
                failure = translate(error)
                if isinstance(failure, InvalidInputError) or request.name in read(dataset.branches.list):
                    raise
                # The entry goes first. A failure after that leaves versions that can be read, but not deleted.
                if ManifestDirectory(ref, request.name, self.backend.storage_for(ref)).list():
                    finish_branch(self.backend.storage_for(ref), ref, dataset, request.name)
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
