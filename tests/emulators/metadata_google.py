"""The metadata server of a machine of Google's, which has an account without a key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.emulators.loopback import Answer, Request
from tests.emulators.serving import serving

_FLAVOR = {"Metadata-Flavor": "Google"}
_ACCOUNTS = "/computeMetadata/v1/instance/service-accounts/"
_EMAIL = "robot@example.com"


@contextmanager
def metadata_server(token: str) -> Iterator[dict[str, str]]:
    """Run it; what is yielded are the variables of an environment in which it is found."""

    def answer(request: Request) -> Answer:
        if request.header("Metadata-Flavor") != "Google":
            return Answer(403, b"only who asks for Google's kind of metadata is answered")
        page = _page(request.raw_path, token)
        if page is None:
            return Answer(404, b"", _FLAVOR)
        return Answer(200, page.encode(), {**_FLAVOR, "Content-Type": "application/json"})

    with serving(answer) as endpoint:
        host = endpoint.removeprefix("http://")
        found = dict.fromkeys(("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"), host)
        yield {**found, "NO_GCE_CHECK": "false"}


def _page(path: str, token: str) -> str | None:
    account, _, what = path.removeprefix(_ACCOUNTS).partition("/")
    if path == "/":
        return ""
    if not path.startswith(_ACCOUNTS) or account not in {"default", _EMAIL}:
        return None
    if what == "token":
        return json.dumps({"access_token": token, "expires_in": 3600, "token_type": "Bearer"})
    return json.dumps({"email": _EMAIL, "scopes": [], "aliases": ["default"]})
