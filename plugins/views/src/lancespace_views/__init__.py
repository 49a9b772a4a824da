"""Materialized views: tables that keep the result of a query over other tables.

Importing this package gives what ``create_materialized_view`` takes, made from SQL, a schema and a function::

    import lancespace_views as views

    namespace.create_materialized_view("sales.big", **views.query_view("SELECT … FROM sales.orders", schema))
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
