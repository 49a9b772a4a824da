"""Run by test_extras.py in an environment that holds one extra only: connect, and print as JSON what came of each call.

Whatever touches the network is refused, so a connection to a cloud shows that connecting alone needs no I/O.
"""

from __future__ import annotations

import json
import sys
from typing import Any

NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.sendto"}


def refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NETWORK:
        raise RuntimeError(f"connecting reached for the network: {event} {arguments}")


def probe(action: str, backend: str, properties: dict[str, str]) -> dict[str, Any]:
    from lance_namespace import LanceNamespaceError, ListTablesRequest

    from lancespace import connect

    try:
        namespace = connect(backend, properties)
        if action == "sql":
            namespace.sql("SELECT 1").read_all()
    except LanceNamespaceError as error:
        return {"error": str(error)}
    if action == "list":
        return {"tables": namespace.list_tables(ListTablesRequest(id=[])).tables}
    return {"connected": namespace.namespace_id()}


if __name__ == "__main__":
    sys.addaudithook(refuse_network)
    print(json.dumps([probe(*call) for call in json.loads(sys.argv[1])]))  # noqa: T201 - this is its answer.
