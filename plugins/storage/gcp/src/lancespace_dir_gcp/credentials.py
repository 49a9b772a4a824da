"""Google's credentials for gcsfs, from what pylance takes too.

gcsfs itself would send a bare token to Google to ask how long it lives, knows no external accounts, and where it finds
no credentials goes on without any. Equal credentials are one object, so that fsspec finds the file system it has made.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_SCOPES = ("https://www.googleapis.com/auth/devstorage.full_control",)


@functools.lru_cache(maxsize=128)
def from_token(token: str) -> Credentials:
    """An access token as it is; nothing renews it."""
    from google.oauth2.credentials import Credentials

    return Credentials(token)  # type: ignore[no-untyped-call]


def from_file(path: str) -> Credentials:
    """The credentials file of a service account, a user or an external account."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"GCS storage: the credentials file {path!r} cannot be read.") from error
    return from_json(text)


@functools.lru_cache(maxsize=128)
def from_json(text: str) -> Credentials:
    """What such a file holds."""
    from google.auth import identity_pool
    from google.oauth2 import credentials, service_account

    loaders: dict[str, Any] = {
        "service_account": service_account.Credentials.from_service_account_info,
        "authorized_user": credentials.Credentials.from_authorized_user_info,
        "external_account": identity_pool.Credentials.from_info,
    }
    try:
        info = json.loads(text)
        loaded: Credentials = loaders[info["type"]](info, scopes=_SCOPES)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"GCS storage: the credentials are not the JSON of a known type ({', '.join(loaders)})."
        ) from error
    return loaded
