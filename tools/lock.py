"""Write constraints.txt: one version of everything that the workspace, its developers and its builds need.

The file holds for every supported Python (markers tell them apart). It names no index, no hash and no path, so pip and
uv take it with any index.
"""

from __future__ import annotations

import subprocess

from uv import find_uv_bin

from tools.workspace import CONSTRAINTS, packages, umbrella

HEADER = "# Written by `make lock`: what `make setup` installs and builds with, for every Python from 3.10.\n"


def requirements() -> list[str]:
    """Every requirement of the workspace on somebody else's distribution."""
    required = {
        str(requirement)
        for distribution in (umbrella(), *packages())
        for requirement in (*distribution.requirements, *distribution.build_requirements, *distribution.groups)
        if not requirement.name.startswith("lancespace")
    }
    return sorted(required)


def resolve(required: list[str]) -> str:
    """Ask uv for the newest versions that agree with each other."""
    options = ["--universal", "--python-version=3.10", "--no-header", "--no-annotate", "--quiet"]
    command = [find_uv_bin(), "pip", "compile", *options, "-"]
    return subprocess.run(command, input="\n".join(required), stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    CONSTRAINTS.write_text(HEADER + resolve(requirements()))
