"""Profiles, variables, and secrets that nobody gets to see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from lancespace_cli import config
from lancespace_cli.redaction import Hidden, secrets_in
from plugins.cli.tests.terminals import Driver, Terminal

SECRET = "Hs7-very-secret-9QpX"
CONFIG = """
default = "lake"
[profiles.lake]
root = "{root}"
[profiles.cloud]
backend = "dir"
root = "s3://bucket/lake"
"storage.access_key_id" = "AKIA"
"storage.secret_access_key" = {{ env = "LAKE_SECRET" }}
"storage.region" = "us-east-1"
"storage.endpoint" = "http://127.0.0.1:9"
"storage.allow_http" = true
"storage.retry_timeout" = "1s"
"storage.client_max_retries" = 0
[profiles.wrong]
root = "{root}"
"storage.secret" = {{ env = "LAKE_SECRET" }}
commit_retries = {{ env = "LAKE_SECRET" }}
[profiles.broken]
root = ["a"]
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG.format(root=tmp_path / "lake"))
    return {config.CONFIG_VARIABLE: str(file), "LAKE_SECRET": SECRET}


def test_the_profile_is_named_by_option_variable_or_default(variables: dict[str, str], tmp_path: Path):
    root = {"root": str(tmp_path / "lake")}

    assert config.choose(None, variables).properties == root
    assert config.choose("cloud", variables).properties["storage.secret_access_key"] == SECRET
    assert config.choose(None, {**variables, "LANCESPACE_PROFILE": "cloud"}).backend == "dir"
    assert config.choose("cloud", variables).properties["storage.allow_http"] == "true"
    assert config.profile_names(variables) == ["broken", "cloud", "lake", "wrong"]


def test_variables_are_properties_on_top(variables: dict[str, str]):
    more = {"LANCESPACE_ROOT": "other", "LANCESPACE_STORAGE__REGION": "eu", "LANCESPACE_BACKEND": "rest"}
    chosen = config.choose("cloud", {**variables, **more})

    assert (chosen.backend, chosen.properties["root"], chosen.properties["storage.region"]) == ("rest", "other", "eu")


@pytest.mark.parametrize(
    ("profile", "missing", "message"),
    [
        ("none", "", "no profile 'none'.*known: broken, cloud, lake, wrong"),
        ("broken", "", "'root' of the profile 'broken' must be text"),
        ("cloud", "LAKE_SECRET", "comes from the variable LAKE_SECRET, which is not set"),
    ],
)
def test_mistakes_are_named(variables: dict[str, str], profile: str, missing: str, message: str):
    variables.pop(missing, None)

    with pytest.raises(typer.BadParameter, match=message):
        config.choose(profile, variables)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path):
    (tmp_path / "config.toml").write_text("[")

    with pytest.raises(typer.BadParameter, match=r"config\.toml cannot be read"):
        config.choose(None, {config.CONFIG_VARIABLE: str(tmp_path / "config.toml")})


def test_a_secret_from_the_keyring(variables: dict[str, str]):
    import keyring
    from keyring.backend import KeyringBackend

    class Ring(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return SECRET if (service, username) == ("lake", "key") else None

        def set_password(self, service: str, username: str, password: str) -> None: ...

        def delete_password(self, service: str, username: str) -> None: ...

    before = keyring.get_keyring()
    keyring.set_keyring(Ring())  # type: ignore[no-untyped-call]
    try:
        file = variables[config.CONFIG_VARIABLE]
        with Path(file).open("a") as more:
            more.write('[profiles.ring]\nroot = "x"\n"storage.key" = { keyring = "lake/key" }\n')
            more.write('[profiles.empty]\nroot = "x"\n"storage.key" = { keyring = "lake/other" }\n')
        chosen = config.choose("ring", variables)
        assert (chosen.properties["storage.key"], chosen.secrets) == (SECRET, frozenset({SECRET}))
        with pytest.raises(typer.BadParameter, match="keyring set lake other"):
            config.choose("empty", variables)
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("profile", ["cloud", "wrong"])
def test_a_secret_is_never_shown(driver: Driver, variables: dict[str, str], tmp_path: Path, profile: str):
    """Neither in messages, nor as JSON, nor in a traceback, nor by doctor."""
    terminal = Terminal(driver, tmp_path, LANCESPACE_TRACEBACK="1")
    failed = terminal.pipe("ls", "--profile", profile, "--json", variables=variables)
    doctor = terminal.pipe("doctor", "--profile", profile, variables=variables)

    assert failed.returncode >= 10
    *trace, last = failed.stderr.decode().strip().splitlines()
    assert any("Traceback" in line for line in trace)
    assert json.loads(last)["exit_code"] == failed.returncode
    assert doctor.returncode == 1
    for text in (failed.stdout, failed.stderr, doctor.stdout, doctor.stderr):
        assert SECRET.encode() not in text
    assert repr(config.choose(profile, variables)).count(SECRET) == 0


def test_a_property_that_refers_to_a_secret(driver: Driver, tmp_path: Path):
    """From a file or a variable, wherever the property is given; and what it says is not shown."""
    (tmp_path / "place").write_text(f"{tmp_path / SECRET / 'lake'}\n")
    terminal = Terminal(driver, tmp_path)
    made = terminal.pipe("create", "sales", "-P", f"root=@file:{tmp_path / 'place'}", variables={})
    listed = terminal.pipe("ls", variables={"LANCESPACE_ROOT": "@env:PLACE", "PLACE": str(tmp_path / SECRET / "lake")})
    absent = terminal.pipe("ls", "--property", "root=@env:ABSENT", variables={})

    assert made.returncode == 0, made.stderr
    assert b"sales" in listed.stdout
    assert absent.returncode != 0
    assert b"'root' comes from the environment variable 'ABSENT', which is not set" in absent.stderr


def test_what_is_hidden():
    hidden = Hidden()
    hidden.add(["secret", "secret-longer", "abc"])

    assert hidden.clean("a secret-longer, a secret and abc") == "a ***, a *** and abc"
    assert secrets_in({"root": "x", "storage.secret_access_key": "s", "header.x-api-key": "k"}) == ["s", "k"]
