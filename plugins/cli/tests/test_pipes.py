"""What is plain in a pipe is drawn in a terminal; help costs nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lancespace_cli.global_options import hoist
from plugins.cli.tests.terminals import ANSI, environment, piped, spawn

if TYPE_CHECKING:
    from pathlib import Path

    from lancespace import Namespace
    from plugins.cli.tests.terminals import Terminal

HEAVY = {"lance", "lance_namespace", "pyarrow", "fsspec", "rich", "lancespace_dir", "lancespace_server"}


def test_results_are_plain_in_a_pipe_and_drawn_in_a_terminal(folder: Path, terminal: Terminal):
    out = piped("tree", "--root", str(folder / "lake"), folder=folder)
    assert out.stdout.decode() == "sales.\nsales.orders\ndocs\n"
    assert terminal.pipe("tree").stdout == out.stdout, "a process of its own and the one of the tests differ"
    rows = terminal.pipe("head", "sales.orders", "-n", "2")
    assert rows.stdout.decode() == "id\titem\tprice\n0\tlamp\t0.0\n1\tdesk\t1.5\n"
    assert rows.stderr == b""
    drawn = terminal.run("head", "sales.orders", "-n", "2")
    assert ANSI.search(drawn.raw)
    assert not re.search(r"\x1b\[[\d;]*3[1-7]m", terminal.run("doctor", "--no-color").raw)


def test_bars_show_in_a_terminal_only(folder: Path, terminal: Terminal):
    (folder / "one.csv").write_text("id,item,price\n1,lamp,2.5\n")

    assert "━" in terminal.run("import", "sales.bar", "one.csv").raw
    assert re.search(r"━.* [\d,]+ rows/s .*\d:\d\d:\d\d.*\d:\d\d:\d\d", terminal.run("export", "docs", "docs.csv").raw)
    assert "━" not in terminal.run("insert", "sales.bar", "one.csv", "--quiet").raw
    out = terminal.pipe("insert", "sales.bar", "one.csv")
    assert (out.stdout, out.stderr) == (b"", b"import into sales.bar: 1 row\n")


def test_nobody_is_asked_without_a_terminal(terminal: Terminal, ns: Namespace):
    out = terminal.pipe("drop", "docs", "--json")

    assert (out.returncode, out.stdout) == (2, b"")
    assert "add --yes" in json.loads(out.stderr)["error"]
    assert ns.table("docs").exists()


@pytest.mark.usefixtures("ns")
def test_a_reader_that_has_enough_is_no_error(folder: Path):
    command = [sys.executable, "-m", "lancespace_cli", "op", "list", "--root", str(folder / "lake")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize("arguments", [["--help"], [], ["import", "--help"], ["job", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]):
    script = (
        "import json, sys\nfrom lancespace_cli.main import main\n"
        f"try:\n    main({arguments!r})\nfinally:\n    print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment())

    assert HEAVY & set(json.loads(done.stdout.splitlines()[-1])) == set()


def test_without_a_catalog_it_says_how_to_name_one(folder: Path):
    shell = spawn("ls", folder=folder)
    shell.expect("give --root DIR_OR_URL or --profile NAME")
    shell.wait()
    assert shell.exitstatus == 2


def test_options_of_all_commands_may_stand_anywhere():
    assert hoist(["ls", "--root", "lake", "sales", "--json"]) == ["--root", "lake", "--json", "ls", "sales"]
    assert hoist(["op", "x", "--", "--json"]) == ["op", "x", "--", "--json"]
    assert hoist(["ls", "--root=lake", "--profile"]) == ["--profile"]
