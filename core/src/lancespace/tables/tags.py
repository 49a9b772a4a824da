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
    TableTagNotFoundError,
    UpdateTableTagRequest,
    UpdateTableTagResponse,
)
from lance_namespace_urllib3_client.models.tag_contents import TagContents

from lancespace.errors import translated
from lancespace.hookspecs import hookimpl
from lancespace.tables.access import TableAccess, name_of
from lancespace.tables.paging import page

if TYPE_CHECKING:
    import lance


class TagOperations(TableAccess):
    """list, get, create, update and delete tags; a tag may point to a version of a branch."""

    @hookimpl
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """The tags by name, page by page."""
        dataset = self.open(request)
        with translated(f"list the tags of table {name_of(request)!r}"):
            tags = sorted(dataset.tags.list().items())
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
            tag = dataset.tags.list().get(request.tag)
        if tag is None:
            raise TableTagNotFoundError(f"table {name_of(request)!r} has no tag {request.tag!r}: see list_table_tags")
        return GetTableTagVersionResponse(version=tag["version"], branch=tag["branch"])

    @hookimpl
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Give a version a name that is not taken."""
        dataset = self._version_to_tag(request)
        with translated(f"create the tag {request.tag!r} of table {name_of(request)!r}"):
            dataset.tags.create(request.tag, (request.branch, request.version))
        return CreateTableTagResponse()

    @hookimpl
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Point an existing tag to another version."""
        dataset = self._version_to_tag(request)
        with translated(f"update the tag {request.tag!r} of table {name_of(request)!r}"):
            dataset.tags.update(request.tag, (request.branch, request.version))
        return UpdateTableTagResponse()

    @hookimpl
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Forget a tag; the version it names stays."""
        dataset = self.locate(request).open()
        with translated(f"delete the tag {request.tag!r} of table {name_of(request)!r}"):
            dataset.tags.delete(request.tag)
        return DeleteTableTagResponse()

    def _version_to_tag(self, request: CreateTableTagRequest | UpdateTableTagRequest) -> lance.LanceDataset:
        """Open the version to be tagged: pylance does not tell a missing branch from a missing version."""
        return self.locate(request).open(request.version, request.branch)
