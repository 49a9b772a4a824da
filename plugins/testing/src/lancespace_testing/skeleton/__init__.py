"""The author's kit: a package for a new backend, with tests and CI that pass from the first minute.

The templates beside this module are the files of a real package for a backend called ``template``; only that name is
replaced, in the spellings it has there. A name that begins with ``dot-`` stands for a hidden file.
"""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates" / "backend"
PREFIX = "lance-catalog-"
"""Begins the names of the distributions; ``lancespace-`` is for those of this project."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_PIN = "~=0.1.0"
_LONGEST = 40


def write_backend(name: str, into: Path) -> Path:
    """Write a package for a backend of this name into a directory, and return the new folder.

    Raises:
        InvalidInputError: If the name cannot be one, is a backend's already, or there is something in the folder.
    """
    from lance_namespace import InvalidInputError

    from lancespace.authoring import translated

    _check(name)
    folder = into / f"{PREFIX}{name}"
    with translated(f"write {str(folder)!r}"):
        if folder.exists():
            raise InvalidInputError(
                f"There is {str(folder)!r} already: remove it, or choose another name or directory."
            )
        for source in sorted(path for path in TEMPLATES.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            parts = (re.sub("^dot-", ".", part) for part in source.relative_to(TEMPLATES).parts)
            target = folder.joinpath(*(_renamed(part, name) for part in parts))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_renamed(source.read_text(encoding="utf-8"), name), encoding="utf-8")
    return folder


def _check(name: str) -> None:
    from lance_namespace import InvalidInputError

    from lancespace.authoring import registry

    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise InvalidInputError(
            f"{name!r} cannot be the name of a backend: use up to {_LONGEST} lower-case letters and digits, a letter "
            "first, with single hyphens between, e.g. 'sqlite' or 'my-catalog'."
        )
    if name in {*registry.installed(registry.BACKENDS), *registry.BACKENDS.extras}:
        raise InvalidInputError(f"There is a backend {name!r} already: choose another name.")


def _renamed(text: str, name: str) -> str:
    """The text for another backend; ``template`` has three spellings: as it is, in an import name, and in a class."""
    from lancespace import __version__

    text = re.sub(r"\btemplate\b", name, text.replace(_PIN, f"~={__version__}"))
    text = text.replace("_template", "_" + name.replace("-", "_"))
    return text.replace("Template", "".join(part.capitalize() for part in name.split("-")))
