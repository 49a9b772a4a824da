"""Wrappers: plugins around every operation, chosen by the ``wrappers`` property at connect.

Subclass :class:`OperationWrapper` and write one generator, which is put around each operation of the table; or subclass
:class:`ObservingWrapper` to be told of each operation when it is over.
"""

from __future__ import annotations

from lancespace._wrappers.base import Around, ObservingWrapper, OperationWrapper

__all__ = ["Around", "ObservingWrapper", "OperationWrapper"]
