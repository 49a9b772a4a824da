"""What a backend author fills in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import lance
import pytest
from lance_namespace import LanceNamespace

from lancespace.authoring import OPERATIONS, Connection
from lancespace_testing import debts
from lancespace_testing.client import Client, closing_if_possible
from lancespace_testing.requirements import Feature, Requirement, requirement
from lancespace_testing.samples import sample

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lancespace.authoring import Storage


_RACES = "lancespace_testing.groups.races"
"""The tests that a wrong backend may pass by luck: a debt of theirs is not said to be paid."""


class BackendFixtures:
    """The backend under test: implement :meth:`connect`, and whatever else differs from the defaults.

    Every test gets a namespace of its own, in a directory of its own.
    """

    debts: ClassVar[Mapping[str, str]] = {}
    """Tests that the backend does not pass, by id, each with the reason; ``*`` stands for anything.

    They are strict xfails, but for races.
    """

    features: ClassVar[frozenset[Feature]] = frozenset(Feature)
    """What the backend has beside operations; take away what it lacks, and the tests of that are skipped."""

    def connect(self, workdir: Path) -> LanceNamespace:
        """A fresh, empty namespace; ``workdir`` is an empty directory, the only one that it may write to."""
        raise NotImplementedError(f"{type(self).__name__} must implement connect(workdir)")

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> LanceNamespace | None:  # noqa: ARG002 - for overriding
        """A second client on the catalog of the first; None if the backend cannot have one."""
        return None

    def connect_with_secret(self, workdir: Path, secret: str) -> LanceNamespace | None:  # noqa: ARG002 - for overriding
        """A namespace that got the secret in a property, such as a key or a token; None if the backend takes none."""
        return None

    def capabilities(self, namespace: LanceNamespace) -> Collection[str]:
        """The operations that the backend claims: what it says itself, or else what its class implements."""
        own = getattr(namespace, "capabilities", None)
        if own is not None:
            claimed: Collection[str] = own()
            return claimed
        return {name for name in OPERATIONS if getattr(type(namespace), name) is not getattr(LanceNamespace, name)}

    def call(self, namespace: LanceNamespace, operation: str, request: BaseModel, data: bytes | None = None) -> Any:
        """Send one request; for a backend whose methods do not quite have the spec's signatures."""
        method = getattr(namespace, operation)
        return method(request) if data is None else method(request, data)

    def place_table(self, workdir: Path, name: str) -> str | None:
        """Write a Lance table that the catalog does not know, and return its location as ``register_table`` takes it.

        None if the suite cannot write where the backend reads.
        """
        location = workdir / "placed" / name
        lance.write_dataset(sample(), str(location))
        return str(location)

    def storage(self, location: str) -> Storage:
        """How the suite itself gets at the table at a location that the backend answered: as a local directory."""
        return Connection("memory", {}).storage(location)

    def snapshot(self, workdir: Path) -> Mapping[str, object] | None:
        """All that the backend stored, in a comparable form: the files in ``workdir``; None if it cannot be seen."""
        return {str(path.relative_to(workdir)): _stamp(path) for path in workdir.rglob("*")}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        debts.check(cls, cls.debts)

    @pytest.fixture(autouse=True)
    def _declared_debt(self, request: pytest.FixtureRequest) -> None:
        why = debts.reason(self.debts, request.node.name)
        if why is not None:
            is_luck = request.function.__module__ == _RACES
            request.node.add_marker(pytest.mark.xfail(reason=why, strict=not is_luck))

    @pytest.fixture
    def workdir(self, tmp_path: Path) -> Path:
        """An empty directory for the backend."""
        path = tmp_path / "catalog"
        path.mkdir()
        return path

    @pytest.fixture
    def client(self, request: pytest.FixtureRequest, workdir: Path) -> Iterator[Client]:
        """The namespace under test, connected; skips what the backend does not support."""
        yield from self._connected(request, self.connect(workdir))

    @pytest.fixture
    def table(self, client: Client) -> Client:
        """The client, once there is the table ``t`` with the sample rows."""
        client("create_table", sample())
        return client

    @pytest.fixture
    def second(self, request: pytest.FixtureRequest, client: Client, workdir: Path) -> Iterator[Client]:
        """Another client on the same catalog; skips where there can be none."""
        namespace = self.reconnect(client.namespace, workdir)
        if namespace is None:
            pytest.skip("the backend cannot have a second client on one catalog")
        yield from self._connected(request, namespace)

    @pytest.fixture
    def placed(self, workdir: Path) -> str:
        """The location of a Lance table that the catalog does not know; skips where the suite cannot make one."""
        location = self.place_table(workdir, "stray")
        if location is None:
            pytest.skip("the suite cannot write tables where the backend reads them")
        return location

    def _connected(self, request: pytest.FixtureRequest, namespace: LanceNamespace) -> Iterator[Client]:
        with closing_if_possible(namespace):
            yield self._client(request, namespace)

    def _client(self, request: pytest.FixtureRequest, namespace: LanceNamespace) -> Client:
        supported = frozenset(self.capabilities(namespace))
        asked = requirement(request.function) or Requirement()
        callspec = getattr(request.node, "callspec", None)
        case = callspec.params.get("operation") if callspec else None
        if lacking := asked.operations_of(case) - supported:
            pytest.skip(f"the backend does not support {', '.join(sorted(lacking))}")
        if missing := asked.features - self.features:
            pytest.skip(f"the backend has no {', '.join(sorted(feature.value for feature in missing))}")
        return Client(namespace, supported, self.call, self.storage)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Size and time of change of a file; None for a directory, whose time changes with what is in it."""
    if path.is_dir():
        return None
    status = path.stat()
    return status.st_size, status.st_mtime_ns
