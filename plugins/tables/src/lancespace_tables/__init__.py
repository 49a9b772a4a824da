"""Table operations for backends that can say where a table is: the Lance SDK does the work at that location.

A backend on :class:`TableBackend` implements eight metadata operations and gets the others. The names that the stub
beside this file lists load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
