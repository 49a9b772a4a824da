"""Tasks in threads of this process: those of the engine ``local``, and of any engine those that stay on the driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from lancespace.engines import Result, Task


def in_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task], concurrency: int | None
) -> Generator[tuple[Task, Result], None, None]:
    """Run a function over tasks, ``concurrency`` at a time, and give the results as they come.

    Closing it waits for the tasks that are under way; no other is begun. So it is if one fails, and what the others
    have done is given before the failure is raised: a repeat need not do it again.
    """
    workers = concurrency or os.cpu_count() or 1
    remaining = iter(tasks)
    running: dict[Future[Result], Task] = {}
    failures: list[Future[Result]] = []
    with ThreadPoolExecutor(workers, thread_name_prefix="lancespace-task") as pool:
        while True:
            free = 0 if failures else workers - len(running)
            running |= {pool.submit(function, task): task for task in islice(remaining, free)}
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                if future.exception() is None:
                    yield task, future.result()
                else:
                    failures.append(future)
    for failed in failures[:1]:
        failed.result()
