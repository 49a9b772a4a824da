"""Reading a pipeline file, TOML or YAML."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from lance_namespace import InvalidInputError

from lancespace_spark.pipeline.model import Pipeline, Step, check_step

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = frozenset({"name", "catalog", "spark", "step"})


def load(path: str | Path) -> Pipeline:
    """Read and check a pipeline.

    Raises:
        InvalidInputError: If the file cannot be read or makes no sense; the message names the place.
    """
    file = Path(path)
    return parse(_contents(file), name=file.stem, folder=str(file.resolve().parent))


def parse(given: Mapping[str, Any], *, name: str, folder: str) -> Pipeline:
    """A pipeline from what a file says."""
    unknown = sorted(set(given) - SECTIONS)
    if unknown:
        raise InvalidInputError(
            f"a pipeline has no {', '.join(map(repr, unknown))}; it has {', '.join(sorted(SECTIONS))}"
        )
    catalog = _properties("catalog", given.get("catalog", {}))
    backend = catalog.pop("backend", "dir")
    if backend == "dir" and "root" not in catalog:
        raise InvalidInputError("[catalog] needs 'root', the directory or URL of the catalog, or another 'backend'")
    if "root" in catalog and "://" not in catalog["root"]:
        catalog["root"] = str(Path(folder, catalog["root"]))
    steps = [check_step(number, one) for number, one in enumerate(given.get("step", []), 1)]
    if not steps:
        raise InvalidInputError("a pipeline needs at least one [[step]]")
    spark = _properties("spark", given.get("spark", {}))
    return Pipeline(str(given.get("name", name)), backend, catalog, spark, tuple(_ordered(steps)), folder)


def _contents(file: Path) -> Mapping[str, Any]:
    try:
        text = file.read_text()
        if file.suffix in {".yaml", ".yml"}:
            import yaml

            found = yaml.safe_load(text)
        else:
            found = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"the pipeline {file} cannot be read: {error}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "yaml":
            raise
        raise InvalidInputError(f"the pipeline {file} is not YAML: {error}") from error
    if not isinstance(found, Mapping):
        raise InvalidInputError(f"the pipeline {file} must be a table of sections")
    return found


def _properties(section: str, given: Any) -> dict[str, str]:
    """Properties are text; booleans and numbers are taken as what they look like."""
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"[{section}] must be a table of properties")
    return {str(key): str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """Whoever fills a table comes before those who read it; otherwise the order of the file."""
    by_name = {step.name: step for step in steps}
    if len(by_name) != len(steps):
        twice = next(step.name for step in steps if sum(step.name == other.name for other in steps) > 1)
        raise InvalidInputError(f"two steps are called {twice!r}: a step is known by its name")
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for number, step in enumerate(steps):
        sorter.add(step.name, *_before(step, steps[:number], steps, by_name))
    try:
        return [by_name[name] for name in sorter.static_order()]
    except CycleError as error:
        raise InvalidInputError(f"the steps {' → '.join(error.args[1])} wait for each other") from error


def _before(step: Step, earlier: Sequence[Step], steps: Sequence[Step], by_name: Mapping[str, Step]) -> list[str]:
    unknown = [name for name in step.after if name not in by_name]
    if unknown:
        raise InvalidInputError(f"step {step.name!r} comes after {unknown[0]!r}, which is no step")
    is_filled = "into" in step.fields
    fills = [
        other.name for other in steps if other is not step and "into" in other.fields and other.writes == step.reads
    ]
    same = (other for other in earlier if other.writes is not None and other.writes == step.writes)
    touches = [other.name for other in same if "into" in other.fields or not is_filled]
    return [*step.after, *fills, *touches]
