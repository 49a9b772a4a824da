from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespace,
    UnsupportedOperationError,
)

from lancespace.authoring import OPERATIONS, model

ROW = pa.table({"id": [9], "name": ["z"]})


def manifest(number: int) -> str:
    return f"{2**64 - 1 - number:020}.manifest"


@pytest.fixture
def staged(people, tmp_path):
    """``people``, and manifests of the versions 2 and 3 that wait to be published: commits that a client prepared."""
    versions = tmp_path / "t.lance" / "_versions"
    for number in (2, 3):
        people.call("insert_into_table", ROW)
        shutil.copy(versions / manifest(number), versions / f"{manifest(number)}-staged")
    for number in (2, 3):
        (versions / manifest(number)).unlink()
    (versions / "latest_version_hint.json").unlink(missing_ok=True)
    return people


def path_of(tmp_path: Path, name: str) -> str:
    return f"{str(tmp_path).strip('/')}/t.lance/_versions/{name}"


def create(backend: Any, tmp_path: Path, number: int, name: str | None = None, **fields: Any) -> Any:
    fields.setdefault("manifest_path", path_of(tmp_path, name or f"{manifest(number)}-staged"))
    return backend.call("create_table_version", version=number, **fields).version


def files(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "t.lance" / "_versions").iterdir())


def test_a_staged_manifest_becomes_the_next_version(staged, tmp_path):
    created = create(staged, tmp_path, 2, naming_scheme="V2")
    assert (created.version, created.manifest_path) == (2, path_of(tmp_path, manifest(2)))
    assert created.manifest_size == (tmp_path / "t.lance" / "_versions" / manifest(2)).stat().st_size
    assert f"{manifest(2)}-staged" not in files(tmp_path)
    assert len(staged.rows()) == 4
    assert lance.dataset(tmp_path / "t.lance").version == 2


def test_the_same_request_again_has_the_same_answer(staged, tmp_path):
    first = create(staged, tmp_path, 2)
    again = create(staged, tmp_path, 2, manifest_size=first.manifest_size)
    assert (again.version, again.manifest_path, again.manifest_size) == (
        first.version,
        first.manifest_path,
        first.manifest_size,
    )
    create(staged, tmp_path, 3)
    assert create(staged, tmp_path, 2).version == 2


def test_a_retry_after_a_crash_before_the_cleanup_finishes_it(staged, tmp_path):
    versions = tmp_path / "t.lance" / "_versions"
    shutil.copy(versions / f"{manifest(2)}-staged", versions / manifest(2))
    assert create(staged, tmp_path, 2).version == 2
    assert f"{manifest(2)}-staged" not in files(tmp_path)


def test_the_loser_of_a_race_is_told_and_changes_nothing(staged, tmp_path):
    create(staged, tmp_path, 2)
    before = (tmp_path / "t.lance" / "_versions" / manifest(2)).read_bytes()
    with pytest.raises(ConcurrentModificationError, match="version 2 of table 't' was made by another writer"):
        create(staged, tmp_path, 2, f"{manifest(3)}-staged")
    assert (tmp_path / "t.lance" / "_versions" / manifest(2)).read_bytes() == before
    assert f"{manifest(3)}-staged" in files(tmp_path)


def test_a_vanished_staged_manifest_of_another_size_is_not_ours(staged, tmp_path):
    create(staged, tmp_path, 2)
    with pytest.raises(ConcurrentModificationError):
        create(staged, tmp_path, 2, "gone", manifest_size=1)


def test_a_version_that_was_deleted_comes_too_late(staged, tmp_path):
    create(staged, tmp_path, 2)
    create(staged, tmp_path, 3)
    staged.call("batch_delete_table_versions", ranges=[{"start_version": 2, "end_version": 3}])
    with pytest.raises(ConcurrentModificationError, match="at version 3 already: version 2 comes too late"):
        create(staged, tmp_path, 2)


def test_a_gap_is_refused(staged, tmp_path):
    with pytest.raises(InvalidInputError, match="is at version 1: the next one is 2, not 3"):
        create(staged, tmp_path, 3)


@pytest.mark.parametrize(
    "path",
    [
        "elsewhere/_versions/x",
        "{table}/data/x",
        "{table}/_versions/..",
        "{table}/_versions/../data/x",
        "{table}/tree/dev/_versions/x",
        "x",
        "",
    ],
)
def test_a_path_outside_the_table_is_refused(staged, tmp_path, path):
    given = path.format(table=f"{str(tmp_path).strip('/')}/t.lance")
    with pytest.raises(InvalidInputError, match="is not a staged manifest under"):
        create(staged, tmp_path, 2, manifest_path=given)


