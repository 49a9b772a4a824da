"""Why a store fails, and what to do about it: one table, with the codes that stores send."""

from __future__ import annotations

from enum import Enum

from lance_namespace import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)


class Cause(Enum):
    """One reason for which storage fails: the class of the error, what is wrong, what to do, and the codes for it."""

    NO_CREDENTIALS = (
        UnauthenticatedError,
        "no credentials for the store were found",
        "give them as storage.* properties or in the environment; for a public bucket set storage.skip_signature=true",
        "MissingSecurityHeader NoAuthenticationInformation MissingAuthenticationToken",
    )
    BAD_CREDENTIALS = (
        UnauthenticatedError,
        "the store does not accept the credentials",
        "check the keys or the token",
        """InvalidAccessKeyId SignatureDoesNotMatch AuthenticationFailed InvalidToken InvalidClientTokenId
        InvalidAuthenticationInfo InvalidSecurityToken authError UnrecognizedClientException""",
    )
    EXPIRED_TOKEN = (
        UnauthenticatedError,
        "the credentials have expired",
        "get new ones and connect again, or use credentials that renew",
        """ExpiredToken ExpiredTokenException TokenRefreshRequired SecurityTokenExpired InvalidSecurityToken.Expired
        ExpiredAuthenticationToken""",
    )
    CLOCK_SKEW = (
        UnauthenticatedError,
        "this machine's clock differs too much from the store's",
        "set the clock, e.g. with NTP",
        "RequestTimeTooSkewed RequestExpired",
    )
    ACCESS_DENIED = (
        PermissionDeniedError,
        "the store denies access",
        "ask for permission to read, list, write and delete below the root",
        """AccessDenied AllAccessDisabled AccountProblem AuthorizationFailure AuthorizationPermissionMismatch
        AuthorizationResourceTypeMismatch InsufficientAccountPermissions PublicAccessNotPermitted forbidden
        UserDisable""",
    )
    NO_BUCKET = (
        InvalidInputError,
        "the bucket or container does not exist",
        "create it, or correct the location, e.g. the root",
        "NoSuchBucket ContainerNotFound ContainerBeingDeleted FilesystemNotFound InvalidBucketName",
    )
    WRONG_REGION = (
        InvalidInputError,
        "the bucket is in another region",
        "set storage.region, or storage.endpoint, to that of the bucket",
        """PermanentRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException TemporaryRedirect
        InvalidRegion""",
    )
    NO_REGION = (
        InvalidInputError,
        "the region of the bucket could not be found out",
        "set storage.region; for a store other than AWS, set storage.endpoint",
    )
    UNREACHABLE = (
        ServiceUnavailableError,
        "the store cannot be reached",
        "check storage.endpoint: the name of the host (DNS), the port, the network and, for https://, the certificate",
    )
    NO_HOST = (
        ServiceUnavailableError,
        "the name of the host cannot be resolved",
        "check the endpoint and the region for typing errors, and the DNS of this machine",
    )
    UNTRUSTED = (
        ServiceUnavailableError,
        "TLS fails: this machine does not trust the certificate",
        "set SSL_CERT_FILE (for S3 also AWS_CA_BUNDLE) to the authority's certificates, or correct the endpoint",
    )
    THROTTLED = (
        ThrottlingError,
        "the store gets too many requests",
        "wait and try again, or send fewer at once",
        """SlowDown Throttling ThrottlingException TooManyRequests RequestLimitExceeded ServerBusy rateLimitExceeded
        userRateLimitExceeded QpsLimitExceeded DownloadTrafficRateLimitExceeded UploadTrafficRateLimitExceeded
        RequestThrottled""",
    )
    DISK_FULL = (
        ServiceUnavailableError,
        "the storage is full",
        "free some space where the tables are stored, or raise the quota",
    )
    READ_ONLY = (PermissionDeniedError, "the storage is read-only", "make it writable, or choose another root")
    TOO_MANY_FILES = (
        ServiceUnavailableError,
        "too many files are open",
        "raise the limit of open files (ulimit -n), then try again",
    )
    NO_PERMISSION = (
        PermissionDeniedError,
        "the operating system denies access",
        "give this user the right to read and write below the root",
    )

    def __init__(self, kind: type[LanceNamespaceError], what: str, remedy: str, codes: str = "") -> None:
        self.kind = kind
        self.what = what
        """Begins the message."""
        self.remedy = remedy
        """Ends the message."""
        self.codes = codes.split()
        """What stores document and send with an answer."""

    @property
    def says_all(self) -> bool:
        """Whether ``what`` replaces the message of the library, which only repeats it."""
        return self in {Cause.NO_CREDENTIALS, Cause.NO_REGION}

    @staticmethod
    def of_answer(code: str, message: str) -> Cause | None:
        """The cause that a store's answer tells: some give one code to several causes, and tell them apart in words."""
        cause = _BY_CODE.get(code)
        if cause is Cause.ACCESS_DENIED and "must be addressed using the specified endpoint" in message:
            return Cause.WRONG_REGION  # OSS
        if cause is Cause.BAD_CREDENTIALS and "expired" in message:
            return Cause.EXPIRED_TOKEN
        if cause is Cause.BAD_CREDENTIALS and "not valid in the specified time frame" in message:
            return Cause.EXPIRED_TOKEN  # Azure's signatures
        if cause is Cause.BAD_CREDENTIALS and "header too old" in message:
            return Cause.CLOCK_SKEW  # Azure
        return cause

    @staticmethod
    def without_answer(text: str) -> Cause:
        """Why there was no answer at all, from what ``requests`` says."""
        if "NameResolutionError" in text:
            return Cause.NO_HOST
        return Cause.UNTRUSTED if "SSLError" in text else Cause.UNREACHABLE


_BY_CODE = {code: cause for cause in Cause for code in cause.codes}
