"""Tags: names for versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import (
    CreateTableTagRequest,
    CreateTableTagResponse,
    DeleteTableTagRequest,
    DeleteTableTagResponse,
    GetTableTagVersionRequest,
    GetTableTagVersionResponse,
    ListTableTagsRequest,
    ListTableTagsResponse,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    UpdateTableTagRequest,
    UpdateTableTagResponse,
)
from lance_namespace_urllib3_client.models.tag_contents import TagContents

from lancespace.errors import translate, translated
from lancespace.hookspecs import hookimpl
from lancespace.storage.reading import read
from lancespace.tables.access import TableAccess, name_of
from lancespace.tables.paging import page
from lancespace.tables.refs import check_name, write_tag

if TYPE_CHECKING:
    from collections.abc import Callable

    import lance

    from lancespace.tables.versions import VersionStore


class TagOperations(TableAccess):
    """list, get, create, update and delete tags; a tag may point to a version of a branch."""

    if TYPE_CHECKING:
        versions_of: Callable[..., VersionStore]

    @hookimpl
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """The tags by name, page by page."""
        dataset = self.open(request)
        with translated(f"list the tags of table {name_of(request)!r}"):
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
        dataset = self.locate(request).open()
        with translated(f"read the tag {request.tag!r} of table {name_of(request)!r}"):
            tag = read(dataset.tags.list).get(request.tag)
        if tag is None:
            raise TableTagNotFoundError(f"table {name_of(request)!r} has no tag {request.tag!r}: see list_table_tags")
        return GetTableTagVersionResponse(version=tag["version"], branch=tag["branch"])

    @hookimpl
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Give a version a name that is not taken."""
        check_name("tag", request.tag)
        ref = self.locate(request)
        dataset = ref.open(request.version, request.branch)
        with translated(f"create the tag {request.tag!r} of table {ref.name!r}"):
            if _has(dataset, request.tag):
                raise _taken(request)
            manifest = self.versions_of(ref, request.branch).find(request.version)
            size = None if manifest is None else manifest.size
            try:
                write_tag(self.storage_for(ref), ref, request.tag, request.branch, request.version, size)
            except FileExistsError as error:
                raise _taken(request) from error
        return CreateTableTagResponse()

    @hookimpl
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Point an existing tag to another version."""
        # Opened at that version, since pylance does not tell a missing branch from a missing version.
        dataset = self.locate(request).open(request.version, request.branch)
        with translated(f"update the tag {request.tag!r} of table {name_of(request)!r}"):
            dataset.tags.update(request.tag, (request.branch, request.version))
        return UpdateTableTagResponse()

    @hookimpl
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Forget a tag; the version it names stays."""
        check_name("tag", request.tag)
        dataset = self.locate(request).open()
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
