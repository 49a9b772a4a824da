"""``python -m lancespace_server dir root=/data --port 2333``: serve a namespace from the command line."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import typing
from typing import Any

from lance_namespace import LanceNamespaceError

from lancespace_server.serving import serve
from lancespace_server.settings import ServerSettings

PROGRAM = "python -m lancespace_server"


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The command line: a backend, its properties, and an option for every setting."""
    about = f"Serve a namespace as a Lance REST catalog. Example: {program} dir root=/data --port 2333"
    made = argparse.ArgumentParser(prog=program, description=about)
    made.add_argument("backend", help="name of a backend, e.g. dir")
    made.add_argument("properties", nargs="*", metavar="name=value", help="properties of the backend, e.g. root=/data")
    types = typing.get_type_hints(ServerSettings)
    for setting in dataclasses.fields(ServerSettings):
        made.add_argument(f"--{setting.name.replace('_', '-')}", **_option(setting, types[setting.name]))
    return made


def _option(setting: dataclasses.Field[Any], kind: Any) -> dict[str, Any]:
    doc = f"{setting.metadata['doc']} (default: {setting.default})".replace("%", "%%")
    common = {"default": setting.default, "help": doc}
    if kind is bool:
        return {**common, "action": argparse.BooleanOptionalAction}
    if typing.get_origin(kind) is tuple:
        return {**common, "type": lambda text: tuple(filter(None, text.split(","))), "metavar": "A,B"}
    plain = next((each for each in typing.get_args(kind) if each is not type(None)), kind)
    return {**common, "type": plain, "metavar": plain.__name__.upper()}


def main(arguments: list[str] | None = None, program: str = PROGRAM) -> int:
    """Serve; a mistake in the arguments is one line on standard error. ``program`` is what help calls the command."""
    given = vars(parser(program).parse_args(arguments))
    backend, pairs = given.pop("backend"), given.pop("properties")
    properties = dict(pair.partition("=")[::2] for pair in pairs)
    try:
        serve(backend, properties, ServerSettings(**given))
    except (LanceNamespaceError, OSError) as error:
        sys.stderr.write(f"lancespace_server: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
