"""The properties of the directory backend."""

from __future__ import annotations

from lancespace.properties import Property
from lancespace.storage.vending import VENDOR_PROPERTIES

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
)
