"""Everything that authors of plugins may use; the stub beside this file lists it.

Backends, storage plugins, engines, wrappers and auth methods import from here only. Names load on first use, so a
plugin pays for no more than it takes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("lancespace", __file__)
