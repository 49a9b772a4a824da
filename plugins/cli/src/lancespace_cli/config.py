"""Profiles: named catalogs of a config file, and the variables that stand in for options.

The file is ``config.toml`` in the user's configuration directory (``lancespace doctor`` shows where), or the one that
``LANCESPACE_CONFIG`` names::

    default = "lake"

    [profiles.lake]
    backend = "dir"
    root = "s3://company/lake"
    "storage.region" = "eu-central-1"
    "storage.secret_access_key" = { env = "LAKE_SECRET" }
    "storage.access_key_id" = { keyring = "lake/access-key" }

A secret is best a reference, to the environment or to the keyring of the system: it is looked up when it is needed
and never printed. ``LANCESPACE_ROOT`` and ``LANCESPACE_URI`` are properties too, and so is every variable with a
``__``, which stands for a dot: ``LANCESPACE_STORAGE__REGION``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PREFIX = "LANCESPACE_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
PROFILE_VARIABLE = f"{PREFIX}PROFILE"
BACKEND_VARIABLE = f"{PREFIX}BACKEND"
PLAIN_PROPERTIES = ("root", "uri")


@dataclass(frozen=True)
class Profile:
    """A catalog to connect to."""

    backend: str | None = None
    properties: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Values that were given by reference."""


def choose(name: str | None, environment: Mapping[str, str]) -> Profile:
    """The profile of that name, of ``LANCESPACE_PROFILE`` or the file's default; variables are properties on top."""
    contents = _read(config_path(environment))
    wanted = name or environment.get(PROFILE_VARIABLE) or contents.get("default")
    profile = _profile(wanted, contents, environment) if wanted else Profile()
    backend = environment.get(BACKEND_VARIABLE) or profile.backend
    return Profile(backend, profile.properties | _from_environment(environment), profile.secrets)


def config_path(environment: Mapping[str, str]) -> Path:
    """Where the config file is, whether it exists or not."""
    from platformdirs import user_config_path

    named = environment.get(CONFIG_VARIABLE)
    return Path(named) if named else user_config_path("lancespace") / "config.toml"


def profile_names(environment: Mapping[str, str]) -> list[str]:
    """The profiles there are."""
    return sorted(_read(config_path(environment)).get("profiles", {}))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"the config file {path} cannot be read: {error}") from error


def _profile(name: str, contents: Mapping[str, Any], environment: Mapping[str, str]) -> Profile:
    profiles = contents.get("profiles", {})
    if name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise typer.BadParameter(f"there is no profile {name!r} in {config_path(environment)} (known: {known})")
    values = dict(profiles[name])
    backend = values.pop("backend", None)
    properties = {key: _value(name, key, given, environment) for key, given in values.items()}
    return Profile(
        backend, properties, frozenset(properties[key] for key, given in values.items() if given != properties[key])
    )


def _value(profile: str, key: str, given: object, environment: Mapping[str, str]) -> str:
    match given:
        case {"env": str(variable)}:
            return _from_variable(profile, key, variable, environment)
        case {"keyring": str(entry)}:
            return _from_keyring(profile, key, entry)
        case bool():
            return str(given).lower()
        case str() | int() | float():
            return str(given)
    raise typer.BadParameter(
        f"{key!r} of the profile {profile!r} must be text, a number, a boolean, "
        '{ env = "VARIABLE" } or { keyring = "service/name" }'
    )


def _from_variable(profile: str, key: str, variable: str, environment: Mapping[str, str]) -> str:
    if variable not in environment:
        raise typer.BadParameter(
            f"{key!r} of the profile {profile!r} comes from the variable {variable}, which is not set"
        )
    return environment[variable]


def _from_keyring(profile: str, key: str, entry: str) -> str:
    try:
        import keyring
    except ModuleNotFoundError as error:
        raise typer.BadParameter(
            f'{key!r} of the profile {profile!r} is in the keyring: pip install "lancespace-cli[keyring]"'
        ) from error
    service, _, name = entry.rpartition("/")
    secret = keyring.get_password(service or "lancespace", name)
    if secret is None:
        raise typer.BadParameter(
            f"{key!r} of the profile {profile!r}: the keyring has no entry {entry!r}; "
            f"add it with: keyring set {service or 'lancespace'} {name}"
        )
    return secret


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    names = (name for name in environment if name.startswith(PREFIX))
    found = {name[len(PREFIX) :].lower().replace("__", "."): environment[name] for name in names}
    return {key: value for key, value in found.items() if key in PLAIN_PROPERTIES or "." in key}
