"""Alibaba Cloud OSS for the directory catalog of lancespace."""

from __future__ import annotations

from lancespace_dir_oss.storage import OssStorage

__all__ = ["OssStorage"]
