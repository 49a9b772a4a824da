"""The one place where foreign failures become the errors of the Lance Namespace spec.

Callers of lancespace see only :class:`lance_namespace.LanceNamespaceError` and its subclasses. What pylance, pyarrow,
the operating system, fsspec and the cloud SDKs raise is classified here by tables: by what the message says, by HTTP
status, by ``errno`` and by class *name*, so that no cloud SDK has to be importable. The first row that matches decides.
"""

from __future__ import annotations

import errno
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from lance_namespace import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
)

from lancespace import _causes as causes
from lancespace.registry import missing_package

if TYPE_CHECKING:
    from types import TracebackType


class JobCanceled(Exception):  # noqa: N818 - a request, not an error
    """Raised inside a job by its work, at a safe point, after it was cancelled; nothing translates it."""


Given = ParamSpec("Given")
Answer = TypeVar("Answer")
ErrorClass = type[LanceNamespaceError]
Rows = tuple[tuple[str, ErrorClass], ...]

_Missing = LanceNamespaceError
"""Stands in the tables for "something is not there": what it was, only the caller knows (``missing=``)."""

_MESSAGES: Rows = (
    # What a namespace answered that Lance asked for a version, or to commit: the spec's error, by the name of its code.
    *(
        (rf"^Namespace error: (?i:{kind.code.name.replace('_', ' ')}): ", kind)
        for kind in LanceNamespaceError.__subclasses__()
    ),
    # Texts that quote the caller's own words come first, lest those words match a later row.
    (r"Error parsing statement|sql parser error", InvalidInputError),
    (r"C Data interface error|embedded null", InvalidInputError),  # Raised by the data the caller sent.
    (r"^(Retryable )?[Cc]ommit conflict|^Incompatible transaction|^Too many concurrent", ConcurrentModificationError),
    (r"(commit|creation) reported a conflict", ConcurrentModificationError),
    (r"Ref not found error: tag", TableTagNotFoundError),
    (r"Ref not found error: [Bb]ranch|^Not found: \S*/tree/\S+/_versions", TableBranchNotFoundError),
    (r"Ref conflict error: tag", TableTagAlreadyExistsError),
    (r"Ref conflict error: [Bb]ranch .* is referenced", InvalidTableStateError),
    # pylance answers an internal error when the branch to be created is already there.
    (r"Ref conflict error: [Bb]ranch|Clone operation should not enter", TableBranchAlreadyExistsError),
    (r"^(Storage error: )?Ref is invalid", InvalidInputError),
    (r"^Version not found|_versions/\d+\.manifest (was )?not found", TableVersionNotFoundError),
    (r"Not found: \S*_versions/\d+\.manifest", TableVersionNotFoundError),
    (r"Index name '.*' already exists", TableIndexAlreadyExistsError),
    (r"^Lance index not found|^Index \".*\" not found", TableIndexNotFoundError),
    (r"^Dataset already exists", TableAlreadyExistsError),
    (r"^Dataset at path .* was not found|Not found: \S*/_versions(,|$)", TableNotFoundError),
    (r"Not found: \S*/(data|_deletions|_indices)/", InvalidTableStateError),
    (r"does not have sufficient data|file size is too small|Invalid range .* for object", InvalidTableStateError),
    (r"index\(es\) attached", InvalidTableStateError),
    (r"No field named|not found in schema|[Cc]olumn .* does not exist|^Field '.*' not found", TableColumnNotFoundError),
    (r"FTS field path .* does not exist|Embedding column .* is not in", TableColumnNotFoundError),
    (
        r"different schema|non-nullable|Duplicate field name|reserved name|Cannot cast column",
        TableSchemaValidationError,
    ),
    (r"Unsupported data type|Column .* already exists|Cannot drop all columns", TableSchemaValidationError),
    (r"Type conflicts between", TableSchemaValidationError),
    (r"^LanceError\(Schema\)|^Failed to convert schema", TableSchemaValidationError),
    (r"^Invalid user input|^(LanceError.*: )?Invalid argument error|^regex parse error", InvalidInputError),
    (r"Cast error|Divide by zero|[Oo]verflow happened", InvalidInputError),
    (r"Error applying filter expression to batch|Regular expression did not compile|ompiledTooBig", InvalidInputError),
    # What functions of DataFusion and kernels of Arrow say of values that they cannot take.
    (
        r"^(?:LanceError\(\w+\): |[A-Z][\w ]+ error: )*(?:Execution|Parser|Compute|Json) error: ",
        InvalidInputError,
    ),
    # What DataFusion says of types that do not go together in an expression.
    (r"Error during planning|in BETWEEN expression|type_coercion|caused by a bug in DataFusion", InvalidInputError),
    # What Python and pylance say of an argument of another type.
    (r"^argument '\w+': |is not an instance of '|cannot be interpreted as an integer", InvalidInputError),
    (r"does not match index column size|^Metric .* not supported|num_bits .* not supported", InvalidInputError),
    (r"can't set tokenizer|GeoArrow|WKT error|\bmust (be|have)\b", InvalidInputError),
    (r"construct the fuzzy query|Error parsing Path", InvalidInputError),
    (r"^Not supported|^not (yet )?implemented$", UnsupportedOperationError),
    (r"error sending request|request or response body error|[Tt]imed out|dns error", ServiceUnavailableError),
    (r"error decoding response body", ServiceUnavailableError),  # An answer of OSS that broke off.
)

