"""Write the files that are derived from the code: `python -m tools.generate`.

The typed stub of the operation methods and the reference pages of the docs say nothing that the code does not say
already, so they are made from it. `--check` writes nothing and fails if a file is not what would be written.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tools.generators import (
    architecture_page,
    comparison_page,
    errors_page,
    hooks_page,
    operation_hooks,
    operations_page,
    options_page,
    properties_page,
    stub,
)
from tools.workspace import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILES: Mapping[str, Callable[[], str]] = {
    "core/src/lancespace/_methods.pyi": stub.render,
    "core/src/lancespace/_operation_hooks.py": operation_hooks.render,
    "docs/reference/operations.md": operations_page.render,
    "docs/reference/hooks.md": hooks_page.render,
    "docs/reference/errors.md": errors_page.render,
    "docs/reference/properties.md": properties_page.render,
    "docs/reference/storage-options.md": options_page.render,
    "docs/architecture.md": architecture_page.render,
    "docs/comparison.md": comparison_page.render,
}


def stale() -> dict[str, str]:
    """The files that are not as they should be, with the text they should have."""
    wanted = {name: render() for name, render in FILES.items()}
    return {name: text for name, text in wanted.items() if not _is(name, text)}


def _is(name: str, text: str) -> bool:
    path = ROOT / name
    return path.exists() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Write what is stale, or say what is."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not up to date")
    arguments = parser.parse_args()
    changed = stale()
    for name, text in changed.items():
        if arguments.check:
            print(f"{name} is not up to date: run `python -m tools.generate`.", file=sys.stderr)
        else:
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
