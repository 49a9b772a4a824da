"""``python -m lancespace_server dir root=/data --port 2333``: serve a namespace from the command line."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import typing
from typing import Any

from lance_namespace import InvalidInputError, LanceNamespaceError

from lancespace.authoring import dereference, redact
from lancespace_server.serving import serve
from lancespace_server.settings import GROUPS, ServerSettings

PROGRAM = "python -m lancespace_server"


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line: a backend, its properties, and an option for every setting."""
    about = f"Serve a namespace as a Lance REST catalog. Example: {program} dir root=/data --port 2333"
    made = argparse.ArgumentParser(prog=program, description=about, allow_abbrev=False, exit_on_error=False)
    made.add_argument("backend", help="name of a backend, e.g. dir")
    made.add_argument(
        "properties",
        nargs="*",
        metavar="name=value",
        help="properties of the backend, e.g. root=/data; a secret is best written as name=@file:PATH or "
        "name=@env:VARIABLE, since others can see the arguments of a process",
    )
    types = typing.get_type_hints(ServerSettings)
    group = made
    for setting in dataclasses.fields(ServerSettings):
        if setting.name in GROUPS:
            group = made.add_argument_group(GROUPS[setting.name])  # type: ignore[assignment]
        group.add_argument(f"--{setting.name.replace('_', '-')}", **_option(setting, types[setting.name]))
    return made


def _option(setting: dataclasses.Field[Any], kind: Any) -> dict[str, Any]:
    doc = f"{setting.metadata['doc']} (default: {setting.default})".replace("%", "%%")
    common = {"default": setting.default, "help": doc}
    if kind is bool:
        return {**common, "action": argparse.BooleanOptionalAction if setting.default else "store_true"}
    if typing.get_origin(kind) is tuple:
        return {**common, "type": lambda text: tuple(filter(None, text.split(","))), "metavar": "A,B"}
    plain = next((each for each in typing.get_args(kind) if each is not type(None)), kind)
    return {**common, "type": plain, "metavar": plain.__name__.upper()}


def _parse(arguments: list[str] | None, program: str) -> tuple[str, dict[str, str], ServerSettings]:
    """The backend, its properties and the settings; messages never show the value of a property, a secret perhaps.

    Raises:
        InvalidInputError: Naming the argument that is wrong.
    """
    try:
        found, unknown = parser(program).parse_known_intermixed_args(arguments)
    except argparse.ArgumentError as error:  # Its message has the value.
        raise InvalidInputError(
            f"{error.argument_name} has no value, or one that it does not take: see --help."
        ) from error
    given = vars(found)
    backend, pairs = given.pop("backend"), given.pop("properties")
    if unknown:
        raise InvalidInputError(
            f"There is no option {unknown[0].partition('=')[0]!r}: see --help. Properties of the backend are written "
            "as name=value, without dashes."
        )
    if "=" in backend:
        raise InvalidInputError(f"The backend comes first, e.g. dir; {backend.partition('=')[0]!r} is a property.")
    for number, pair in enumerate(pairs, 1):
        if not pair.partition("=")[0] or "=" not in pair:
            raise InvalidInputError(f"Property no. {number} must be written as name=value.")
    return backend, dereference(dict(pair.partition("=")[::2] for pair in pairs)), ServerSettings(**given)


def main(arguments: list[str] | None = None, program: str = PROGRAM) -> int:
    """Serve; a mistake in the arguments is one line on standard error. ``program`` is what help calls the command."""
    try:
        serve(*_parse(arguments, program))
    except (LanceNamespaceError, OSError) as error:
        sys.stderr.write(f"lancespace_server: {redact(str(error))}\n")  # A property may be an option's value.
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
