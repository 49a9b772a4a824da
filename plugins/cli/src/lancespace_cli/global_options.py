"""Options of every command may stand anywhere: ``lancespace ls --root lake`` is ``lancespace --root lake ls``."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

WITH_VALUE = frozenset({"--root", "--profile", "--backend", "--property", "-P"})
FLAGS = frozenset({"--json", "--quiet", "--no-color", "--yes"})
COMPLETED_LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Where the completion of a shell puts the line; bash, and the others."""


def hoist(arguments: Sequence[str]) -> list[str]:
    """The arguments with such options moved to the front; what follows ``--`` is left alone.

    An option whose value is missing stands alone, so that this is what is complained about.
    """
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument in FLAGS or ("=" in argument and argument.partition("=")[0] in WITH_VALUE):
            front.append(argument)
        elif argument in WITH_VALUE:
            value = next(waiting, None)
            if value is None:
                return [argument]
            front += [argument, value]
        else:
            rest.append(argument)
    return front + rest


def hoist_completed(environment: MutableMapping[str, str]) -> None:
    """The same for the line that a shell asks to complete; the word at its end is the one to complete."""
    for variable in COMPLETED_LINES:
        program, *words = environment.get(variable, "").split(" ")
        if len(words) > 1:
            environment[variable] = " ".join([program, *hoist(words[:-1]), words[-1]])
