"""What the clouds answer where they refuse a request, by cause: status, content type and body, as they document it."""

from __future__ import annotations

import json

from tests.emulators.loopback import Answer

_SENT_BACK = "hush"
"""Some answers repeat what the client sent; the name of an access key or the token itself."""


def _xml(status: int, code: str, message: str, more: str = "") -> Answer:
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>'
    )
    return Answer(status, body.encode(), {"Content-Type": "application/xml", "x-ms-error-code": code})


def _json(status: int, reason: str, message: str) -> Answer:
    error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
    return Answer(status, json.dumps({"error": error}).encode(), {"Content-Type": "application/json"})


_TIME = "The difference between the request time and the current time is too large."
_BUCKET = "The specified bucket does not exist"
_AUTHENTICATION = "Server failed to authenticate the request."
_ENDPOINT = "The bucket you are attempting to access must be addressed using the specified endpoint."

REFUSALS: dict[str, dict[str, Answer]] = {
    "s3": {
        "NO_BUCKET": _xml(404, "NoSuchBucket", _BUCKET),
        "ACCESS_DENIED": _xml(403, "AccessDenied", "Access Denied"),
        "EXPIRED_TOKEN": _xml(400, "ExpiredToken", "The token has expired.", f"<Token-0>{_SENT_BACK}</Token-0>"),
        "BAD_CREDENTIALS": _xml(403, "InvalidAccessKeyId", "The key does not exist in our records."),
        "CLOCK_SKEW": _xml(403, "RequestTimeTooSkewed", _TIME),
        "WRONG_REGION": _xml(400, "AuthorizationHeaderMalformed", "the region is wrong; expecting 'eu-west-1'"),
        "THROTTLED": _xml(503, "SlowDown", "Please reduce your request rate."),
    },
    "gcs": {
        "NO_BUCKET": _json(404, "notFound", f"{_BUCKET}."),
        "ACCESS_DENIED": _json(403, "forbidden", "robot does not have storage.objects.list access."),
        "BAD_CREDENTIALS": _json(401, "authError", "Invalid Credentials"),
        "THROTTLED": _json(429, "rateLimitExceeded", "The rate of change requests exceeds the rate limit."),
    },
    "azure": {
        "NO_BUCKET": _xml(404, "ContainerNotFound", "The specified container does not exist."),
        "ACCESS_DENIED": _xml(403, "AuthorizationPermissionMismatch", "This request is not authorized."),
        "BAD_CREDENTIALS": _xml(403, "AuthenticationFailed", _AUTHENTICATION),
        "EXPIRED_TOKEN": _xml(
            403,
            "AuthenticationFailed",
            _AUTHENTICATION,
            "<AuthenticationErrorDetail>Signature not valid in the specified time frame</AuthenticationErrorDetail>",
        ),
        "CLOCK_SKEW": _xml(
            403,
            "AuthenticationFailed",
            _AUTHENTICATION,
            "<AuthenticationErrorDetail>Request date header too old</AuthenticationErrorDetail>",
        ),
        "THROTTLED": _xml(503, "ServerBusy", "The server is busy."),
    },
    "oss": {
        "NO_BUCKET": _xml(404, "NoSuchBucket", f"{_BUCKET}."),
        "ACCESS_DENIED": _xml(403, "AccessDenied", "You have no right to access this object."),
        "BAD_CREDENTIALS": _xml(403, "InvalidAccessKeyId", "The key does not exist in our records."),
        "EXPIRED_TOKEN": _xml(403, "SecurityTokenExpired", "The security token has expired."),
        "CLOCK_SKEW": _xml(403, "RequestTimeTooSkewed", _TIME),
        "WRONG_REGION": _xml(403, "AccessDenied", _ENDPOINT),
        "THROTTLED": _xml(503, "QpsLimitExceeded", "Please reduce your request rate."),
    },
}
"""By cloud and by the name of the cause in ``lancespace.authoring.Cause``; no cloud has an answer for all of them."""

REDIRECT = _xml(301, "PermanentRedirect", _ENDPOINT)
"""S3's answer for a bucket of another region, from something in between that leaves out the header with the region."""

LATE_TOKEN = Answer(
    400,
    json.dumps(
        {
            "error": "invalid_grant",
            "error_description": "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
            "timeframe. Check your iat and exp values in the JWT claim.",
        }
    ).encode(),
    {"Content-Type": "application/json"},
)
"""What Google answers if it is asked for a token by a machine whose clock is wrong."""
