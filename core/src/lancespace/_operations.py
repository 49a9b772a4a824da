"""The one table of operations.

Everything that has a part per operation is derived from the rows below: the hookspecs, the methods of
:class:`lancespace.Namespace`, the REST client and server, the command line, the capability answer, the
docs' operation table and the conformance suite. To add an operation, add a row; nothing lists the operations
a second time.

Models and error codes are named by string, because importing ``lance_namespace`` takes more than a second and
this module must be cheap to import; :mod:`lancespace._models` resolves the names on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class Subject(Enum):
    """What an operation is about; it decides what an empty identifier means."""

    NAMESPACE = "namespace"
    TABLE = "table"
    VIEW = "materialized_view"
    TRANSACTION = "transaction"
    CATALOG = "catalog"
    """The whole catalog: the request carries no identifier of its own."""


class Kind(Enum):
    """The spec's own grouping, used to order docs and the conformance suite."""

    METADATA = "metadata"
    DATA = "data"
    INDEX = "index"
    VERSION = "version"
    TAG = "tag"
    BRANCH = "branch"
    TRANSACTION = "transaction"


class Payload(Enum):
    """How one side of an operation travels, beyond its request and response models."""

    JSON = "json"
    """The model as a JSON object."""
    ARROW_STREAM = "arrow-stream"
    """An Arrow IPC stream (data in)."""
    ARROW_FILE = "arrow-file"
    """An Arrow IPC file (query results out)."""
    INTEGER = "integer"
    """A bare JSON number (a row count)."""
    TEXT = "text"
    """A bare JSON string (a query plan)."""
    STRING_MAP = "string-map"
    """A bare JSON object of strings (schema metadata)."""
    EMPTY = "empty"
    """No body at all; for existence checks the HTTP status is the answer."""


@dataclass(frozen=True)
class Operation:
    """One row: all that the rest of the framework needs to know about an operation."""

    name: str
    subject: Subject
    kind: Kind
    writes: bool
    """Whether it may change the catalog or a table; read-only wrappers and policies go by this."""
    method: str
    route: str
    """REST route below the server's base path; ``{id}`` is the joined identifier."""
    errors: tuple[str, ...]
    """``ErrorCode`` names it may answer with, beside :data:`COMMON_ERRORS`."""
    request: str
    """Name of the request model in ``lance_namespace``."""
    response: str
    """Name of the response model; a :attr:`Payload.TEXT` result is a plain ``str`` in Python."""
    body: Payload
    result: Payload
    query: tuple[str, ...]
    """Request fields that travel as query parameters."""
    status: int
    """HTTP status of a success."""
    expressions: tuple[str, ...]
    """Request fields that hold SQL expressions, as paths; ``*`` stands for every item, a number for the item there."""
    searches: tuple[str, ...]
    """Request fields that hold a vector or full-text search, as paths; the empty path is the request itself."""

    @property
    def operation_id(self) -> str:
        """The spec's CamelCase name, e.g. ``CreateTable``."""
        return _camel(self.name)

    @property
    def path_fields(self) -> tuple[str, ...]:
        """Request fields that travel inside the route."""
        return tuple(part[1:-1] for part in self.route.split("/") if part.startswith("{"))

    @property
    def takes_data(self) -> bool:
        """Whether the operation takes Arrow data beside its request."""
        return self.body is Payload.ARROW_STREAM


HEADER_FIELDS = ("identity", "context")
"""Request fields that travel as HTTP headers, for every operation (``x-api-key`` / ``Authorization`` / ``header.*``).
"""

COMMON_ERRORS = (
    "UNSUPPORTED",
    "INVALID_INPUT",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "SERVICE_UNAVAILABLE",
    "INTERNAL",
    "THROTTLING",
)
"""``ErrorCode`` names that every operation may answer with."""

