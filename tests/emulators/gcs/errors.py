"""How both APIs of Google Cloud Storage tell an error."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

from tests.emulators.loopback import Answer

_REASONS = {401: "authError", 404: "notFound", 409: "conflict", 412: "conditionNotMet"}
_CODES = {401: "AuthenticationRequired", 404: "NoSuchKey", 412: "PreconditionFailed"}


def as_json(status: int, message: str) -> Answer:
    """The error as the JSON API tells it."""
    reason = {"message": message, "reason": _REASONS.get(status, "invalid")}
    body = {"error": {"code": status, "message": message, "errors": [reason]}}
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


def as_xml(status: int, message: str) -> Answer:
    """The error as the XML API tells it."""
    code = _CODES.get(status, "InvalidArgument")
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return Answer(status, body.encode(), {"Content-Type": "application/xml"})
