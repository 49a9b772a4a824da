"""Why a store fails, and what to do about it: the one table of causes, and the codes that stores answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Cause:
    """One reason for which storage fails."""

    kind: type[LanceNamespaceError]
    """The class of the error."""
    what: str
    """What is wrong; begins the message."""
    remedy: str
    """What to do; ends the message."""
    says_all: bool = False
    """Whether ``what`` replaces the message of the library, which only repeats it."""


NO_CREDENTIALS = Cause(
    UnauthenticatedError,
    "no credentials for the store were found",
    "give them as storage.* properties or in the environment; for a public bucket set storage.skip_signature=true",
    says_all=True,
)
BAD_CREDENTIALS = Cause(
    UnauthenticatedError, "the store does not accept the credentials", "check the keys or the token"
)
EXPIRED_TOKEN = Cause(
    UnauthenticatedError,
    "the credentials have expired",
    "get new ones and connect again, or use credentials that renew",
)
CLOCK_SKEW = Cause(
    UnauthenticatedError, "this machine's clock differs too much from the store's", "set the clock, e.g. with NTP"
)
ACCESS_DENIED = Cause(
    PermissionDeniedError,
    "the store denies access",
    "ask for permission to read, list, write and delete below the root",
)
NO_BUCKET = Cause(
    InvalidInputError, "the bucket or container does not exist", "create it, or correct the location, e.g. the root"
)
WRONG_REGION = Cause(
    InvalidInputError,
    "the bucket is in another region",
    "set storage.region, or storage.endpoint, to that of the bucket",
)
NO_REGION = Cause(
    InvalidInputError,
    "the region of the bucket could not be found out",
    "set storage.region; for a store other than AWS, set storage.endpoint",
    says_all=True,
)
UNREACHABLE = Cause(
    ServiceUnavailableError,
    "the store cannot be reached",
    "check storage.endpoint: the name of the host (DNS), the port, the network and, for https://, the certificate",
)
NO_HOST = Cause(
    ServiceUnavailableError,
    "the name of the host cannot be resolved",
    "check the endpoint and the region for typing errors, and the DNS of this machine",
)
UNTRUSTED = Cause(
    ServiceUnavailableError,
    "TLS fails: this machine does not trust the certificate",
    "set SSL_CERT_FILE (for S3 also AWS_CA_BUNDLE) to the authority's certificates, or correct the endpoint",
)
THROTTLED = Cause(ThrottlingError, "the store gets too many requests", "wait and try again, or send fewer at once")
DISK_FULL = Cause(
    ServiceUnavailableError, "the storage is full", "free some space where the tables are stored, or raise the quota"
)
READ_ONLY = Cause(PermissionDeniedError, "the storage is read-only", "make it writable, or choose another root")
TOO_MANY_FILES = Cause(
    ServiceUnavailableError, "too many files are open", "raise the limit of open files (ulimit -n), then try again"
)
NO_PERMISSION = Cause(
    PermissionDeniedError,
    "the operating system denies access",
    "give this user the right to read and write below the root",
)

_CODES: Mapping[Cause, str] = {
    NO_CREDENTIALS: "MissingSecurityHeader NoAuthenticationInformation MissingAuthenticationToken",
    BAD_CREDENTIALS: "InvalidAccessKeyId SignatureDoesNotMatch AuthenticationFailed InvalidToken InvalidClientTokenId "
    "InvalidAuthenticationInfo InvalidSecurityToken authError UnrecognizedClientException",
    EXPIRED_TOKEN: "ExpiredToken ExpiredTokenException TokenRefreshRequired SecurityTokenExpired "
    "InvalidSecurityToken.Expired ExpiredAuthenticationToken",
    CLOCK_SKEW: "RequestTimeTooSkewed RequestExpired",
    ACCESS_DENIED: "AccessDenied AllAccessDisabled AccountProblem AuthorizationFailure AuthorizationPermissionMismatch "
    "AuthorizationResourceTypeMismatch InsufficientAccountPermissions PublicAccessNotPermitted forbidden UserDisable",
    NO_BUCKET: "NoSuchBucket ContainerNotFound ContainerBeingDeleted FilesystemNotFound InvalidBucketName",
    WRONG_REGION: "PermanentRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException "
    "TemporaryRedirect InvalidRegion",
    THROTTLED: "SlowDown Throttling ThrottlingException TooManyRequests RequestLimitExceeded ServerBusy "
    "rateLimitExceeded userRateLimitExceeded QpsLimitExceeded DownloadTrafficRateLimitExceeded "
    "UploadTrafficRateLimitExceeded RequestThrottled",
}
BY_CODE: Mapping[str, Cause] = {code: cause for cause, codes in _CODES.items() for code in codes.split()}
"""By the code that a store documents and sends with its answer."""


def by_answer(code: str, message: str) -> Cause | None:
    """The cause that a store's answer tells: some give one code to several causes, and tell them apart in words."""
    cause = BY_CODE.get(code)
    if cause is ACCESS_DENIED and "must be addressed using the specified endpoint" in message:
        return WRONG_REGION  # OSS
    if cause is BAD_CREDENTIALS and "expired" in message:
        return EXPIRED_TOKEN
    if cause is BAD_CREDENTIALS and "not valid in the specified time frame" in message:
        return EXPIRED_TOKEN  # Azure's signatures
    if cause is BAD_CREDENTIALS and "header too old" in message:
        return CLOCK_SKEW  # Azure
    return cause