_STATUSES: Mapping[int, ErrorClass] = {
    400: InvalidInputError,
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    404: _Missing,
    409: ConcurrentModificationError,
    412: ConcurrentModificationError,
    429: ThrottlingError,
    501: UnsupportedOperationError,
    **dict.fromkeys((408, 500, 502, 503, 504), ServiceUnavailableError),
}

_ERRNOS: Mapping[int, ErrorClass] = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), _Missing),
    **dict.fromkeys((errno.ENAMETOOLONG, errno.EISDIR), InvalidInputError),
    **dict.fromkeys((errno.EIO, errno.EBUSY, errno.EAGAIN, errno.ESTALE), ServiceUnavailableError),
    **dict.fromkeys((errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH), ServiceUnavailableError),
    **dict.fromkeys((errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE), ServiceUnavailableError),
    errno.EEXIST: ConcurrentModificationError,
}

_CLASS_NAMES: Rows = (
    (r"CommitConflictError|FileExistsError|ResourceExistsError", ConcurrentModificationError),
    (r"FileNotFoundError|NotADirectoryError|ResourceNotFoundError|NoSuch\w+", _Missing),
    (r"PermissionError", PermissionDeniedError),
    (r"\w*CredentialsError|CredentialRetrievalError|\w*AuthenticationError", UnauthenticatedError),
    (r"ArrowInvalid|ArrowTypeError|ArrowKeyError|ArrowNotImplementedError", InvalidInputError),
    (r"OverflowError|UnicodeError", InvalidInputError),  # Numbers and texts of a caller that native code cannot take.
    (r"\w*Timeout\w*|\w*Connect\w*Error|MaxRetryError|TransportError", ServiceUnavailableError),
    (r"ServiceRequestError|ServiceResponseError|MemoryError", ServiceUnavailableError),
    (r"ServerDisconnectedError|ChunkedEncodingError|ClientPayloadError|IncompleteRead\w*", ServiceUnavailableError),
    (r"NotImplementedError", UnsupportedOperationError),
)

