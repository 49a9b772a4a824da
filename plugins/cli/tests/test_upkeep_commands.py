"""migrate, doctor, fsck, serve and what other packages add, in a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pexpect
import pyarrow as pa
import pytest

from lancespace_testing.waiting import until
from plugins.cli.tests.terminals import spawn

if TYPE_CHECKING:
    from lancespace import Namespace
    from plugins.cli.tests.terminals import Terminal


def test_migrate(terminal: Terminal, folder: Path):
    lance.write_dataset(pa.table({"id": [1]}), folder / "old" / "v1.lance")

    assert terminal.run("migrate", "--root", "old", "--dry-run").lines == [
        "v1",
        "Would enter 1 table in the manifest.",
    ]
    assert terminal.run("migrate", "--root", "old").lines[-1] == "migrate: 1 table"
    assert json.loads(terminal.run("migrate", "--root", "old", "--json", "--quiet").text)["rows"] == 0
    assert terminal.run("ls", "--root", "old", "-P", "dir_listing_enabled=false").lines == ["v1"]
    assert terminal.run("migrate", "--backend", "memory").code in {10, 23}


def test_doctor(terminal: Terminal, folder: Path):
    answer = terminal.run("doctor", "--write", "--json")
    verdicts = {one["check"]: one["verdict"] for one in json.loads(answer.text)}

    assert answer.code == 0
    wanted = ("lancespace-cli", "pylance", "backend dir", "engine local", "connect", "read", "manifest", "write")
    assert {check: verdicts[check] for check in wanted} == dict.fromkeys(wanted, "ok")
    assert not list((folder / "lake").glob(".lancespace-doctor*"))
    assert "not tried" in terminal.run("doctor").text
    wrong = terminal.run("doctor", "-P", "manifest_enabled=perhaps")
    assert wrong.code == 1
    assert re.search(r"connect +failed +InvalidInputError.*manifest_enabled", wrong.text)


def age(folder: Path) -> None:
    """Let everything in a folder be months old."""
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 10**7,) * 2)


def test_fsck_shows_and_repairs(terminal: Terminal, ns: Namespace, folder: Path):
    assert terminal.run("fsck").lines == ["Nothing is wrong."]
    ns.create_table("sales.lost", [{"id": 1}])
    shutil.rmtree(str(ns.describe_table("sales.lost").location))
    half = folder / "lake" / "0123abcd_half"
    half.mkdir()
    (half / "rest").write_bytes(b"")
    age(half)
    age(folder / "lake" / "__manifest")

    shown = terminal.run("fsck")
    assert (shown.code, half.exists(), ns.table("sales.lost").exists()) == (1, True, True)
    assert {"missing location", "orphan directory"} <= {line[:16].strip() for line in shown.lines}
    assert (shown.lines[-1].split()[0], "…" in shown.text) == ("2", False)
    assert terminal.run("fsck", "--repair", answer="n").code == 1
    assert half.exists()
    repaired = terminal.run("fsck", "--repair", answer="y")
    assert (repaired.code, repaired.lines[-1]) == (0, "Mended 2 of 2 findings.")
    assert (half.exists(), ns.table("sales.lost").exists()) == (False, False)
    assert json.loads(terminal.run("fsck", "--json").text) == []
    assert ns.table("sales.orders").count() == 20


def test_fsck_leaves_a_table_without_a_version_to_a_person(terminal: Terminal, ns: Namespace):
    ns.create_table("sales.hurt", [{"id": 1}])
    versions = Path(str(ns.describe_table("sales.hurt").location)) / "_versions"
    shutil.rmtree(versions)
    age(versions.parent)

    (finding,) = json.loads(terminal.run("fsck", "--repair", "--json").text)
    assert (finding["finding"], finding["what"]) == ("table without a version", "sales.hurt")
    assert finding["repair"] == "left as it is"
    assert (versions.parent / "data").exists()
    assert terminal.run("drop", "sales.hurt", "--yes").code == 0
    assert terminal.run("fsck").lines == ["Nothing is wrong."]


def test_a_manifest_that_cannot_be_read_is_told(terminal: Terminal, folder: Path):
    terminal.run("create", "sales", "--root", "hurt")
    shutil.rmtree(folder / "hurt" / "__manifest" / "data")

    checked = terminal.run("fsck", "--root", "hurt")
    assert (checked.code, checked.text.startswith("Error: read the catalog's manifest: ")) == (29, True)
    looked = terminal.run("doctor", "--root", "hurt")
    assert (looked.code, looked.lines[-1]) == (1, "Failed: read, manifest.")
    assert "…" not in looked.text, "a reason is cut"


def test_the_help_of_serve_calls_it_by_the_name_it_was_called_by(terminal: Terminal):
    helped = terminal.run("serve", "--help")

    assert helped.code == 0
    assert helped.lines[0].startswith("usage: lancespace serve ")
    assert "python -m" not in helped.text


@pytest.mark.usefixtures("ns")
def test_serve_is_added_by_the_server(folder: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shell = spawn("serve", "dir", f"root={folder / 'lake'}", "--port", str(port), folder=folder)
    shell.expect("startup complete")

    answer = until(lambda: ask(f"http://127.0.0.1:{port}/v1/namespace/sales/table/list"), bool)
    assert json.loads(answer)["tables"] == ["orders"]
    shell.sendintr()
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus in {0, 130}


def test_pipeline_is_added_by_spark(terminal: Terminal, ns: Namespace, folder: Path):
    """A step that needs no Spark, so that none is started; tests of the plugin run whole pipelines."""
    steps = '[[step]]\nname = "tidy"\nkind = "compact"\ntable = "sales.orders"\n'
    (folder / "tidy.toml").write_text(f'name = "tidy"\n[catalog]\nroot = "lake"\nengine = "local"\n{steps}')

    plan = terminal.run("pipeline", "plan", "tidy.toml").lines
    assert plan[1].split() == ["tidy", "compact", "sales.orders", "sales.orders", "first", "run"]
    ran = terminal.run("pipeline", "run", "tidy.toml")
    assert (ran.code, "━" in ran.raw) == (0, True)
    assert len(ns.table("sales.orders").dataset().get_fragments()) == 1


def test_new_backend(terminal: Terminal, folder: Path):
    assert terminal.run("new-backend", "shelf").lines == [
        'Wrote lance-catalog-shelf. Next: cd lance-catalog-shelf && pip install --editable ".[testing]" && pytest'
    ]
    assert (folder / "lance-catalog-shelf" / "pyproject.toml").exists()
    assert terminal.run("new-backend", "shelf").code == 23


def ask(url: str) -> bytes:
    """What a server answers; nothing while it does not listen yet."""
    try:
        with urllib.request.urlopen(url) as answer:
            return bytes(answer.read())
    except urllib.error.URLError:
        return b""


def test_commands_of_other_packages_are_listed_and_missing_ones_have_a_pip_line(terminal: Terminal):
    assert "Added by lancespace-server" in terminal.run("--help").text
    hidden = spawn("serve", folder=terminal.folder, LANCESPACE_PLUGINS="lancespace-dir")
    hidden.expect(re.escape('pip install "lancespace[server]"'))
    hidden.wait()
    assert hidden.exitstatus == 10
