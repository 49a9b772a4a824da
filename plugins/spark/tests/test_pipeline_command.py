"""The command: what it says, and the code that it ends with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lancespace_cli.main import main
from lancespace_spark import commands
from plugins.spark.tests.pipelines import INGEST, Folder

COMPACT = '[[step]]\nname = "tidy"\nkind = "compact"\ntable = "raw.nope"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANCESPACE_ROOT", raising=False)
    folder = Folder(tmp_path)
    folder.write("mon", "1,lamp")
    return folder


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", *arguments])
    return ended.value.code, capsys.readouterr().err


def test_a_missing_table_is_named_although_no_catalog_is(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.pipeline(INGEST + COMPACT)
    code, message = told(capsys, "run", "orders.toml")
    assert code == 14
    assert message.startswith("Error: orders: step tidy: ")
    assert "raw.nope" in message


def test_options_that_name_another_catalog_are_refused(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.pipeline()
    code, message = told(capsys, "plan", "orders.toml", "--root", "other")
    assert code == 2
    assert "--root does not apply to pipelines" in message


@pytest.mark.parametrize("text", ["step = 5", "[step]\nname = 5", "[[step]]\nkind = 5"])
def test_a_mistake_is_no_defect(folder: Folder, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (folder.path / "p.toml").write_text(f'{text}\n[catalog]\nroot = "lake"\n')
    code, message = told(capsys, "run", "p.toml")
    assert code == 23
    assert message.startswith("Error: p.toml: ")
    assert message.count("\n") == 1


def test_an_interrupt_says_where_to_go_on(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lancespace_cli.output import Output
    from lancespace_spark.pipeline import steps

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commands._run(Output(), folder.pipeline())
    assert capsys.readouterr().err == "Interrupted in step ingest: run the pipeline again to go on with it.\n"


def test_a_job_that_fails_is_told_in_one_line(folder: Folder) -> None:
    """In a process of its own, since pytest catches what is logged."""
    folder.pipeline()
    (folder.path / "raw" / "bad.csv").write_text('id,item\n1\n"2,3,4\n')
    command = [sys.executable, "-m", "lancespace_cli", "pipeline", "run", "orders.toml"]
    ended = subprocess.run(command, cwd=folder.path, capture_output=True, text=True, check=False)
    assert ended.returncode == 23
    assert ended.stderr.startswith("Error: orders: step ingest: import ")
    assert ended.stderr.count("\n") == 1