@pytest.mark.parametrize("prefix", ["/", "file:///"])
def test_an_absolute_path_or_a_url_is_taken_too(staged, tmp_path, prefix):
    given = prefix + path_of(tmp_path, f"{manifest(2)}-staged")
    assert create(staged, tmp_path, 2, manifest_path=given).version == 2


def test_what_is_no_manifest_is_not_published(staged, tmp_path):
    (tmp_path / "t.lance" / "_versions" / "junk-staged").write_bytes(b"no manifest")
    with pytest.raises(InvalidInputError, match="not the manifest that was announced"):
        create(staged, tmp_path, 2, "junk-staged")
    with pytest.raises(InvalidInputError, match="not the manifest that was announced"):
        create(staged, tmp_path, 2, manifest_size=5)
    with pytest.raises(InvalidInputError, match="there is no staged manifest at"):
        create(staged, tmp_path, 2, "nothing-staged")
    with pytest.raises(InvalidInputError, match="is not a staged manifest under"):
        create(staged, tmp_path, 2, manifest(1))
    assert staged.call("describe_table_version").version.version == 1


def test_the_naming_scheme_of_a_table_stays(staged, tmp_path):
    with pytest.raises(InvalidInputError, match="names its manifests by scheme V2, not V1"):
        create(staged, tmp_path, 2, naming_scheme="V1")
    with pytest.raises(InvalidInputError, match="naming_scheme must be one of V2, V1"):
        create(staged, tmp_path, 2, naming_scheme="V9")


def entry(tmp_path: Path, number: int) -> dict[str, Any]:
    return {"id": ["t"], "version": number, "manifest_path": path_of(tmp_path, f"{manifest(number)}-staged")}


def test_a_batch_of_one(staged, tmp_path):
    answer = staged.call("batch_create_table_versions", id=None, entries=[entry(tmp_path, 2)])
    assert [version.version for version in answer.versions] == [2]
    assert len(staged.rows()) == 4


def test_a_batch_of_several_is_not_promised(staged, tmp_path):
    with pytest.raises(UnsupportedOperationError, match="all or none cannot be promised"):
        staged.call("batch_create_table_versions", id=None, entries=[entry(tmp_path, 2), entry(tmp_path, 3)])
    with pytest.raises(InvalidInputError):
        staged.call("batch_create_table_versions", id=None, entries=[])
    assert staged.call("describe_table_version").version.version == 1


class Managed(LanceNamespace):
    """The backend as pylance's client meets it: a namespace that says it manages versions."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.calls: list[str] = []

    def namespace_id(self) -> str:
        return "managed"

    def answer(self, operation: str, request: Any) -> Any:
        self.calls.append(operation)
        given = request if isinstance(request, dict) else request.model_dump(exclude_none=True)
        return self.backend.operation(operation)(request=model(OPERATIONS[operation].request).model_validate(given))

    def declare_table(self, request: Any) -> Any:
        return self.answer("declare_table", request).model_copy(update={"managed_versioning": True})

    def describe_table(self, request: Any) -> Any:
        return self.answer("describe_table", request).model_copy(update={"managed_versioning": True})

    def list_table_versions(self, request: Any) -> Any:
        return self.answer("list_table_versions", request).model_dump(exclude_none=True)

    def describe_table_version(self, request: Any) -> Any:
        return self.answer("describe_table_version", request).model_dump(exclude_none=True)

    def create_table_version(self, request: Any) -> Any:
        return self.answer("create_table_version", request).model_dump(exclude_none=True)


def test_pylance_commits_through_it(backend):
    namespace = Managed(backend)
    where = {"namespace_client": namespace, "table_id": ["t"]}
    lance.write_dataset(ROW, mode="create", **where)
    dataset = lance.write_dataset(ROW, mode="append", **where)
    dataset.delete("id = 0")
    assert namespace.calls.count("create_table_version") == 3
    assert lance.dataset(**where).version == 3
    assert lance.dataset(version=1, **where).count_rows() == 1
    assert len(backend.rows()) == 2
    assert not [path for path in (Path(backend.root) / "t.lance" / "_versions").iterdir() if "-" in path.name]


def test_pylance_makes_a_branch_through_it(backend):
    namespace = Managed(backend)
    dataset = lance.write_dataset(ROW, mode="create", namespace_client=namespace, table_id=["t"])
    branch = dataset.create_branch("dev")
    lance.write_dataset(ROW, branch, mode="append")
    assert len(backend.rows(branch="dev")) == 2
    assert len(backend.rows()) == 1
