"""What a run of the command holds: where it prints, and the namespace it works on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from lancespace.authoring import dereference
from lancespace_cli import config
from lancespace_cli.output import Output
from lancespace_cli.parsing import parse_properties
from lancespace_cli.redaction import Hidden, secrets_in

if TYPE_CHECKING:
    from lancespace import Namespace

DEFAULT_BACKEND = "dir"
NO_CATALOG = (
    "No catalog is named: give --root DIR_OR_URL or --profile NAME, or set LANCESPACE_ROOT or LANCESPACE_PROFILE."
)


class State:
    """The namespace is connected on first use, so that help and completion cost nothing."""

    def __init__(self) -> None:
        self.output = Output()
        self.hidden = Hidden()
        self._assume_yes = False
        self._root: str | None = None
        self._profile: str | None = None
        self._backend: str | None = None
        self._given: Sequence[str] = ()
        self._namespace: Namespace | None = None

    def configure(self, options: Mapping[str, Any]) -> None:
        """Take the options that every command has."""
        self._root, self._profile, self._backend = (options.get(name) for name in ("root", "profile", "backend"))
        self._given = options.get("given") or ()
        self._assume_yes = bool(options.get("yes"))
        flags = {name: bool(options.get(name)) for name in ("as_json", "quiet", "no_color")}
        self.output = Output(**flags)

    @property
    def namespace(self) -> Namespace:
        """The namespace that the options, the environment and the config file name, in this order of precedence."""
        if self._namespace is None:
            self._namespace = self._connect()
        return self._namespace

    def confirm(self, question: str) -> None:
        """Ask before something is destroyed; without a terminal to ask at, only ``--yes`` says yes."""
        if self._assume_yes:
            return
        if not self.output.can_ask():
            raise typer.BadParameter(f"{question} There is no terminal to ask at: add --yes to mean it.")
        typer.confirm(question, abort=True, err=True)

    def close(self) -> None:
        """Let the connection go."""
        if self._namespace is not None:
            self._namespace.close()

    def catalog(self) -> tuple[str, dict[str, str]]:
        """The backend and the properties to connect with; from here on, what is secret among them is hidden."""
        chosen = config.choose(self._profile, os.environ)
        backend = self._backend or chosen.backend or DEFAULT_BACKEND
        is_chosen = backend == (chosen.backend or DEFAULT_BACKEND)
        properties = dict(chosen.properties) if is_chosen else {}  # Those of one backend mean nothing to another.
        written = properties | parse_properties(self._given)
        properties = dereference(written)
        referred = (value for name, value in properties.items() if value != written[name])
        self.hidden.add([*chosen.secrets, *secrets_in(properties), *referred])
        if self._root is not None:
            properties["root"] = self._root
        if backend == DEFAULT_BACKEND and "root" not in properties:
            raise typer.BadParameter(NO_CATALOG)
        return backend, properties

    def _connect(self) -> Namespace:
        import logging

        from lancespace import connect

        backend, properties = self.catalog()
        os.environ.setdefault("LANCE_LOG", "error")  # Lance's hints are for programmers, and would be in the way.
        logging.getLogger("lancespace").addHandler(logging.NullHandler())  # Errors are told once, by us.
        return connect(backend, properties)


def state_of(context: typer.Context) -> State:
    """The state of this run."""
    state: State = context.obj
    return state
