"""The properties of the directory backend."""

from __future__ import annotations

from lancespace.authoring import VENDOR_PROPERTIES, Property

_VENDING = "describe_table never answers the catalog's own credentials; credential_vendor.* answers temporary ones"
_CONTEXT = "a directory has no server that a context could be sent to"
_IGNORED = (
    Property(
        "dir_listing_to_manifest_migration_enabled",
        "Known from pylance, ignored: `lancespace migrate` enters tables in the manifest",
        ignored="tables move to the manifest with `lancespace migrate`, or lancespace_dir.migrate()",
    ),
    Property("vend_input_storage_options", "Known from pylance's tests, ignored", ignored=_VENDING),
    Property(
        "vend_input_storage_options_refresh_interval_millis", "Known from pylance's tests, ignored", ignored=_VENDING
    ),
    Property("dynamic_context_provider.", "Known from pylance, ignored: it is for servers", ignored=_CONTEXT),
)
"""What the Rust implementation takes, and has no meaning here."""

PROPERTIES = (
    Property(
        "root", "Directory of the catalog: a path or a URL such as s3://bucket/prefix", required=True, identifies=True
    ),
    Property("manifest_enabled", "Keep namespaces and tables in the __manifest table (V2)", type=bool, default=True),
    Property(
        "dir_listing_enabled", "Find tables as <name>.lance directories of the root (V1)", type=bool, default=True
    ),
    Property("commit_retries", "How often a change is tried again after others were faster", type=int, default=20),
    Property(
        "inline_optimization_enabled",
        "Keep the manifest small and indexed while it is written to",
        type=bool,
        default=True,
    ),
    Property(
        "table_version_management",
        "Keep the versions of new tables in the manifest, so that commits go through the catalog; "
        "without it, as the catalog says",
        type=bool,
    ),
    Property(
        "table_version_tracking_enabled",
        "Have clients commit through the catalog although the versions are in storage",
        type=bool,
        default=False,
    ),
    Property("storage.", "Options of the store, in any spelling its plugin knows, e.g. storage.region"),
    *VENDOR_PROPERTIES,
    *_IGNORED,
)