_NO_NAMESPACE = "NAMESPACE_NOT_FOUND"
_NO_TABLE = "TABLE_NOT_FOUND"
_NO_VERSION = "TABLE_VERSION_NOT_FOUND"
_NO_COLUMN = "TABLE_COLUMN_NOT_FOUND"
_NO_BRANCH = "TABLE_BRANCH_NOT_FOUND"
_NO_TAG = "TABLE_TAG_NOT_FOUND"
_NO_INDEX = "TABLE_INDEX_NOT_FOUND"
_TABLE_EXISTS = "TABLE_ALREADY_EXISTS"
_CONFLICT = "CONCURRENT_MODIFICATION"
_BAD_STATE = "INVALID_TABLE_STATE"
_BAD_SCHEMA = "TABLE_SCHEMA_VALIDATION_ERROR"
_ON_TABLE = (_NO_NAMESPACE, _NO_TABLE)
_PAGE = ("page_token", "limit")
_QUERY_EXPRESSIONS = ("filter", "columns.column_aliases.*")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _row(
    name: str,
    route: str,
    errors: tuple[str, ...] = (),
    *,
    writes: bool,
    subject: Subject = Subject.TABLE,
    kind: Kind = Kind.METADATA,
    method: str = "POST",
    request: str | None = None,
    response: str | None = None,
    body: Payload = Payload.JSON,
    result: Payload = Payload.JSON,
    query: tuple[str, ...] = (),
    status: int = 200,
    expressions: tuple[str, ...] = (),
    searches: tuple[str, ...] = (),
) -> Operation:
    return Operation(
        name=name,
        subject=subject,
        kind=kind,
        writes=writes,
        method=method,
        route=f"/v1/{route}",
        errors=errors,
        request=request or f"{_camel(name)}Request",
        response=response or f"{_camel(name)}Response",
        body=body,
        result=result,
        query=query,
        status=status,
        expressions=expressions,
        searches=searches,
    )


