"""What the framework adds to an operation: a backend's method called directly and through its Namespace.

The backend does nothing, so that the difference is the dispatch: checking the request and the identifier, the hook
call, and looking at the answer. Each number is the median over rounds.
"""

from __future__ import annotations

import functools
import gc
import statistics
import time
from typing import TYPE_CHECKING, Any

from benchmarks.nothing import NothingBackend, installed, request_for
from benchmarks.report import Result
from lancespace import connect
from lancespace.authoring import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lancespace import Namespace

GOAL = "overhead below 10 us"
ROUNDS = 7
CALLS = 1000


def run() -> Iterator[Result]:
    """Every operation with its request object, then the other ways to call one of them."""
    with installed() as backend_name:
        namespace = connect(backend_name)
        backend = NothingBackend(namespace._connection)  # noqa: SLF001 - what the namespace calls is measured without it
        each = {name: _both(namespace, backend, name) for name in OPERATIONS}
        overheads = {name: through - direct for name, (direct, through) in each.items()}
        yield _result("median of all operations", *_median(each))
        worst = max(overheads, key=lambda name: overheads[name])
        yield _result(f"worst of all operations ({worst})", *each[worst])
        yield from _other_ways(backend, backend_name)


def _other_ways(backend: NothingBackend, backend_name: str) -> Iterator[Result]:
    request = request_for("list_tables")
    direct = _microseconds(lambda: backend.list_tables(request))
    namespace = connect(backend_name)
    yield _result("list_tables, plain arguments", direct, _microseconds(lambda: namespace.list_tables("a.b", limit=10)))
    for wrappers in ("readonly", "metrics", "readonly,metrics"):
        wrapped = connect(backend_name, {"wrappers": wrappers})
        through = _microseconds(functools.partial(wrapped.list_tables, request))
        yield _result(f"list_tables, wrappers={wrappers}", direct, through)


def _both(namespace: Namespace, backend: Any, name: str) -> tuple[float, float]:
    request = request_for(name)
    directly, through = getattr(backend, name), getattr(namespace, name)
    if OPERATIONS[name].takes_data:
        return _microseconds(lambda: directly(request, None)), _microseconds(lambda: through(request, None))
    return _microseconds(lambda: directly(request)), _microseconds(lambda: through(request))


def _median(each: dict[str, tuple[float, float]]) -> tuple[float, float]:
    direct = statistics.median(pair[0] for pair in each.values())
    return direct, direct + statistics.median(pair[1] - pair[0] for pair in each.values())


def _microseconds(call: Callable[[], object]) -> float:
    """The time of one call: the median of several rounds, with the garbage collector out of the way."""
    rounds = []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for _ in range(CALLS):
                call()
            rounds.append((time.perf_counter() - started) / CALLS * 1e6)
    finally:
        gc.enable()
    return statistics.median(rounds)


def _result(case: str, direct: float, through: float) -> Result:
    return Result(case, {"direct_us": direct, "through_us": through, "overhead_us": through - direct}, GOAL)
