from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from lance_namespace import InternalError, InvalidInputError, UnsupportedOperationError

from lancespace import connect
from lancespace.authoring import Backend, registry

if TYPE_CHECKING:
    from core.tests.conftest import Installer


class Tiny(Backend):
    pass


@pytest.fixture
def only_core(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(registry.SELECT_VARIABLE, "")


@pytest.mark.usefixtures("only_core")
def test_built_ins_come_through_entry_points():
    found = {group.name: set(registry.installed(group)) for group in registry.GROUPS}

    assert found == {
        "lancespace.backends": {"memory"},
        "lancespace.storage": {"file"},
        "lancespace.engines": {"local"},
        "lancespace.wrappers": {"audit", "metrics", "readonly", "views"},
        "lancespace.extensions": {"dataset"},
        "lancespace.auth": set(),
        "lancespace.commands": {"compact", "import", "insert", "job", "jobs"},
    }
    assert {plugin.distribution for group in registry.GROUPS for plugin in registry.installed(group).values()} == (
        registry.BUILT_IN
    )


def test_installed_is_a_read_only_view():
    with pytest.raises(TypeError):
        registry.installed(registry.BACKENDS)["x"] = None  # type: ignore[index]


def test_listing_imports_nothing(install: Installer):
    install.distribution(
        "explosive", {"lancespace.backends": {"bomb": "explosive_backend:Bomb"}}, explosive_backend="raise SystemExit"
    )

    assert registry.installed(registry.BACKENDS)["bomb"].value == "explosive_backend:Bomb"
    assert "explosive_backend" not in sys.modules


def test_plugin_is_found_by_name_and_loaded_on_use(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)

    assert registry.find(registry.BACKENDS, "tiny").load() is Tiny
    assert repr(connect("tiny")) == "<lancespace tiny()>"


def test_duplicate_is_refused_naming_both_and_breaks_nothing_else(install: Installer):
    first = install(registry.BACKENDS, "tiny", Tiny, distribution="vendor-a")
    second = install(registry.BACKENDS, "tiny", Tiny, distribution="vendor-b")

    with pytest.raises(InvalidInputError) as caught:
        connect("tiny")

    assert "The backend 'tiny' is claimed by" in str(caught.value)
    assert f"'vendor-a' ({first})" in str(caught.value)
    assert f"'vendor-b' ({second})" in str(caught.value)
    assert "uninstall one, or choose with LANCESPACE_PLUGINS" in str(caught.value)
    assert connect("memory").capabilities()


def test_duplicate_is_settled_by_the_environment(install: Installer, monkeypatch: pytest.MonkeyPatch):
    install(registry.BACKENDS, "tiny", Tiny, distribution="vendor-a")
    install(registry.BACKENDS, "tiny", object, distribution="vendor-b")
    monkeypatch.setenv(registry.SELECT_VARIABLE, "other, Vendor_A")

    assert registry.find(registry.BACKENDS, "tiny").load() is Tiny


def test_environment_hides_other_distributions_but_never_the_built_ins(
    install: Installer, monkeypatch: pytest.MonkeyPatch
):
    install(registry.BACKENDS, "tiny", Tiny)
    monkeypatch.setenv(registry.SELECT_VARIABLE, "somebody-else")

    with pytest.raises(InvalidInputError) as caught:
        connect("tiny")

    assert str(caught.value) == (
        "There is no backend 'tiny'. Installed: memory. (LANCESPACE_PLUGINS='somebody-else' hides other distributions.)"
    )


def test_unknown_name_is_answered_with_the_installed_ones(install: Installer):
    install(registry.BACKENDS, "tiny", Tiny)

    with pytest.raises(InvalidInputError, match=r"^There is no backend 'tinny'\. Installed: .*\bmemory, .*\btiny\b"):
        connect("tinny")


@pytest.mark.usefixtures("only_core")
@pytest.mark.parametrize(
    ("group", "name", "message"),
    [
        (registry.BACKENDS, "dir", "'dir' needs the dir backend: pip install lancespace"),
        (registry.BACKENDS, "rest", "'rest' needs the rest backend: pip install \"lancespace[rest]\""),
        (registry.ENGINES, "spark", "'spark' needs the spark engine: pip install \"lancespace[spark]\""),
        (registry.STORAGE, "gs", "'gs' needs the dir-gcp backend: pip install \"lancespace[dir-gcp]\""),
    ],
    ids=["dir", "rest", "spark", "gs"],
)
def test_a_plugin_of_ours_that_is_not_installed_is_answered_with_its_pip_line(
    group: registry.Group, name: str, message: str
):
    with pytest.raises(UnsupportedOperationError) as caught:
        registry.find(group, name)

    assert str(caught.value) == message


def test_every_known_extra_has_a_pip_line():
    extras = {extra for group in registry.GROUPS for extra in group.extras.values()}

    assert {registry.install_hint(extra) for extra in extras - {""}} == {
        f'pip install "lancespace[{extra}]"' for extra in extras - {""}
    }
    assert registry.install_hint("") == "pip install lancespace"


@pytest.mark.parametrize(
    ("source", "reason", "cause"),
    [
        ("import a_module_nobody_has", "No module named 'a_module_nobody_has'", ModuleNotFoundError),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence", RuntimeError),
        ("", "module 'broken_backend' has no attribute 'Broken'", AttributeError),
    ],
    ids=["import", "raises", "attribute"],
)
def test_broken_plugin_is_reported_with_its_cause_and_breaks_nothing_else(
    install: Installer, source: str, reason: str, cause: type[Exception], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delitem(sys.modules, "broken_backend", raising=False)
    entry = {"lancespace.backends": {"broken": "broken_backend:Broken"}}
    install.distribution("broken-plugin", entry, broken_backend=source)

    with pytest.raises(InternalError) as caught:
        connect("broken")

    assert "The backend 'broken' of the distribution 'broken-plugin' failed to import" in str(caught.value)
    assert reason in str(caught.value)
    assert isinstance(caught.value.__cause__, cause)
    assert connect("memory").capabilities()


def test_refresh_sees_what_was_installed_meanwhile(install: Installer):
    assert "late" not in registry.installed(registry.WRAPPERS)

    install(registry.WRAPPERS, "late", Tiny)

    assert "late" in registry.installed(registry.WRAPPERS)


def test_connecting_to_one_backend_imports_no_other(install: Installer):
    install.distribution(
        "explosive", {"lancespace.backends": {"bomb": "explosive_backend:Bomb"}}, explosive_backend="raise SystemExit"
    )
    script = "import sys, lancespace; lancespace.connect('memory'); print('explosive_backend' in sys.modules)"
    environment = {"PYTHONPATH": str(install.folder), "PATH": ""}

    answer = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)

    assert answer.stdout == "False\n"