_STORE_FAILURE = re.compile(r"(?:non-2xx status code|Parts \{ status): (?!404)\d{3}|error sending request")
"""Where pylance quotes a store that failed. Before that it may say that the table was not found: it cannot know."""
_RUST_LOCATION = re.compile(r",?(?: location:)? [\w./@+~-]*\.rs:\d+(?::\d+)?")
_SENT = re.compile(r"C Data interface error: (?:Unknown error: )?")
_TRACEBACK = re.compile(r"\. Detail: Python exception: .*", re.DOTALL)
_NOISE = re.compile(r"^(?:(?:LanceError\(\w+\)|Invalid user input|Generic [\w/]+ error): )+")
_SCHEMA_DUMP = re.compile(r"(?: in schema|:)?:?\s*Schema \{.*", re.DOTALL)
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,30}://)([^\s/'\"<>]*@)?([^\s?#'\"<>]*)([?#][^\s'\"<>]*)?", re.IGNORECASE)
_SECRET = re.compile(
    r"((?:secret|password|token|signature|credential|account_?key|api_?key)[\w-]{0,40}[\"']?\s*[=:]\s*"
    r"|\bsig=|\bbearer )[^\s,;&]+",
    re.IGNORECASE,
)
_AZURE = ("abfs://", "abfss://", "wasb://", "wasbs://")
_PANIC = re.compile(
    r"(?:\w+\(\w+\): |[\w ]+ error: )*"
    r"(?:called `\w+::unwrap|task \d+ panicked|Task was aborted|Lance reader producer terminated)"
)
"""How the message of an error begins that a panic in another thread of Rust's has caused."""
_UNFINISHED = re.compile(r"not (yet )?implemented")
"""All that Rust says where a case was left out, with a panic."""
_ANNOTATION = re.compile(r"(: |-> )'([^']*)'")
"""The type of an argument as Python shows it, in quotes."""
_LONGEST = 400
_RELAYED = "External error: "
_PLAIN_CLASSES = frozenset({"OSError", "ValueError", "RuntimeError", "ArrowInvalid", "CommitConflictError"})
"""Classes whose name adds nothing to the message."""


def translate(
    error: BaseException, *, about: str = "", missing: ErrorClass = TableNotFoundError
) -> LanceNamespaceError:
    """The spec's error for any failure; the caller raises it ``from`` the original.

    Args:
        error: What was caught. One of the spec's own errors is returned unchanged.
        about: What was being done to what, e.g. ``insert_into_table 'sales.orders'``; it begins the message.
        missing: The class to use where the failure only says that something is not there.
    """
    if isinstance(error, LanceNamespaceError):
        return error
    if _is_validation_error(error):
        return InvalidInputError(_sentence(about, _fields(error)))
    if hint := missing_package(error):
        return UnsupportedOperationError(_sentence(about, f"this {hint}"))
    text = causes.text_of(error).removeprefix(_RELAYED)
    if cause := causes.find_cause(error):
        return cause.kind(_sentence(about, _explained(cause, error, text)))
    found = _classify(error, text)
    kind = missing if found is _Missing else found
    return kind(_sentence(about, _summary(error, text, kind)))


class translated:  # noqa: N801 - used like the context managers of contextlib, but cheaper: every read passes one
    """Around a block in which whatever fails leaves as one of the spec's errors, raised from its cause."""

    __slots__ = ("_about", "_missing")

    def __init__(self, about: str, *, missing: ErrorClass = TableNotFoundError) -> None:
        self._about = about
        self._missing = missing

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, LanceNamespaceError) or not is_failure(error):
            return
        raise translate(error, about=self._about, missing=self._missing) from error


