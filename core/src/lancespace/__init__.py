"""lancespace: a plugin-based framework for Lance namespaces.

``connect("dir", {"root": "/data"})`` gives a :class:`Namespace`; backends, storages, engines and wrappers are plugins
found through entry points. Importing this package imports none of them, and nothing heavy: the names that the stub
beside this file lists load on first use. Authors of plugins find theirs in :mod:`lancespace.authoring`.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
