"""Jobs that go on after the command has ended.

An engine runs jobs in its own process, so ``--no-wait`` starts the same command once more, in the background: that one
submits the job, prints its id and stays until the job is over.
"""

from __future__ import annotations

import os
import subprocess
import sys

import typer

VARIABLE = "LANCESPACE_DETACHED"


def is_background() -> bool:
    """Whether this is the process in the background."""
    return VARIABLE in os.environ


def start() -> str:
    """Start this command in the background, and return the id of the job it submitted.

    Raises:
        Exit: If it failed before that; it has printed why, and its exit code is ours.
    """
    command = [sys.executable, "-m", "lancespace_cli", "--yes", *sys.argv[1:]]  # Questions were asked before.
    child = subprocess.Popen(  # noqa: S603 - our own command line once more
        command,
        env={**os.environ, VARIABLE: "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    job_id = child.stdout.readline().decode().strip()
    if not job_id:
        raise typer.Exit(child.wait())
    child.returncode = 0  # It is not waited for.
    return job_id


def detach(job_id: str) -> None:
    """In the background: print the id, and release the terminal."""
    sys.stdout.write(f"{job_id}\n")
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
