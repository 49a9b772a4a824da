"""The command line of the server: no message shows a secret, and none has to be an argument."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lance_namespace import InvalidInputError

from lancespace.authoring import dereference
from lancespace_server.__main__ import main
from plugins.server.tests.hosting import client, served

_SECRET = "Hs7-very-secret"
_PAIR = f"storage.secret_access_key={_SECRET}"
_WRONG = [
    ["dir", "root=/nowhere", "--port", "0", "--workers", "0", _PAIR],
    ["dir", "root=/nowhere", f"--{_PAIR}"],
    ["dir", "root=/nowhere", "--storage.secret_access_key", _SECRET],
    ["dir", "root=/nowhere", _SECRET],
    [_PAIR],
    [_PAIR, "dir", "root=/nowhere"],
    ["--port", "0", _PAIR, "dir"],
    ["dir", "root=/nowhere", "--port", _PAIR],
    ["dir", "root=/nowhere", f"--workers={_PAIR}"],
    ["dir", f"--access-log={_PAIR}"],
    [f"--no-authentication={_PAIR}", "dir"],
    ["dir", "root=/nowhere", "--max-worker-bytes", _SECRET],
    *(["dir", "root=/nowhere", option, _PAIR] for option in ("--api-keys", "--host", "--cors-origins")),
    ["dir", "root=/nowhere", "--spool-directory", _PAIR],
    [f"s3://key:{_SECRET}@bucket"],
]


@pytest.mark.parametrize("arguments", _WRONG)
def test_usage_errors_do_not_show_secrets(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2

    written = capsys.readouterr()
    assert written.err.startswith("lancespace_server: ")
    assert _SECRET not in written.err + written.out


@pytest.mark.parametrize("arguments", [[_PAIR], ["ls", f"--{_PAIR}"], ["ls", "--root", "x", "a", "b", _PAIR]])
def test_usage_errors_of_the_command_do_not_show_secrets(arguments: list[str]):
    command = [sys.executable, "-m", "lancespace_cli", *arguments]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)

    assert ended.returncode == 2
    assert ended.stderr
    assert _SECRET.encode() not in ended.stderr + ended.stdout


def test_help_is_in_groups_and_denies_nothing_twice(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])

    shown = capsys.readouterr().out
    assert "--no-no-" not in shown
    assert [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")] == [
        "positional arguments:",
        "options:",
        "where to serve:",
        "who may call, and do what:",
        "web pages and logs:",
        "limits:",
        "limits of time:",
    ]


def test_secrets_come_from_files_and_variables(tmp_path: Path):
    """The server uses them, and its arguments, which others can see, do not have them."""
    (tmp_path / "root").write_text(f"{tmp_path / 'catalog'}\n")
    (tmp_path / "policy.toml").write_text('[[grant]]\nprincipals = ["*"]\nactions = ["read", "admin"]\non = ["**"]\n')
    arguments = [f"root=@file:{tmp_path / 'root'}", "wrappers=authz", "authz.token_key=@env:SEAL"]
    arguments.append(f"authz.policy={tmp_path / 'policy.toml'}")
    with served(tmp_path, "dir", *arguments, environment={"SEAL": _SECRET}) as server:
        with client(server) as http:
            assert http.post("/v1/namespace/sales/create", json={}).status_code == 200
        shown = subprocess.run(
            ["ps", "-ww", "-o", "args=", "-p", str(server.process.pid)], capture_output=True, check=True
        )
        assert b"@env:SEAL" in shown.stdout
        assert _SECRET.encode() not in shown.stdout
        assert str(tmp_path / "catalog") in server.lines()
    assert (tmp_path / "catalog").is_dir()


def test_a_reference_that_leads_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINE", "@file:as it is")
    monkeypatch.delenv("ABSENT", raising=False)

    assert dereference({"a": "@env:MINE", "b": "@other", "c": "x:y"}) == {
        "a": "@file:as it is",
        "b": "@other",
        "c": "x:y",
    }
    with pytest.raises(InvalidInputError, match=r"'storage\.key' comes from the environment variable 'ABSENT'"):
        dereference({"storage.key": "@env:ABSENT"})
    with pytest.raises(InvalidInputError, match=r"'storage\.key' comes from the file .*absent'"):
        dereference({"storage.key": f"@file:{tmp_path / 'absent'}"})