_ROWS = (
    # --- namespaces -------------------------------------------------------------------------------------------------
    _row(
        "create_namespace",
        "namespace/{id}/create",
        (_NO_NAMESPACE, "NAMESPACE_ALREADY_EXISTS"),
        writes=True,
        subject=Subject.NAMESPACE,
    ),
    _row(
        "list_namespaces",
        "namespace/{id}/list",
        (_NO_NAMESPACE,),
        writes=False,
        subject=Subject.NAMESPACE,
        method="GET",
        body=Payload.EMPTY,
        query=_PAGE,
    ),
    _row("describe_namespace", "namespace/{id}/describe", (_NO_NAMESPACE,), writes=False, subject=Subject.NAMESPACE),
    _row(
        "drop_namespace",
        "namespace/{id}/drop",
        (_NO_NAMESPACE, "NAMESPACE_NOT_EMPTY", _BAD_STATE),
        writes=True,
        subject=Subject.NAMESPACE,
    ),
    _row(
        "namespace_exists",
        "namespace/{id}/exists",
        (_NO_NAMESPACE,),
        writes=False,
        subject=Subject.NAMESPACE,
        result=Payload.EMPTY,
    ),
    _row(
        "list_tables",
        "namespace/{id}/table/list",
        (_NO_NAMESPACE,),
        writes=False,
        subject=Subject.NAMESPACE,
        method="GET",
        body=Payload.EMPTY,
        query=(*_PAGE, "include_declared"),
    ),
    _row(
        "list_all_tables",
        "table",
        writes=False,
        subject=Subject.CATALOG,
        method="GET",
        request="ListTablesRequest",
        response="ListTablesResponse",
        body=Payload.EMPTY,
        query=(*_PAGE, "include_declared"),
    ),
    # --- tables as catalog entries ----------------------------------------------------------------------------------
    _row("declare_table", "table/{id}/declare", (_NO_NAMESPACE, _TABLE_EXISTS, _CONFLICT), writes=True),
    _row("register_table", "table/{id}/register", (_NO_NAMESPACE, _TABLE_EXISTS, _CONFLICT), writes=True),
    _row(
        "describe_table",
        "table/{id}/describe",
        (*_ON_TABLE, _NO_VERSION, _NO_TAG, _NO_BRANCH),
        writes=False,
        query=("with_table_uri", "load_detailed_metadata", "check_declared"),
    ),
    _row("table_exists", "table/{id}/exists", (*_ON_TABLE, _NO_VERSION), writes=False, result=Payload.EMPTY),
    _row("rename_table", "table/{id}/rename", (*_ON_TABLE, _TABLE_EXISTS, _CONFLICT, _BAD_STATE), writes=True),
    _row("deregister_table", "table/{id}/deregister", (*_ON_TABLE, _BAD_STATE), writes=True),
    _row("drop_table", "table/{id}/drop", (*_ON_TABLE, _BAD_STATE), writes=True, body=Payload.EMPTY),
    # --- data -------------------------------------------------------------------------------------------------------
    _row(
        "create_table",
        "table/{id}/create",
        (_NO_NAMESPACE, _TABLE_EXISTS, _CONFLICT, _BAD_SCHEMA),
        writes=True,
        kind=Kind.DATA,
        body=Payload.ARROW_STREAM,
        query=("mode", "properties", "storage_options"),
    ),
    _row(
        "insert_into_table",
        "table/{id}/insert",
        (*_ON_TABLE, _NO_BRANCH, _CONFLICT, _BAD_STATE, _BAD_SCHEMA),
        writes=True,
        kind=Kind.DATA,
        body=Payload.ARROW_STREAM,
        query=("branch", "mode"),
    ),
    _row(
        "merge_insert_into_table",
        "table/{id}/merge_insert",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE, _BAD_SCHEMA),
        writes=True,
        kind=Kind.DATA,
        body=Payload.ARROW_STREAM,
        query=(
            "branch",
            "on",
            "when_matched_update_all",
            "when_matched_update_all_filt",
            "when_not_matched_insert_all",
            "when_not_matched_by_source_delete",
            "when_not_matched_by_source_delete_filt",
            "timeout",
            "use_index",
        ),
        expressions=("when_matched_update_all_filt", "when_not_matched_by_source_delete_filt"),
    ),
    _row(
        "update_table",
        "table/{id}/update",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.DATA,
        expressions=("predicate", "updates.*.1"),
    ),
    _row(
        "delete_from_table",
        "table/{id}/delete",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.DATA,
        expressions=("predicate",),
    ),
    _row(
        "query_table",
        "table/{id}/query",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _NO_COLUMN, _BAD_STATE),
        writes=False,
        kind=Kind.DATA,
        result=Payload.ARROW_FILE,
        expressions=_QUERY_EXPRESSIONS,
        searches=("",),
    ),
    _row(
        "count_table_rows",
        "table/{id}/count_rows",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _NO_COLUMN, _BAD_STATE),
        writes=False,
        kind=Kind.DATA,
        result=Payload.INTEGER,
        expressions=("predicate",),
    ),
    _row(
        "explain_table_query_plan",
        "table/{id}/explain_plan",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _NO_COLUMN, _BAD_STATE),
        writes=False,
        kind=Kind.DATA,
        result=Payload.TEXT,
        expressions=tuple(f"query.{path}" for path in _QUERY_EXPRESSIONS),
        searches=("query",),
    ),
    _row(
        "analyze_table_query_plan",
        "table/{id}/analyze_plan",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _NO_COLUMN, _BAD_STATE),
        writes=False,
        kind=Kind.DATA,
        result=Payload.TEXT,
        expressions=_QUERY_EXPRESSIONS,
        searches=("",),
    ),
    # --- schema -----------------------------------------------------------------------------------------------------
    _row(
        "alter_table_add_columns",
        "table/{id}/add_columns",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE, _BAD_SCHEMA),
        writes=True,
        kind=Kind.DATA,
        expressions=("new_columns.*.expression", "new_columns.*.computed"),
    ),
    _row(
        "alter_table_alter_columns",
        "table/{id}/alter_columns",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE, _BAD_SCHEMA),
        writes=True,
    ),
    _row(
        "alter_table_drop_columns",
        "table/{id}/drop_columns",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE, _BAD_SCHEMA),
        writes=True,
    ),
    _row(
        "alter_table_backfill_columns",
        "table/{id}/backfill_column",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.DATA,
        status=202,
        expressions=("where",),
    ),
    _row(
        "update_table_schema_metadata",
        "table/{id}/schema_metadata/update",
        (*_ON_TABLE, _NO_BRANCH, _CONFLICT, _BAD_STATE),
        writes=True,
        body=Payload.STRING_MAP,
        result=Payload.STRING_MAP,
        query=("branch",),
    ),
    _row(
        "update_field_metadata",
        "table/{id}/update_field_metadata",
        (*_ON_TABLE, _NO_BRANCH, _NO_COLUMN, _CONFLICT, _BAD_STATE),
        writes=True,
    ),
    _row("get_table_stats", "table/{id}/stats", (*_ON_TABLE, _NO_BRANCH, _BAD_STATE), writes=False),
    # --- indexes ----------------------------------------------------------------------------------------------------
    _row(
        "create_table_index",
        "table/{id}/create_index",
        (*_ON_TABLE, _NO_BRANCH, "TABLE_INDEX_ALREADY_EXISTS", _NO_COLUMN, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.INDEX,
    ),
    _row(
        "create_table_scalar_index",
        "table/{id}/create_scalar_index",
        (*_ON_TABLE, _NO_BRANCH, "TABLE_INDEX_ALREADY_EXISTS", _NO_COLUMN, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.INDEX,
        request="CreateTableIndexRequest",
    ),
    _row(
        "list_table_indices",
        "table/{id}/index/list",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _BAD_STATE),
        writes=False,
        kind=Kind.INDEX,
    ),
    _row(
        "describe_table_index_stats",
        "table/{id}/index/{index_name}/stats",
        (*_ON_TABLE, _NO_INDEX, _NO_VERSION, _NO_BRANCH, _BAD_STATE),
        writes=False,
        kind=Kind.INDEX,
    ),
    _row(
        "drop_table_index",
        "table/{id}/index/{index_name}/drop",
        (*_ON_TABLE, _NO_INDEX, _NO_BRANCH, _BAD_STATE),
        writes=True,
        kind=Kind.INDEX,
        body=Payload.EMPTY,
        query=("branch",),
    ),
    # --- versions ---------------------------------------------------------------------------------------------------
    _row(
        "list_table_versions",
        "table/{id}/version/list",
        (*_ON_TABLE, _NO_BRANCH, _BAD_STATE),
        writes=False,
        kind=Kind.VERSION,
        body=Payload.EMPTY,
        query=("branch", *_PAGE, "descending"),
    ),
    _row(
        "describe_table_version",
        "table/{id}/version/describe",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _BAD_STATE),
        writes=False,
        kind=Kind.VERSION,
    ),
    _row("create_table_version", "table/{id}/version/create", (*_ON_TABLE, _CONFLICT), writes=True, kind=Kind.VERSION),
    _row(
        "batch_create_table_versions",
        "table/version/batch-create",
        (*_ON_TABLE, _CONFLICT),
        writes=True,
        kind=Kind.VERSION,
        subject=Subject.CATALOG,
    ),
    _row(
        "batch_delete_table_versions",
        "table/{id}/version/delete",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _BAD_STATE),
        writes=True,
        kind=Kind.VERSION,
    ),
    _row(
        "restore_table",
        "table/{id}/restore",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.VERSION,
    ),
    # --- tags -------------------------------------------------------------------------------------------------------
    _row(
        "list_table_tags",
        "table/{id}/tags/list",
        (*_ON_TABLE, _BAD_STATE),
        writes=False,
        kind=Kind.TAG,
        body=Payload.EMPTY,
        query=_PAGE,
    ),
    _row(
        "get_table_tag_version",
        "table/{id}/tags/version",
        (*_ON_TABLE, _NO_TAG, _BAD_STATE),
        writes=False,
        kind=Kind.TAG,
    ),
    _row(
        "create_table_tag",
        "table/{id}/tags/create",
        (*_ON_TABLE, "TABLE_TAG_ALREADY_EXISTS", _NO_VERSION, _NO_BRANCH, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.TAG,
    ),
    _row(
        "update_table_tag",
        "table/{id}/tags/update",
        (*_ON_TABLE, _NO_TAG, _NO_VERSION, _NO_BRANCH, _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.TAG,
    ),
    _row("delete_table_tag", "table/{id}/tags/delete", (*_ON_TABLE, _NO_TAG, _BAD_STATE), writes=True, kind=Kind.TAG),
    # --- branches ---------------------------------------------------------------------------------------------------
    _row(
        "list_table_branches",
        "table/{id}/branches/list",
        (*_ON_TABLE, _BAD_STATE),
        writes=False,
        kind=Kind.BRANCH,
        body=Payload.EMPTY,
        query=_PAGE,
    ),
    _row(
        "create_table_branch",
        "table/{id}/branches/create",
        (*_ON_TABLE, _NO_VERSION, _NO_BRANCH, "TABLE_BRANCH_ALREADY_EXISTS", _CONFLICT, _BAD_STATE),
        writes=True,
        kind=Kind.BRANCH,
    ),
    _row(
        "delete_table_branch",
        "table/{id}/branches/delete",
        (*_ON_TABLE, _NO_BRANCH, _BAD_STATE),
        writes=True,
        kind=Kind.BRANCH,
    ),
    # --- transactions -----------------------------------------------------------------------------------------------
    _row(
        "batch_commit_tables",
        "table/batch-commit",
        (*_ON_TABLE, _TABLE_EXISTS, _CONFLICT),
        writes=True,
        subject=Subject.CATALOG,
        kind=Kind.TRANSACTION,
    ),
    _row(
        "describe_transaction",
        "transaction/{id}/describe",
        ("TRANSACTION_NOT_FOUND",),
        writes=False,
        subject=Subject.TRANSACTION,
        kind=Kind.TRANSACTION,
    ),
    _row(
        "alter_transaction",
        "transaction/{id}/alter",
        ("TRANSACTION_NOT_FOUND", _CONFLICT),
        writes=True,
        subject=Subject.TRANSACTION,
        kind=Kind.TRANSACTION,
    ),
    # --- materialized views -----------------------------------------------------------------------------------------
    _row(
        "create_materialized_view",
        "materialized_view/{id}/create",
        (*_ON_TABLE, _TABLE_EXISTS, _BAD_SCHEMA),
        writes=True,
        subject=Subject.VIEW,
        kind=Kind.DATA,
        status=201,
    ),
    _row(
        "refresh_materialized_view",
        "materialized_view/{id}/refresh",
        (*_ON_TABLE, _NO_VERSION, _CONFLICT),
        writes=True,
        subject=Subject.VIEW,
        kind=Kind.DATA,
        status=202,
    ),
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType({row.name: row for row in _ROWS})
"""Every operation of the Lance Namespace spec, by name, in the order of the docs."""

ALIASES: Mapping[str, str] = MappingProxyType({"create_empty_table": "declare_table"})
"""Deprecated names that the spec's base class still has, and the operation each stands for."""

BASIC_OPERATIONS = (
    "create_namespace",
    "list_namespaces",
    "describe_namespace",
    "drop_namespace",
    "declare_table",
    "list_tables",
    "describe_table",
    "deregister_table",
)
"""The eight metadata operations that the spec recommends as a minimum; the Lance SDK can do the rest."""