def public(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """A function that callers use directly: whatever fails leaves as one of the spec's errors.

    What Python says of arguments it cannot use is an InvalidInputError, which shows what the function takes.
    """

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            if not is_failure(error):
                raise
            failure = translate(error, about=function.__name__, missing=InvalidInputError)
            root = error if failure is not error else error.__cause__
            if isinstance(failure, InternalError) and isinstance(root, (TypeError, AttributeError)):
                taken = _ANNOTATION.sub(r"\1\2", str(inspect.signature(function)))
                failure = InvalidInputError(f"{failure}. Check the arguments: {function.__name__}{taken}")
            elif failure is error:
                raise
            raise failure from error

    return call


def is_failure(error: BaseException) -> bool:
    """Whether to translate it: not KeyboardInterrupt and its like, but a panic of the Rust side is a failure as any."""
    if isinstance(error, JobCanceled):
        return False
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Whether Rust code panicked; its own class derives from BaseException, and some libraries raise it as another."""
    return type(error).__name__ == "PanicException" or _PANIC.match(str(error)) is not None


def _classify(error: BaseException, text: str) -> ErrorClass:
    names = [base.__name__ for base in type(error).__mro__]
    if "CommitConflictError" in names:
        return ConcurrentModificationError
    if is_panic(error):
        return UnsupportedOperationError if _UNFINISHED.fullmatch(text) else InternalError
    if failure := _STORE_FAILURE.search(text):
        text = text[failure.start() :]
    if str(error).startswith(_RELAYED):
        names = []  # pyarrow only passes on what a Lance stream raised: its own class says nothing.
    return (
        _by_pattern(_MESSAGES, (text,), _search)
        or _STATUSES.get(_status(error, text))
        or _by_answer(error)
        or _ERRNOS.get(causes.error_number(error, text))
        or _by_pattern(_CLASS_NAMES, names, re.fullmatch)
        or InternalError
    )


def _by_answer(error: BaseException) -> ErrorClass | None:
    """By the store's answer, which fsspec keeps as the cause of an ``OSError`` with a number of its own choice."""
    cause = error.__cause__
    return _STATUSES.get(_status(cause, causes.text_of(cause))) if isinstance(error, OSError) and cause else None


def _by_pattern(rows: Rows, texts: Sequence[str], matches: Callable[[str, str], object]) -> ErrorClass | None:
    return next((kind for pattern, kind in rows if any(matches(pattern, text) for text in texts)), None)


def _search(pattern: str, text: str) -> object:
    """Find a pattern in a message, also across line breaks: the names that messages quote may have some."""
    return re.search(pattern, text, re.DOTALL)


def _status(error: BaseException, text: str) -> int:
    """The HTTP status an SDK's error carries in one of the usual places, or that its text mentions; 0 if none."""
    response = getattr(error, "response", None)
    mentioned = re.search(r"\bstatus(?: code)?:? (\d{3})\b", text)
    candidates = [
        *(getattr(error, name, None) for name in ("status_code", "status", "code")),
        *(getattr(response, name, None) for name in ("status_code", "status")),
        response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, Mapping) else None,
        int(mentioned.group(1)) if mentioned else None,
    ]
    return next((int(c) for c in candidates if isinstance(c, int) and c in _STATUSES), 0)


def _explained(cause: causes.Cause, error: BaseException, text: str) -> str:
    """The message of a failure whose cause is known: what is wrong, what the library said, and what to do."""
    # The text of a RecursionError says nothing of the store.
    says_nothing = cause.says_all or "maximum recursion depth" in text
    said = "" if says_nothing else f": {_summary(error, text, cause.kind)}"
    return f"{cause.what}{said} ({cause.remedy})"


def _summary(error: BaseException, text: str, kind: ErrorClass) -> str:
    """One line fit for a log and a person: no Rust locations, no schema dumps, no secrets."""
    if _UNFINISHED.fullmatch(text):
        return "Lance does not know how to do this, e.g. what a placeholder (?, $1, :name) in an expression stands for"
    if is_panic(error):
        return (
            "a bug in Lance stopped the operation. Check the data and the arguments; if they are right, report the "
            "error with its cause (__cause__), which has the details"
        )
    text = _TRACEBACK.sub("", _SENT.sub("the data could not be read: ", _RUST_LOCATION.sub("", text)))
    text = causes.plain(_SCHEMA_DUMP.sub("", text))
    line = redact(_NOISE.sub("", text.partition("\n")[0]).strip())
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    speaks_for_itself = type(error).__name__ in _PLAIN_CLASSES and kind is not InternalError
    return line if line and speaks_for_itself else f"{type(error).__name__}: {line}".removesuffix(": ")


def redact(text: str) -> str:
    """The text without what may be a secret: user info and query of URLs (signatures, SAS tokens), and named keys."""
    return _SECRET.sub(r"\1***", _URL.sub(_redact_url, text))


def _redact_url(match: re.Match[str]) -> str:
    scheme, user, rest, query = match.groups(default="")
    # In Azure's URLs the part before the @ is the container, unless it has a password.
    kept = user if scheme.lower() in _AZURE and ":" not in user else ""
    return f"{scheme}{kept}{rest}{'?***' if query else ''}"


def _is_validation_error(error: BaseException) -> bool:
    return type(error).__name__ == "ValidationError" and type(error).__module__.startswith("pydantic")


def _fields(error: Any) -> str:
    """The refused fields of a pydantic model in one line, without the values, which may be secret."""
    rows = [(".".join(map(str, row["loc"])) or "request", row["msg"]) for row in error.errors(include_url=False)]
    return f"the request is not valid: {'; '.join(f'{where}: {message}' for where, message in rows)}"


def _sentence(about: str, what: str) -> str:
    return f"{about}: {what}" if about else what
