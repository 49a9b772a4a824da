"""Storage: where tables live, reached through storage plugins chosen by URL scheme."""

from __future__ import annotations

from lancespace.storage.options import Option, OptionTable
from lancespace.storage.store import Credentials, Storage, as_uri, overlap, scheme_of

__all__ = ["Credentials", "Option", "OptionTable", "Storage", "as_uri", "overlap", "scheme_of"]
