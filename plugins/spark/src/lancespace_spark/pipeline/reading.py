"""Reading a pipeline file, TOML or YAML."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lance_namespace import InvalidInputError

from lancespace_spark.pipeline.checking import check_step
from lancespace_spark.pipeline.model import Pipeline, Step
from lancespace_spark.pipeline.ordering import ordered

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = frozenset({"name", "catalog", "spark", "step"})
_NAME = re.compile(r"\w[\w .-]*")


def load(path: str | Path) -> Pipeline:
    """Read and check a pipeline.

    Raises:
        InvalidInputError: If the file cannot be read or makes no sense; the message names the place.
    """
    file = Path(path)
    found = _contents(file)
    try:
        return parse(found, name=file.stem, folder=str(file.resolve().parent))
    except InvalidInputError as error:
        raise InvalidInputError(f"{file}: {error}") from error


def parse(given: Mapping[str, Any], *, name: str, folder: str) -> Pipeline:
    """A pipeline from what a file says."""
    unknown = sorted(str(section) for section in set(given) - SECTIONS)
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
    spark = _settings(given.get("spark", {}))
    steps = tuple(ordered(_steps(given.get("step", []))))
    return Pipeline(_name(given.get("name", name)), backend, catalog, spark, steps, folder)


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
        raise InvalidInputError(f"the pipeline {file} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, Mapping):
        raise InvalidInputError(f"the pipeline {file} must be a table of sections")
    return found


def _name(given: Any) -> str:
    """The name is also that of the file in which the pipeline's state is kept."""
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise InvalidInputError(
            f"'name' must be of letters, digits, spaces and _ . -, and begin with a letter or digit, not {given!r}"
        )
    return given


def _steps(given: Any) -> list[Step]:
    if isinstance(given, Mapping):
        raise InvalidInputError("'step' must be a list of steps: write [[step]], in two brackets, above each")
    if not isinstance(given, list) or not given:
        raise InvalidInputError("a pipeline needs at least one [[step]]")
    return [check_step(number, one) for number, one in enumerate(given, 1)]


def _settings(given: Any) -> dict[str, str]:
    """Settings of Spark, which all have names with dots."""
    found = _properties("spark", given)
    for name in found:
        if not name.startswith("spark."):
            raise InvalidInputError(f'[spark] has {name!r}, but settings of Spark begin with "spark.": "spark.{name}"?')
    return found


def _properties(section: str, given: Any) -> dict[str, str]:
    """Properties are text; booleans and numbers are taken as what they look like."""
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"[{section}] must be a table of properties")
    for name, value in given.items():
        if isinstance(value, Mapping):
            inner = f"{name}.{next(iter(value), 'name')}"
            raise InvalidInputError(f'[{section}]: write a name with dots in quotes: "{inner}" = …, not {inner} = …')
        if not isinstance(value, (str, bool, int, float)):
            raise InvalidInputError(f"[{section}]: {name!r} must be a text, a number or a boolean, not {value!r}")
    return {str(key): str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}
