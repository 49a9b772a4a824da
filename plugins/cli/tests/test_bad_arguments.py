"""Bad arguments and options for every command: an exit code, one line that says what is wrong, and no stack trace."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lancespace import connect
from lancespace_cli.main import main
from plugins.cli.tests.conftest import orders
from plugins.cli.tests.every import ALL

WORDS = ("", "absent", "t", "a\0b", "../ü💥", "{", "-1", "9" * 30, "x" * 300)
STRIDE = 11
"""`make test` takes every 11th case; as that does not divide the number of words, it gets to all of them."""


def cases(command: Any) -> Iterator[list[str]]:
    """What to put after a command: too much, unknown options, and bad words for arguments and options."""
    count = sum(parameter.param_type_name == "argument" for parameter in command.params)
    yield ["--no-such-option"]
    yield ["t"] * 20
    for word in WORDS:
        yield [word] * count
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.is_flag:
                yield [*["t"] * count, parameter.opts[0], word]


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog with the table ``t``, and nobody who would type anything."""
    monkeypatch.setenv("LANCESPACE_ROOT", str(tmp_path / "lake"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with connect("dir", {"root": str(tmp_path / "lake")}) as namespace:
        namespace.create_table("t", orders(0, 3))


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ALL)
def test_bad_arguments_end_in_one_line(name: str, stride: int, capsys: pytest.CaptureFixture[str]):
    for given in islice(cases(ALL[name]), list(ALL).index(name) % stride, None, stride):
        with pytest.raises(SystemExit) as end:
            main([*name.split(), *given])
        said = capsys.readouterr().err
        if end.value.code:
            errors = [line for line in said.splitlines() if line.startswith(("Error: ", "Usage: "))]
            assert len(errors) == 1, (given, said)
            assert said.endswith(f"{errors[0]}\n"), (given, said)
            assert "defect" not in said, (given, said)
            assert "Traceback" not in said, (given, said)
