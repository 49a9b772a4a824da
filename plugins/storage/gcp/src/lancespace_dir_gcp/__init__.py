"""Google Cloud Storage for the directory catalog of lancespace."""

from __future__ import annotations

from lancespace_dir_gcp.storage import GcsStorage

__all__ = ["GcsStorage"]
