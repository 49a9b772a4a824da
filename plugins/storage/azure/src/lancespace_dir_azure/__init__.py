"""Azure Blob Storage and Data Lake Storage for the directory catalog of lancespace."""

from __future__ import annotations

from lancespace_dir_azure.storage import AzureStorage

__all__ = ["AzureStorage"]
