"""Amazon S3, and the stores that speak its protocol, for the directory catalog of lancespace."""

from __future__ import annotations

from lancespace_dir_aws.storage import S3Storage

__all__ = ["S3Storage"]
