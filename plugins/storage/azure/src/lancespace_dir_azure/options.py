"""Every option of Azure storage: pylance's (object_store's) and adlfs's names for it, and users' for both."""

from __future__ import annotations

from lancespace.authoring import (
    ALLOW_HTTP,
    REFUSED,
    TUNING,
    Option,
    OptionTable,
    allow_http,
    boolean,
    duration,
    integer,
    url,
)
from lancespace_dir_azure.accounts import emulator, parse_connection_string, static_token

_CREDENTIALS = (
    Option(
        "account_key",
        ("access_key", "master_key", "azure_storage_access_key", "azure_storage_master_key"),
        lance="azure_storage_account_key",
        fsspec="account_key",
        secret=True,
        environment=("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"),
    ),
    Option(
        "sas_token",
        ("sas_key", "azure_storage_sas_token"),
        lance="azure_storage_sas_key",
        fsspec="sas_token",
        secret=True,
        environment=("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"),
    ),
    Option(
        "client_id",
        ("azure_client_id",),
        lance="azure_storage_client_id",
        fsspec="client_id",
        environment=("AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"),
        needs=("client_secret", "tenant_id"),
    ),
    Option(
        "client_secret",
        ("azure_client_secret",),
        lance="azure_storage_client_secret",
        fsspec="client_secret",
        secret=True,
        environment=("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"),
        needs=("client_id", "tenant_id"),
    ),
    Option(
        "tenant_id",
        (
            "authority_id",
            "azure_tenant_id",
            "azure_authority_id",
            "azure_storage_authority_id",
        ),
        lance="azure_storage_tenant_id",
        fsspec="tenant_id",
        environment=("AZURE_STORAGE_TENANT_ID", "AZURE_TENANT_ID"),
        needs=("client_id", "client_secret"),
    ),
    Option(
        "bearer_token",
        ("token",),
        lance="azure_storage_token",
        fsspec="credential",
        fsspec_value=static_token,
        secret=True,
        environment=("AZURE_STORAGE_TOKEN",),
    ),
    Option(
        "connection_string",
        ("azure_storage_connection_string",),
        secret=True,
        environment=("AZURE_STORAGE_CONNECTION_STRING",),
        implies=parse_connection_string,
    ),
)

_PLACE = (
    Option(
        "skip_signature",
        lance="azure_skip_signature",
        fsspec="anon",
        type=boolean,
        environment=("AZURE_SKIP_SIGNATURE", "AZURE_STORAGE_ANON"),
    ),
    Option(
        "use_azure_cli",
        lance="azure_use_azure_cli",
        type=boolean,
        note="adlfs asks the Azure CLI by itself where nothing else is given.",
    ),
    Option(
        "account_name",
        lance="azure_storage_account_name",
        shared=True,
        fsspec="account_name",
        environment=("AZURE_STORAGE_ACCOUNT_NAME",),
    ),
    Option(
        "endpoint",
        ("azure_endpoint",),
        lance="azure_storage_endpoint",
        shared=True,
        fsspec="account_host",
        type=url,
        fsspec_value=lambda endpoint: endpoint.partition("://")[2],
        environment=("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
        implies=allow_http,
    ),
    Option("account_host", implies=lambda host: {"endpoint": f"https://{host}"}),
    Option(
        "use_emulator",
        ("azure_storage_use_emulator", "object_store_use_emulator"),
        type=boolean,
        environment=("AZURE_STORAGE_USE_EMULATOR",),
        implies=lambda use: emulator() if use else {},
    ),
)

_CLIENT = (
    ALLOW_HTTP,
    Option(
        "connect_timeout",
        ("connection_timeout",),
        lance="connect_timeout",
        fsspec="connection_timeout",
        type=duration,
    ),
    Option("read_timeout", lance="read_timeout", fsspec="read_timeout", type=duration),
    Option(
        "timeout",
        ("request_timeout",),
        lance="timeout",
        type=duration,
        note="adlfs bounds the connecting and each read, but no request as a whole.",
    ),
    Option(
        "client_max_retries",
        ("max_retries",),
        lance="client_max_retries",
        type=integer,
        note="adlfs tries as often as Azure's SDK does and cannot be told otherwise.",
    ),
    Option("user_agent", lance="user_agent", note="adlfs always gives its own name."),
    Option(
        "max_concurrency",
        fsspec="max_concurrency",
        type=integer,
        note="Bounds the parts of one file that adlfs moves at once; pylance has its own scheduler.",
    ),
    Option("disable_tagging", lance="azure_disable_tagging", type=boolean, note="adlfs tags nothing."),
    *TUNING,
)

_VARIABLE = "is not taken, as adlfs knows it only from the environment: set {} there, which pylance obeys too"
_FABRIC = "is not taken, as adlfs knows nothing of Fabric's own tokens: give 'bearer_token' or a service principal"
_FABRIC_OPTIONS = (
    "fabric_token_service_url",
    "fabric_workload_host",
    "fabric_session_token",
    "fabric_cluster_identifier",
)

_REFUSED = (
    *REFUSED,
    Option("container_name", ("container", "azure_container_name"), refused="is not taken: the location names it"),
    Option("proxy_url", refused=_VARIABLE.format("HTTPS_PROXY (and NO_PROXY)")),
    Option(
        "federated_token_file",
        ("azure_federated_token_file",),
        refused=_VARIABLE.format("AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_ID and AZURE_TENANT_ID"),
    ),
    Option(
        "authority_host",
        ("azure_authority_host", "azure_storage_authority_host"),
        refused=_VARIABLE.format("AZURE_AUTHORITY_HOST"),
    ),
    Option(
        "msi_endpoint",
        ("identity_endpoint", "azure_msi_endpoint", "azure_identity_endpoint"),
        refused=_VARIABLE.format("IDENTITY_ENDPOINT"),
    ),
    Option(
        "object_id",
        ("azure_object_id", "msi_resource_id", "azure_msi_resource_id"),
        refused="is not taken, as adlfs cannot be told: name a managed identity by AZURE_CLIENT_ID in the environment",
    ),
    Option(
        "credential_type",
        ("azure_credential_type",),
        refused="is not taken, as adlfs cannot be told: give only the credentials that are to be used",
    ),
    Option(
        "use_fabric_endpoint",
        ("azure_use_fabric_endpoint",),
        refused="is not taken: write 'endpoint' as https://<account>.blob.fabric.microsoft.com",
    ),
    Option(
        "encryption_key",
        ("azure_storage_encryption_key",),
        refused="is not taken, as adlfs cannot read what is written with it: use an encryption scope of the account",
    ),
    Option(
        "allow_invalid_certificates",
        refused="is not taken, as adlfs always checks: name those to trust in SSL_CERT_FILE, which both obey",
    ),
    *(Option(name, (f"azure_{name}",), refused=_FABRIC) for name in _FABRIC_OPTIONS),
)

OPTIONS = OptionTable("Azure", (*_PLACE, *_CLIENT, *_REFUSED), credentials=_CREDENTIALS)
