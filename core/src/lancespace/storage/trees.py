"""Deleting many objects: in batches, several at once, while they are still being listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

BATCHES_AT_ONCE = 4


def delete_in_batches(
    keys: Iterable[str], size: int, delete: Callable[[list[str]], None], *, last: str | None = None
) -> None:
    """Delete what a listing yields, in batches of the size that the store takes in one request.

    Only the batches under way are in memory, however many keys there are. If one fails, those under way are finished,
    the error is raised, and what is left is for a repeat. The key ``last``, if it is among them, goes after all others.
    """
    held_back: list[str] = []
    remaining = _without(keys, last, held_back)
    under_way: set[Future[None]] = set()
    with ThreadPoolExecutor(BATCHES_AT_ONCE) as pool:
        while batch := list(islice(remaining, size)):
            if len(under_way) == BATCHES_AT_ONCE:
                under_way = _finish_one(under_way)
            under_way.add(pool.submit(delete, batch))
        for batch_under_way in under_way:
            batch_under_way.result()
    if held_back:
        delete(held_back)


def _without(keys: Iterable[str], last: str | None, held_back: list[str]) -> Iterator[str]:
    for key in keys:
        if key == last:
            held_back.append(key)
        else:
            yield key


def _finish_one(under_way: set[Future[None]]) -> set[Future[None]]:
    done, others = wait(under_way, return_when=FIRST_COMPLETED)
    for batch in done:
        batch.result()
    return others
