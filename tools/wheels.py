"""Build every distribution, sdist and wheel, into a folder: `python -m tools.wheels dist`.

Builds run in this environment, where `make setup` has put the pinned build backend: nothing is downloaded, and no
build picks another one. Each wheel is built from its sdist, so an incomplete sdist shows at once.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

from tools.workspace import packages, umbrella


def build(destination: Path) -> None:
    """Build all distributions of the workspace into `destination`."""
    options = ["--quiet", "--offline", "--no-build-isolation", f"--python={sys.executable}", f"--out-dir={destination}"]
    for distribution in (umbrella(), *packages()):
        subprocess.run([find_uv_bin(), "build", *options, str(distribution.folder)], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve())
