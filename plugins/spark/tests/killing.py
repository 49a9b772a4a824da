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
