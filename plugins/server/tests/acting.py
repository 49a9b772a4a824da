"""A catalog under a policy, in this process, and those who act on it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lancespace import Namespace, connect
from lancespace.authoring import Principal, Property, Settings
from lancespace.authoring import acting as acting_as


def policy(folder: Path, **grants: tuple[str, str]) -> str:
    """A policy file; each principal has actions and patterns, with spaces between."""
    text = '[[grant]]\nprincipals = ["root"]\nactions = ["read", "write", "admin"]\non = ["**"]\n'
    for who, (actions, patterns) in grants.items():
        text += f'[[grant]]\nprincipals = ["{who}"]\nactions = {actions.split()}\non = {patterns.split()}\n'
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def under(path: str, backend: str = "memory", **properties: str) -> Namespace:
    """A namespace that enforces a policy."""
    return connect(backend, {"wrappers": "authz", "authz.policy": path, **properties})


def acting(name: str) -> AbstractContextManager[None]:
    """Everything inside is done by the principal of this name."""
    return acting_as(Principal(name))


class Around:
    """A connection for a wrapper alone: settings, and hooks that the test answers."""

    def __init__(self, given: Mapping[str, str], hooks: object = None) -> None:
        declared = [Property(name, "") for name in {"authz.policy", "authz.api_keys", "authz.token_key", *given}]
        self.settings = Settings(declared, given, owner="test")
        self.hooks: Any = hooks
