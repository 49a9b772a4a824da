"""Alibaba's SDK is imported before warnings become errors: its sources have escapes that Python warns of."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ossfs  # noqa: F401 - imported for the sake of importing it.
