"""What docs/authors/policy.md promises about changes of hooks, on the managers that connections use."""

from __future__ import annotations

import pytest
from lance_namespace import InternalError

from lancespace._hookspecs import hookspec
from lancespace._manager import new_manager, register
from lancespace.authoring import hookimpl

GOING = DeprecationWarning("use the argument 'names'")


class Hooks:
    """A hook that gained an argument and is about to lose another, and a hook that goes away."""

    @staticmethod
    @hookspec(firstresult=True, warn_on_impl_args={"identifier": GOING})
    def find(names: list[str], identifier: str, limit: int) -> str:  # type: ignore[empty-body]
        """Find something."""

    @staticmethod
    @hookspec(firstresult=True, warn_on_impl=DeprecationWarning("use 'find'"))
    def look_up(names: list[str]) -> str:  # type: ignore[empty-body]
        """Find something, as it used to be called."""


class UpToDate:
    @hookimpl
    def find(self, names: list[str]) -> str:
        return ".".join(names)


class WithOldArgument:
    @hookimpl
    def find(self, identifier: str) -> str:
        return identifier


class WithOldHook:
    @hookimpl
    def look_up(self, names: list[str]) -> str:
        return ".".join(names)


class WithUnknownArgument:
    @hookimpl
    def find(self, name: str) -> str:
        return name


def test_an_implementation_that_lacks_a_new_argument_goes_on_working():
    manager = new_manager(Hooks)
    register(manager, UpToDate(), "theirs")

    assert manager.hook.find(names=["a", "b"], identifier="a.b", limit=1) == "a.b"


@pytest.mark.parametrize(
    ("plugin", "message"), [(WithOldArgument(), "use the argument 'names'"), (WithOldHook(), "use 'find'")]
)
def test_what_goes_away_warns_when_it_is_registered_and_works(plugin: object, message: str):
    manager = new_manager(Hooks)
    with pytest.warns(DeprecationWarning, match=message):
        register(manager, plugin, "theirs")

    answers = (manager.hook.find(names=["a"], identifier="a", limit=1), manager.hook.look_up(names=["a"]))
    assert "a" in answers


def test_what_is_gone_is_refused_by_name():
    with pytest.raises(InternalError, match=r"'theirs' cannot be registered.*(?s:.*)\{'name'\}"):
        register(new_manager(Hooks), WithUnknownArgument(), "theirs")
