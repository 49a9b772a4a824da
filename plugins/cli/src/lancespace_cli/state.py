"""What a run of the command holds: where it prints, and the namespace it works on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import typer

from lancespace_cli import config
from lancespace_cli.parsing import parse_properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lancespace import Namespace
    from lancespace_cli.output import Output

NO_CATALOG = (
    """No catalog is named: give --root DIR_OR_URL or --profile NAME, or set LANCESPACE_ROOT or LANCESPACE_PROFILE."""
)


class State:
    """The namespace is connected on first use, so that help and completion cost nothing."""

    def __init__(
        self,
        output: Output,
        *,
        root: str | None = None,
        profile: str | None = None,
        backend: str | None = None,
        given: Sequence[str] = (),
        assume_yes: bool = False,
    ) -> None:
        self.output = output
        self.assume_yes = assume_yes
        self._root = root
        self._profile = profile
        self._backend = backend
        self._given = given
        self._namespace: Namespace | None = None

    @property
    def namespace(self) -> Namespace:
        """The namespace that the options, the environment and the config file name, in this order of precedence."""
        if self._namespace is None:
            self._namespace = self._connect()
        return self._namespace

    def confirm(self, question: str) -> None:
        """Ask before something is destroyed; without a terminal to ask at, only ``--yes`` says yes."""
        if self.assume_yes:
            return
        if not self.output.can_ask():
            raise typer.BadParameter(f"{question} There is no terminal to ask at: add --yes to mean it.")
        typer.confirm(question, abort=True, err=True)

    def close(self) -> None:
        """Let the connection go."""
        if self._namespace is not None:
            self._namespace.close()

    def catalog(self) -> tuple[str, dict[str, str]]:
        """The backend and the properties to connect with."""
        chosen = config.choose(self._profile, os.environ)
        properties = chosen.properties | parse_properties(self._given)
        if self._root is not None:
            properties["root"] = self._root
        backend = self._backend or chosen.backend or "dir"
        if backend == "dir" and "root" not in properties:
            _refuse(NO_CATALOG)
        return backend, properties

    def _connect(self) -> Namespace:
        from lancespace import connect

        backend, properties = self.catalog()
        return connect(backend, properties)


def state_of(context: typer.Context) -> State:
    """The state of this run."""
    state: State = context.obj
    return state


def _refuse(message: str) -> NoReturn:
    raise typer.BadParameter(message)
