"""Bad values for every field of every operation: only errors of the spec come out, and they change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from lance_namespace import InternalError, InvalidInputError, LanceNamespaceError, TableBranchNotFoundError
from pydantic import BaseModel

from lancespace import Namespace, connect
from lancespace.authoring import OPERATIONS, Operation, model
from lancespace_testing import examples

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**70,
    1.5,
    float("nan"),
    "",
    "absent",
    "a\0b",
    "\udcff",
    "../ü💥",
    "x" * 5000,
    b"bytes",
    object(),
    [],
    [None],
    ["absent"],
    {},
    {"": None},
    {"a\0b": "\udcff"},
)
STRIDE = 17
"""`make test` takes every 17th case; as that does not divide the number of values, it gets to all of them."""


class Case(NamedTuple):
    """A call of an operation with one bad value."""

    label: str
    request: Any
    data: Any
    fields: Mapping[str, Any]


class World:
    """A catalog in which the example of every operation finds what it needs, made anew after each change."""

    def __init__(self, backend: str, folder: Path) -> None:
        self._backend = backend
        self._folder = folder
        self._number = 0
        self._made: tuple[Namespace, object] | None = None

    def enter(self) -> tuple[Namespace, object]:
        """The namespace, and its state."""
        if self._made is None:
            namespace = self.new()
            self._made = namespace, state(namespace)
        return self._made

    def new(self) -> Namespace:
        self._number += 1
        properties = {"root": str(self._folder / str(self._number))} if self._backend == "dir" else {}
        namespace = connect(self._backend, properties)
        made: list[str] = []
        for name in OPERATIONS:
            made += [first for first in examples.prerequisites(name) if first not in made]
        for name in made:
            call(namespace, OPERATIONS[name], Case("", None, examples.data(name), examples.fields(name)))
        return namespace

    def forget(self) -> None:
        if self._made is not None:
            self._made[0].close()
        self._made = None


@pytest.fixture(scope="module", params=["memory", "dir"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(request.param, tmp_path_factory.mktemp("worlds"))
    yield made
    made.forget()


def state(namespace: Namespace) -> object:
    """What a caller can see of the catalog."""
    namespaces = {name: namespace.describe_namespace(name).properties for name in namespace.namespaces()}
    tables = {
        name: (
            namespace.describe_table(name).properties,
            [version.version for version in namespace.list_table_versions(name).versions],
            sorted(namespace.list_table_tags(name).tags),
            sorted(namespace.list_table_branches(name).branches),
        )
        for name in namespace.tables()
    }
    return namespaces, tables


def call(namespace: Namespace, operation: Operation, case: Case) -> None:
    data = {"request_data": case.data} if operation.takes_data else {}
    getattr(namespace, operation.name)(case.request, **data, **case.fields)


def inner_model(kind: Any) -> type[BaseModel] | None:
    """The model in a field's type, such as that of ``list[Model] | None``."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return next(filter(None, map(inner_model, get_args(kind))), None)


def field_names(request: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(info.alias or name, info.annotation) for name, info in request.model_fields.items()]


def cases(operation: Operation) -> Iterator[Case]:
    """The operation's example with a bad request, one bad field or part of a field, or bad data."""
    valid, data = examples.fields(operation.name), examples.data(operation.name)
    for value in VALUES:
        yield Case(f"request={value!r:.40}", value, data, {})
    for name, kind in field_names(model(operation.request)):
        for value in VALUES:
            yield Case(f"{name}={value!r:.40}", None, data, {**valid, name: value})
        inner, given = inner_model(kind), valid.get(name)
        whole = given[0] if isinstance(given, list) else given or {}
        for part, _ in field_names(inner) if inner else ():
            for value in VALUES:
                changed = {**whole, part: value}
                fields = {**valid, name: [changed] if isinstance(given, list) else changed}
                yield Case(f"{name}.{part}={value!r:.40}", None, data, fields)
    for value in VALUES if operation.takes_data else ():
        yield Case(f"data={value!r:.40}", None, value, valid)


def complaint(world: World, operation: Operation, case: Case) -> str | None:
    """What is wrong with the outcome of a call; None if it succeeded, or failed as it should."""
    namespace, before = world.enter()
    found: str | None = None
    try:
        call(namespace, operation, case)
    except LanceNamespaceError as error:
        if isinstance(error, InternalError) or not str(error):
            return f"{case.label}: {type(error).__name__} {error!s:.200}"
        if not operation.writes or state(namespace) == before:
            return None
        found = f"{case.label}: something was changed before {error!s:.200}"
    except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
        found = f"{case.label}: {type(error).__name__} {error!s:.200}"
    else:
        if not operation.writes:
            return None
    world.forget()
    return found


@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_failure_is_an_error_of_the_spec(name: str, stride: int, world: World):
    operation = OPERATIONS[name]
    tried = islice(cases(operation), list(OPERATIONS).index(name) % stride, None, stride)
    assert [found for case in tried if (found := complaint(world, operation, case))] == []


def test_a_closed_namespace(world: World):
    closed = world.new()
    closed.close()
    assert closed.capabilities() <= OPERATIONS.keys()
    kinds: set[type[LanceNamespaceError]] = set()
    for name, operation in OPERATIONS.items():
        try:
            call(closed, operation, Case("", None, examples.data(name), examples.fields(name)))
        except LanceNamespaceError as error:
            kinds.add(type(error))
    assert InternalError not in kinds


@pytest.mark.parametrize("name", ["x" * 251, "x" * 5000, "a/" * 80 + "b"])
def test_a_name_that_no_file_can_have(name: str, world: World):
    """Nothing is left of it; pylance would write a branch that is in no list and cannot be deleted."""
    namespace, _ = world.enter()
    for create in (namespace.create_table_branch, namespace.create_table_tag):
        fields = {"name": name} if create == namespace.create_table_branch else {"tag": name, "version": 1}
        with pytest.raises(InvalidInputError, match="too long"):
            create(examples.TABLE, **fields)
    with pytest.raises((TableBranchNotFoundError, InvalidInputError)):
        namespace.describe_table(examples.TABLE, branch=name)
