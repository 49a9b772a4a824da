"""Storage options of other stores: Lance ignores them, so that one set of options can serve several stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX = re.compile(r"(alibaba_cloud|aws|azure|cos|gcs|goosefs|google|gs|hf|oss|s3|tos)_")
"""What begins the names that belong to one store: object_store's, OpenDAL's and the vendors' own."""
_NAMES = """
access_key access_key_id access_key_secret account_host account_key account_name addressing_style allow_http
allow_invalid_certificates anon anonymous application_credentials authority_host authority_id bearer_token bucket
bucket_name checksum_algorithm client_email client_id client_kwargs.region_name client_max_retries
client_retry_timeout client_secret conditional_put connect_timeout connection_string connection_timeout container
container_credentials_full_uri container_credentials_relative_uri container_name copy_if_not_exists credential
credential_type default_content_type default_region disable_bulk_delete disable_tagging download_retry_count
endpoint endpoint_url endpoint_url_s3 expires_at_millis federated_token_file hf_token http1_only http2_only
identity_endpoint imdsv1_fallback key key_id key_secret max_retries metadata_endpoint msi_endpoint msi_resource_id
object_id password pool_idle_timeout pool_max_idle_per_host profile project project_id proxy_ca_certificate
proxy_excludes proxy_url refresh_offset_millis region region_name request_payer request_timeout requester_pays
role_arn role_session_name s3_express sas_key sas_token secret secret_access_key secret_key security_token
server_side_encryption service_account service_account_key service_account_path session_token skip_signature
sse_bucket_key_enabled sse_customer_key_base64 sse_kms_key_id tenant_id timeout token unsigned_payload use_azure_cli
use_emulator use_fabric_endpoint use_opendal user_agent username virtual_hosted_style_request
web_identity_token_file
"""
_PLAIN = frozenset(_NAMES.split())
"""What several stores call alike, or Lance reads for every store."""


def knows(spelling: str, own: Iterable[str]) -> bool:
    """Whether another store has the option; names with a prefix of a store's ``own`` spellings are that store's."""
    name = spelling.lower()
    prefix = _PREFIX.match(name)
    if prefix is None:
        return name in _PLAIN or name.startswith("lance_")
    return not any(one.startswith(prefix[0]) for one in own)
