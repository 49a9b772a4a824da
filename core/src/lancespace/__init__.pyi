from ._namespace import Namespace as Namespace
from ._namespace import connect as connect
from ._table import Table as Table

__version__: str
