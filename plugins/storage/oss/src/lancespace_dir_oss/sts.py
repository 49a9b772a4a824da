"""Alibaba's Security Token Service: one call, signed here, as Alibaba's SDK logs the tokens that it sends and gets."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRIES = 3
_SECONDS = 30


def call(endpoint: str, key: tuple[str, str], parameters: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a call by whoever has an access key, which is its id and its secret.

    Raises:
        OSError: If it was refused; Alibaba's code for it and the HTTP status are in the message.
    """
    import requests

    key_id, secret = key
    now = datetime.now(timezone.utc)
    complete = {
        **parameters,
        "AccessKeyId": key_id,
        "Format": "JSON",
        "SignatureMethod": "HMAC-SHA1",
        "SignatureNonce": uuid.uuid4().hex,
        "SignatureVersion": "1.0",
        "Timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Version": "2015-04-01",
    }
    with requests.Session() as session:
        session.mount(endpoint, requests.adapters.HTTPAdapter(max_retries=_TRIES))  # Where it cannot connect.
        form = {**complete, "Signature": signature(complete, secret)}
        response = session.post(endpoint, data=form, timeout=_SECONDS)
    answer: dict[str, Any] = response.json()
    if not response.ok:
        # What follows quotes the request, the token that it was made with included.
        message = answer.get("Message", "").partition("server string to sign")[0].strip()
        raise OSError(f"STS answered {answer.get('Code')}: {message} (status {response.status_code})")
    return answer


def signature(parameters: Mapping[str, str], secret: str) -> str:
    """The signature of a POST to one of Alibaba's RPC interfaces, version 1.0."""
    query = "&".join(f"{_quote(name)}={_quote(value)}" for name, value in sorted(parameters.items()))
    text = f"POST&{_quote('/')}&{_quote(query)}"
    return base64.b64encode(hmac.new(f"{secret}&".encode(), text.encode(), hashlib.sha1).digest()).decode()


def _quote(text: str) -> str:
    return quote(text, safe="~")
