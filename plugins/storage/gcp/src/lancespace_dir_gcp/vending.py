"""Temporary credentials for one table: the catalog's token, exchanged for one that opens the table's prefix only."""

from __future__ import annotations

import json
import time
from datetime import timezone
from typing import TYPE_CHECKING, Any

from lance_namespace import InternalError, InvalidInputError

from lancespace.authoring import Property, split_location
from lancespace_dir_gcp.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "credential_vendor.gcp_"
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a kind of token

PROPERTIES = (
    Property(f"{_PREFIX}service_account", "Service account that is impersonated; the catalog's own if not given"),
    Property(f"{_PREFIX}sts_endpoint", "URL of the token exchange", default="https://sts.googleapis.com/v1/token"),
)

_READ = ("inRole:roles/storage.objectViewer",)
_WRITE = (*_READ, "inRole:roles/storage.objectCreator")
_ROLES = {"read": _READ, "write": _WRITE, "admin": ("inRole:roles/storage.objectAdmin",)}


def downscope(
    location: str, options: Mapping[str, str], permission: str, settings: Mapping[str, Any]
) -> tuple[dict[str, str], float]:
    """A token for what is below a location; it lives as long as the catalog's own that it was exchanged for."""
    from google.auth.transport.requests import Request
    from google.oauth2.sts import Client

    request = Request()
    token, expiry = _own_token(options, settings[f"{_PREFIX}service_account"], request)
    answer = Client(settings[f"{_PREFIX}sts_endpoint"]).exchange_token(  # type: ignore[no-untyped-call]
        request,
        grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token=token,
        subject_token_type=_TOKEN_TYPE,
        requested_token_type=_TOKEN_TYPE,
        additional_options=access_boundary(*split_location(location), permission),
    )
    expires_at = time.time() + answer["expires_in"] if answer.get("expires_in") else expiry
    if expires_at is None:
        raise InternalError("Google's token exchange did not say how long the new token lives.")
    return {"google_storage_token": answer["access_token"]}, expires_at


def access_boundary(bucket: str, prefix: str, permission: str) -> dict[str, Any]:
    """What the new token may do, as the exchange takes it: no more than these roles, and only below the prefix."""
    from google.auth.downscoped import AccessBoundaryRule, AvailabilityCondition, CredentialAccessBoundary

    objects = json.dumps(f"projects/_/buckets/{bucket}/objects/{prefix}/")
    listed = json.dumps(f"{prefix}/")
    condition = (
        f"resource.name.startsWith({objects}) || "
        f'api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith({listed})'
    )
    rule = AccessBoundaryRule(  # type: ignore[no-untyped-call]
        available_resource=f"//storage.googleapis.com/projects/_/buckets/{bucket}",
        available_permissions=list(_ROLES[permission]),
        availability_condition=AvailabilityCondition(condition),  # type: ignore[no-untyped-call]
    )
    boundary: dict[str, Any] = CredentialAccessBoundary([rule]).to_json()  # type: ignore[no-untyped-call]
    return boundary


def _own_token(options: Mapping[str, str], account: str | None, request: Any) -> tuple[str, float | None]:
    """A new token of the catalog's and when it expires, or the one that was given, of which only Google knows that."""
    from google.auth import default, impersonated_credentials
    from google.auth.credentials import Scoped

    own = OPTIONS.resolve(options)
    if own.get("skip_signature"):
        raise InvalidInputError("GCS storage: without credentials of its own the catalog can vend none.")
    source: Any = OPTIONS.for_fsspec(options).get("token")
    if source is None:
        source, _ = default(scopes=_SCOPES)
    elif isinstance(source, Scoped):
        source = source.with_scopes(_SCOPES)  # type: ignore[no-untyped-call]
    if account:
        source = impersonated_credentials.Credentials(  # type: ignore[no-untyped-call]
            source, target_principal=account, target_scopes=list(_SCOPES)
        )
    elif "storage_token" in own:
        return own["storage_token"], None
    source.refresh(request)
    return source.token, source.expiry.replace(tzinfo=timezone.utc).timestamp()
