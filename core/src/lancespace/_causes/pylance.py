"""What pylance's messages say of a store that failed; tried with pylance 14.0.2.

Lance reaches S3, Google Cloud Storage and Azure with object_store, and OSS with OpenDAL, and quotes their errors.
"""

from __future__ import annotations

import json
import re

from lancespace._causes.cause import Cause

_IS_STORE = re.compile(r"^(?:External error: )?(?:LanceError\(\w+\): |Failed to create object store: )*Generic [\w/]+ ")
_ROWS = (
    (re.compile(r"The specified bucket does not exist"), Cause.NO_BUCKET),  # Google's code is "notFound".
    # Without a region, pylance asks AWS for that of the bucket.
    (re.compile(r"^[^'\"]* error: Bucket '[^']*' not found"), Cause.NO_BUCKET),
    (re.compile(r"^[^'\"]* error: Failed to parse the region for bucket"), Cause.NO_REGION),
    (re.compile(r"^[^'\"]* error: Failed to resolve region for bucket"), Cause.UNREACHABLE),
    (
        re.compile(r"^[^'\"]*Failed to get AWS credentials: |^[^'\"]*Error performing token request: "),
        Cause.NO_CREDENTIALS,
    ),
    (re.compile(r"redirect without LOCATION"), Cause.WRONG_REGION),
    (re.compile(r"error sending request"), Cause.UNREACHABLE),
)
_NO_LISTING = re.compile(r"^(?:LanceError\(\w+\): )?(?:Dataset at path .* was not found: )?Not found: (?:,|$)")
"""OpenDAL's words where a listing is answered 404: only a bucket can be missing then."""
_XML = re.compile(r"<(?:\?xml|!DOCTYPE|html|Error|Code)\b.*(?:</\w+>|$)", re.DOTALL | re.IGNORECASE)
_XML_CODE = re.compile(r"<Code>([\w.]+)</Code>")
_XML_TEXT = re.compile(r"<(?:Message|AuthenticationErrorDetail)>([^<]*)<")
_JSON = re.compile(r"\{\s*\"error\".*\}", re.DOTALL)
_OPENDAL = re.compile(r"^.*? context: \{ .*?\b(?:uri|url): (?P<url>[^\s,]+),.*?\} => (?P<rest>.*)$", re.DOTALL)
_OPENDAL_ANSWER = re.compile(r"\b\w+ \{ code: \"(?P<code>[\w.]*)\", message: \"(?P<message>[^\"]*)\".*", re.DOTALL)
_DUMP = re.compile(r"\b[A-Z]\w+(?:\([A-Z]\w+)? \{ \w+: .*", re.DOTALL)
"""A structure as Rust prints it for programmers."""
_DUMPED_TEXT = re.compile(r"\bsource: (?:Some\()?\"((?:[^\"\\]|\\.)*)\"")
_EFFORT = re.compile(r"Error performing \w+ request: (?=Error performing)|Error performing (?=[A-Z]+ http)")
_TIME = re.compile(r" in [\d.]+(?:ns|µs|ms|s)(?= - )")


def find(_error: BaseException, text: str) -> Cause | None:
    """The cause that a message of pylance tells, or None."""
    if _NO_LISTING.search(text):
        return Cause.NO_BUCKET
    if not _IS_STORE.search(text):
        return None
    code, message = _answer(text)
    found = Cause.of_answer(code, message)
    return found or next((cause for pattern, cause in _ROWS if pattern.search(text)), None)


def plain(text: str) -> str:
    """The message without what only programs read: XML, JSON and structures of Rust."""
    if opendal := _OPENDAL.match(text):
        answer = _OPENDAL_ANSWER.search(opendal["rest"])
        rest = _named(answer["code"], answer["message"]) if answer else opendal["rest"].split(", source: ")[-1]
        return f"{opendal['url']}: {rest}"
    text = _XML.sub(_shown, _JSON.sub(_shown, text))
    dumped = _DUMP.search(text)
    if dumped:
        inside = _DUMPED_TEXT.search(dumped[0])
        text = text[: dumped.start()] + (f": {inside[1]}" if inside else "")
    return _TIME.sub("", _EFFORT.sub("", text))


def _shown(body: re.Match[str]) -> str:
    return _named(*_answer(body[0]))


def _named(code: str, message: str) -> str:
    return f"{message} ({code})" if message and code else message or code


def _answer(text: str) -> tuple[str, str]:
    """The code and the message that the store sent, of which each may be empty."""
    if opendal := _OPENDAL_ANSWER.search(text):
        return opendal["code"], opendal["message"]
    if body := _JSON.search(text):
        return _google_answer(body[0])
    body = _XML.search(text)
    code = _XML_CODE.search(body[0]) if body else None
    return code[1] if code else "", " ".join(_XML_TEXT.findall(body[0])) if body else ""


def _google_answer(body: str) -> tuple[str, str]:
    try:
        error = json.loads(body)["error"]
        reasons = [row.get("reason", "") for row in error.get("errors", [])]
        return next(iter(reasons), ""), str(error.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", ""
