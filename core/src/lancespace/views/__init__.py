"""Materialized views, for people: what ``create_materialized_view`` takes, made from SQL, a schema and a function.

Example::

    from lancespace import views

    namespace.create_materialized_view("sales.big", **views.query_view("SELECT … FROM sales.orders", schema))
"""

from __future__ import annotations

from lancespace.views.building import chunker, query_view, udtf

__all__ = ["chunker", "query_view", "udtf"]
