"""Be a new user: `python -m tools.newcomer` follows docs/tour.md to the letter, and says how long each part took.

The wheels are built first. Then everything happens as on a machine that has never seen the project: an environment is
made, pip installs our wheels and from the package index what they need, and every command of the page is run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import accumulate
from pathlib import Path

from tools.record import Answer, play, steps, variables_with, write_files
from tools.workspace import ROOT


def main() -> None:
    """Build, install, query."""
    with tempfile.TemporaryDirectory(prefix="newcomer-") as home:
        wheels, folder = Path(home) / "wheels", Path(home) / "folder"
        subprocess.run([sys.executable, "-m", "tools.wheels", str(wheels)], cwd=ROOT, check=True)
        folder.mkdir()
        write_files(folder)
        report(follow(folder, wheels))


def follow(folder: Path, wheels: Path) -> list[Answer]:
    """Run all commands of the page, with a bare Python and a pip that has nothing in its cache."""
    variables = variables_with(Path(sys.base_prefix) / "bin" / "python")
    return play(steps(), folder, {**variables, "PIP_FIND_LINKS": str(wheels), "PIP_NO_CACHE_DIR": "1"}).answers


def report(answers: list[Answer]) -> None:
    """Print how long each command took, and all up to it."""
    for answer, total in zip(answers, accumulate(answer.seconds for answer in answers), strict=True):
        print(f"{answer.seconds:6.1f} s  {total:6.1f} s  {answer.step.command}")


if __name__ == "__main__":
    main()
