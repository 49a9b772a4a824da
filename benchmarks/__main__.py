"""Run benchmarks by name: results as JSON lines while they come in, then as a table."""

from __future__ import annotations

import argparse
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import as_json, as_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def benchmarks() -> Iterator[tuple[str, ModuleType]]:
    """The modules of this package that can be run, by name."""
    for found in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if found.name != "__main__":
            module = import_module(f"benchmarks.{found.name}")
            if hasattr(module, "run"):
                yield found.name, module


def main() -> None:
    """Run what the command line names; everything if it names nothing."""
    known = dict(benchmarks())
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(known)}")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there is {', '.join(known)}")
    for name in arguments.names or known:
        title = (known[name].__doc__ or "").partition("\n")[0]
        print(f"# {name}: {title}", flush=True)
        if not arguments.list:
            run(name, known[name])


def run(name: str, benchmark: ModuleType) -> None:
    """Run one benchmark and print what it finds."""
    results = []
    for result in benchmark.run():
        print(as_json(name, result), flush=True)
        results.append(result)
    print(as_table(results), flush=True)


if __name__ == "__main__":
    main()
