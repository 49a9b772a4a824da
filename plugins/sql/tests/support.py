"""A small catalog with orders and people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lancespace import Namespace

ORDERS = [
    {"id": 1, "person": 1, "total": 10.0},
    {"id": 2, "person": 2, "total": 20.0},
    {"id": 3, "person": 1, "total": 5.0},
]
PEOPLE = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Grace"}]


def fill(namespace: Namespace) -> None:
    for name in ("sales", "crm", "sales.eu"):
        namespace.create_namespace(name)
    namespace.create_table("sales.orders", ORDERS)
    namespace.create_table("sales.eu.orders", ORDERS[:1])
    namespace.create_table("crm.people", PEOPLE)
    namespace.create_table("events", [{"id": 7}])
