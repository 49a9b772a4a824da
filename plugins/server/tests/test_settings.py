"""What the server refuses to start with, and its command line."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from lance_namespace import InvalidInputError

from lancespace import connect
from lancespace_server import ServerSettings, serve
from lancespace_server.__main__ import main, parser
from lancespace_server.settings import API_KEYS_VARIABLE

TLS = {"tls_certificate": "c", "tls_key": "k"}
TOKENS = ["--jwt-issuer", "i", "--jwt-audience", "a"]
JWT = {"jwt_jwks": "keys.json", "jwt_issuer": "i", "jwt_audience": "a"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_nobody_is_served_without_authentication_from_outside(host: str):
    with pytest.raises(InvalidInputError) as refused:
        ServerSettings(host=host).check()

    assert str(refused.value) == (
        f"Refusing to listen on {host!r} without authentication. Give api_keys, jwt_jwks or tls_client_ca; "
        "or listen on 127.0.0.1; or, if everybody may do everything, set no_authentication."
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"host": "::1"},
        {"host": "localhost"},
        {"host": "0.0.0.0", "no_authentication": True},
        {"host": "0.0.0.0", "api_keys": "file"},
        {"host": "0.0.0.0", **JWT},
        {"host": "0.0.0.0", **TLS, "tls_client_ca": "ca"},
    ],
)
def test_what_is_safe_is_allowed(settings: dict[str, object]):
    ServerSettings(**settings).check()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tls_certificate": "c"}, "both tls_certificate and tls_key"),
        ({"tls_client_ca": "ca"}, "tls_client_ca needs TLS"),
        ({"jwt_jwks": "keys.json"}, "jwt_jwks needs jwt_issuer and jwt_audience"),
        ({**JWT, "jwt_jwks": "http://issuer.example/keys"}, "an https URL"),
        ({**JWT, "jwt_algorithms": ("RS256", "HS256")}, "public-key algorithms only"),
        ({**JWT, "jwt_algorithms": ("none",)}, "public-key algorithms only"),
        ({**JWT, "jwt_algorithms": ("RS265",)}, "not RS265."),
        ({**JWT, "jwt_algorithms": ()}, "not none at all."),
        ({"policy": "p", "no_authentication": True}, "A policy needs to know who is calling"),
        ({"policy": "p"}, "A policy needs to know who is calling: give api_keys, jwt_jwks or tls_client_ca."),
        ({"api_keys": "k", "no_authentication": True}, "no_authentication contradicts"),
        ({"api_keys": ""}, "api_keys is empty: give a value, or leave it out."),
        ({**JWT, "jwt_jwks": ""}, "jwt_jwks is empty"),
        ({"workers": 0}, "workers must be at least 1, not 0."),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"max_connections": -1}, "max_connections must be at least 1"),
        ({"max_waiting": -1}, "max_waiting must be at least 0"),
        ({"max_per_principal": 0}, "max_per_principal must be at least 1"),
        ({"buffer_bytes": 0}, "buffer_bytes must be at least 1"),
        ({"port": 65536}, "port must be from 0 to 65535, not 65536."),
        ({"request_timeout": math.nan}, "request_timeout must be a number of seconds above 0, not nan."),
        ({"idle_timeout": math.inf}, "idle_timeout must be a number of seconds above 0"),
        ({"header_timeout": 0.0}, "header_timeout must be a number of seconds above 0"),
        ({"shutdown_timeout": -1.0}, "shutdown_timeout must be a number of seconds above 0"),
        ({"cors_origins": ("*",)}, "cors_origins names web pages by origin, such as https://app.example: '*' is none."),
        ({"cors_origins": ("https://app.example/",)}, "'https://app.example/' is none."),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, object], message: str):
    with pytest.raises(InvalidInputError) as refused:
        ServerSettings(**settings).check()  # type: ignore[arg-type]

    assert message in str(refused.value)


def test_a_connected_namespace_cannot_be_shared_or_wrapped():
    namespace = connect("memory")
    for settings in (ServerSettings(workers=2), ServerSettings(policy="p", api_keys="k")):
        with pytest.raises(InvalidInputError, match="pass the name of its backend"):
            serve(namespace, settings=settings)


def test_every_setting_is_an_option():
    given = vars(parser().parse_args(["dir", "root=/data", "--port", "1", "--cors-origins", "https://a,https://b"]))

    assert {setting.name for setting in fields(ServerSettings)} == set(given) - {"backend", "properties"}
    assert (given["port"], given["cors_origins"]) == (1, ("https://a", "https://b"))
    assert given["jwt_algorithms"] == ServerSettings().jwt_algorithms


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "nosuch"),
        (["dir"], "needs the property 'root'"),
        (["memory", "--host", "0.0.0.0"], "Refusing to listen on '0.0.0.0' without authentication"),
        (["memory", "--workers", "2"], "The memory backend has its catalog in one process: serve it with workers=1."),
        (["memory", "--api-keys", "/no/such/file"], "/no/such/file"),
        (["memory", "--api-keys", "/dev/null"], "The file /dev/null has no API key, so nobody could be let in"),
        (["memory", "--tls-certificate", "/no/such/file", "--tls-key", "/no"], "No such file"),
        (["memory", "--jwt-jwks", "/no/such/file", *TOKENS], "cannot be read from /no/such/file"),
        (["memory", "--jwt-jwks", "/dev/null", *TOKENS], "cannot be read from /dev/null"),
        (["memory", "--spool-directory", "/no/such/folder"], "spool_directory: '/no/such/folder' is no directory"),
        (["memory", "--workers", "0"], "workers must be at least 1"),
        (["memory", "--request-timeout", "nan"], "request_timeout must be a number of seconds above 0"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main([*arguments, "--port", "0"]) == 2
    assert_one_line(capsys, message)


def test_a_port_that_there_is_not(capsys: pytest.CaptureFixture[str]):
    assert main(["memory", "--port", "70000"]) == 2
    assert_one_line(capsys, "port must be from 0 to 65535, not 70000.")


def test_a_policy_that_cannot_be_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(API_KEYS_VARIABLE, "alice:1")

    assert main(["memory", "--policy", "/no/such/policy", "--port", "0"]) == 2
    assert_one_line(capsys, "The policy /no/such/policy cannot be read")


@pytest.mark.parametrize("keys", ["", ",", " , "])
def test_a_variable_without_a_key_is_no_server_for_everybody(
    keys: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(API_KEYS_VARIABLE, keys)

    assert main(["memory", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert_one_line(capsys, f"The variable {API_KEYS_VARIABLE} has no API key, so nobody could be let in: add one")


def test_a_file_whose_keys_were_all_taken_out_is_no_server_for_everybody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(API_KEYS_VARIABLE, "alice:1")  # Keys elsewhere do not make up for it.
    (tmp_path / "keys").write_text("# all revoked\n")

    assert main(["memory", "--api-keys", str(tmp_path / "keys"), "--port", "0"]) == 2
    assert_one_line(capsys, "keys has no API key, so nobody could be let in: add one, or leave out api_keys.")


def test_keys_that_are_no_text_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "keys").write_bytes(b"alice:\xff\n")

    assert main(["memory", "--api-keys", str(tmp_path / "keys"), "--port", "0"]) == 2
    assert_one_line(capsys, "The API keys cannot be read from")


def assert_one_line(capsys: pytest.CaptureFixture[str], message: str) -> None:
    written = capsys.readouterr().err
    assert message in written
    assert written.splitlines()[-1].startswith("lancespace_server: ")
    assert "Traceback" not in written


def test_keys_that_are_not_hashed_are_refused_without_being_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "keys").write_text("alice:plain-secret\n")

    assert main(["memory", "--api-keys", str(tmp_path / "keys"), "--port", "0"]) == 2
    written = capsys.readouterr().err
    assert "line 1: expected 'name:' and 64 hex digits" in written
    assert "plain-secret" not in written


def test_importing_the_package_is_cheap():
    script = (
        "import sys, lancespace_server; print(sorted({'uvicorn', 'starlette', 'jwt', 'pyarrow'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert printed == "[]\n"
