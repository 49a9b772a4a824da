"""Tasks that kill the process they run in, once: what a lost machine does to a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def killer(marker: Path, *, takes_worker: bool = False) -> Callable[[], None]:
    """A function that kills its executor, and the worker that started it if asked, the first time it is called.

    It is made of one piece, so that it travels to executors that cannot import this module.
    """
    path = str(marker)

    def strike() -> None:
        import os
        import signal
        import time
        from pathlib import Path

        def parent(process: int) -> int:
            return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])

        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        executor = parent(os.getppid())  # This is a Python worker, below a daemon, below the executor's Java.
        doomed = [parent(executor), executor] if takes_worker else [executor]
        for process in doomed:
            os.kill(process, signal.SIGKILL)
        time.sleep(60)  # The end comes before this does.

    return strike


def after(function: str, strike: Callable[[], None]) -> Callable[[], None]:
    """What a task calls to have its process struck right after the next call of a function, e.g. one that writes files.

    The function is given as ``module:name`` or ``module:class.name``. This, too, is made of one piece.
    """
    module, _, name = function.partition(":")

    def arm() -> None:
        import importlib

        *parts, last = name.split(".")
        owner = importlib.import_module(module)
        for part in parts:
            owner = getattr(owner, part)
        real = getattr(owner, last)

        def struck(*given: object, **options: object) -> object:
            setattr(owner, last, real)
            answer = real(*given, **options)
            strike()
            return answer

        setattr(owner, last, struck)

    return arm
