"""Vended credentials on a moto that checks signatures, roles and session policies."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, PermissionDeniedError
from s3fs import S3FileSystem

from lancespace import Namespace, connect
from lancespace_dir_aws import S3Storage
from lancespace_dir_aws.vending import session_policy
from lancespace_testing.threads import race
from plugins.storage.aws.tests.enforcement import (
    enforced,
    moto_server,
    session_policies,
    short_sessions,
    vending_catalog,
)
from plugins.storage.expiring import LIFE_SECONDS, scan_beyond_expiry, write_long_table
from plugins.storage.expiring import ROWS as MANY_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "vault"
ROOT = f"s3://{BUCKET}/root"
ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture(scope="module")
def moto_endpoint() -> Iterator[str]:
    """S3, STS and IAM at one address."""
    with moto_server() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def own_properties(moto_endpoint: str) -> Iterator[dict[str, str]]:
    """A bucket, a user for the catalog, and a role that it may assume; then nothing goes unchecked."""
    properties = vending_catalog(moto_endpoint, BUCKET)
    with enforced():
        yield properties


@pytest.fixture(scope="module")
def catalogs(own_properties: dict[str, str]) -> dict[str, Namespace]:
    """The same catalog with each permission; it has two tables."""
    made = {
        permission: connect("dir", {**own_properties, "credential_vendor.permission": permission})
        for permission in ("read", "write", "admin")
    }
    made["admin"].create_table("orders", ROWS)
    made["admin"].create_table("others", ROWS)
    return made


def options(namespace: Namespace, table: str = "orders") -> dict[str, str]:
    vended = namespace.describe_table(table).storage_options
    assert vended is not None
    return vended


def s3fs(vended: dict[str, str]) -> S3FileSystem:
    return S3FileSystem(
        key=vended["aws_access_key_id"],
        secret=vended["aws_secret_access_key"],
        token=vended["aws_session_token"],
        endpoint_url=vended["aws_endpoint"],
        use_listings_cache=False,
        skip_instance_cache=True,
    )


def test_a_client_needs_nothing_but_the_answer(catalogs: dict[str, Namespace]):
    vended = options(catalogs["read"])
    assert lance.dataset(f"{ROOT}/orders.lance", storage_options=vended).count_rows() == 3
    assert sorted(vended) == [
        "allow_http",
        "aws_access_key_id",
        "aws_endpoint",
        "aws_endpoint_url_s3",
        "aws_region",
        "aws_secret_access_key",
        "aws_session_token",
        "expires_at_millis",
    ]


def test_every_answer_with_a_place_for_credentials_has_some(catalogs: dict[str, Namespace]):
    declared = catalogs["admin"].declare_table("declared")
    lance.write_dataset(ROWS, declared.location, storage_options=declared.storage_options)
    created = catalogs["admin"].create_table("created", ROWS)
    lance.write_dataset(ROWS, created.location, mode="append", storage_options=created.storage_options)
    assert [catalogs["admin"].table(name).count() for name in ("declared", "created")] == [3, 6]


def test_the_catalog_keeps_its_own_keys(catalogs: dict[str, Namespace], own_properties: dict[str, str]):
    for namespace in catalogs.values():
        answer = str(options(namespace))
        assert own_properties["storage.access_key_id"] not in answer
        assert own_properties["storage.secret_access_key"] not in answer


def test_who_wants_no_credentials_gets_none(catalogs: dict[str, Namespace]):
    assert catalogs["read"].describe_table("orders", vend_credentials=False).storage_options is None
    assert catalogs["write"].declare_table("without", vend_credentials=False).storage_options is None


def test_without_a_vendor_there_are_none(own_properties: dict[str, str]):
    plain = {name: value for name, value in own_properties.items() if not name.startswith("credential_vendor.")}
    namespace = connect("dir", plain)
    assert namespace.describe_table("others", vend_credentials=True).storage_options is None
    assert namespace.create_table("plain", ROWS).storage_options is None


def test_foreign_tables_are_closed(catalogs: dict[str, Namespace]):
    vended = options(catalogs["admin"])
    with pytest.raises((OSError, ValueError), match="AccessDenied"):
        lance.dataset(f"{ROOT}/others.lance", storage_options=vended).to_table()
    filesystem = s3fs(vended)
    assert filesystem.ls(f"{BUCKET}/root/orders.lance", detail=False)
    for foreign in (f"{BUCKET}/root/others.lance", f"{BUCKET}/root", BUCKET, f"{BUCKET}/root/orders.lance2"):
        with pytest.raises(PermissionError):
            filesystem.ls(foreign)
    with pytest.raises(PermissionError):
        filesystem.pipe_file(f"{BUCKET}/root/others.lance/x", b"")
    with pytest.raises(PermissionError):
        filesystem.pipe_file(f"{BUCKET}/root/orders.lance2/x", b"")


def test_readers_cannot_write(catalogs: dict[str, Namespace]):
    vended = options(catalogs["read"])
    with pytest.raises((OSError, ValueError), match="AccessDenied"):
        lance.write_dataset(ROWS, f"{ROOT}/orders.lance", mode="append", storage_options=vended)
    with pytest.raises(PermissionError):
        s3fs(vended).pipe_file(f"{BUCKET}/root/orders.lance/x", b"")
    assert catalogs["read"].table("orders").count() == 3


def test_writers_write_and_do_not_delete(catalogs: dict[str, Namespace]):
    catalogs["admin"].create_table("written", ROWS)
    vended = options(catalogs["write"], "written")
    lance.write_dataset(ROWS, f"{ROOT}/written.lance", mode="append", storage_options=vended)
    assert catalogs["admin"].table("written").count() == 6
    filesystem, path = s3fs(vended), f"{BUCKET}/root/written.lance/x"
    filesystem.pipe_file(path, b"x" * (6 << 20), chunksize=5 << 20)  # In parts.
    assert filesystem.cat_file(path)[:2] == b"xx"
    with pytest.raises(PermissionError):
        filesystem.rm_file(path)
    s3fs(options(catalogs["admin"], "written")).rm_file(path)


def test_pylance_can_do_everything_to_the_table(catalogs: dict[str, Namespace]):
    catalogs["admin"].create_table("busy", pa.table({"id": range(300)}))
    dataset = lance.dataset(namespace_client=catalogs["admin"], table_id=["busy"])
    dataset.insert(pa.table({"id": range(300, 400)}))
    dataset.delete("id < 10")
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(pa.table({"id": [7, 8]}))
    dataset.create_scalar_index("id", "BTREE")
    dataset.tags.create("first", 1)
    dataset.optimize.compact_files()
    dataset.cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False)
    assert dataset.count_rows("id < 20") == 12
    assert dataset.checkout_version("first").count_rows() == 300


def test_a_table_of_a_namespace(catalogs: dict[str, Namespace]):
    catalogs["admin"].create_namespace("sales")
    catalogs["admin"].create_table("sales.orders", ROWS)
    described = catalogs["read"].describe_table("sales.orders")
    assert lance.dataset(described.location, storage_options=described.storage_options).count_rows() == 3


@pytest.mark.usefixtures("catalogs")
def test_the_role_is_assumed_once_per_table(own_properties: dict[str, str]):
    namespace = connect("dir", own_properties)
    before = len(session_policies())
    assert len(race(lambda _: options(namespace), threads=8).won) == 8
    options(namespace, "others")
    assert len(session_policies()) == before + 2


@pytest.mark.usefixtures("catalogs")
def test_a_long_scan_survives_an_expiry(own_properties: dict[str, str]):
    own = {name[len("storage.") :]: value for name, value in own_properties.items() if name.startswith("storage.")}
    write_long_table(f"{ROOT}/long.lance", S3Storage().storage_options(location=ROOT, options=own))
    with short_sessions(LIFE_SECONDS):
        rows, broke = scan_beyond_expiry(connect("dir", own_properties), "long")
    assert rows == MANY_ROWS
    assert "ExpiredToken" in broke


@pytest.mark.usefixtures("catalogs")
def test_a_role_that_may_not_be_assumed(own_properties: dict[str, str]):
    namespace = connect("dir", {**own_properties, "credential_vendor.aws_external_id": "unknown"})
    with pytest.raises(PermissionDeniedError, match=r"vend credentials for 's3://vault/root/orders.lance'") as caught:
        namespace.describe_table("orders")
    assert own_properties["storage.secret_access_key"] not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"credential_vendor.aws_rol_arn": "x"}, r"Did you mean 'credential_vendor.aws_role_arn'\?"),
        ({"credential_vendor.permision": "read"}, r"Did you mean 'credential_vendor.permission'\?"),
        ({"credential_vendor.permission": "all"}, "must be one of read, write, admin"),
        ({"credential_vendor.gcp_service_account": "x"}, "does not know the property"),
    ],
)
def test_what_is_not_known_is_refused(own_properties: dict[str, str], changes: dict[str, str], complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        connect("dir", {**own_properties, **changes})


def test_a_role_is_needed(own_properties: dict[str, str]):
    without = {name: value for name, value in own_properties.items() if not name.endswith("role_arn")}
    with pytest.raises(InvalidInputError, match=r"needs the property 'credential_vendor.aws_role_arn'"):
        connect("dir", without)


@pytest.mark.usefixtures("catalogs")
@pytest.mark.parametrize("millis", ["899000", "43201000"])
def test_a_life_that_aws_does_not_grant(own_properties: dict[str, str], millis: str):
    namespace = connect("dir", {**own_properties, "credential_vendor.aws_duration_millis": millis})
    with pytest.raises(InvalidInputError, match="between 900000"):
        namespace.describe_table("orders")


def test_directory_buckets_cannot_be_divided():
    with pytest.raises(InvalidInputError, match="directory bucket"):
        S3Storage().vend_credentials("s3://lake--use1-az4--x-s3/root/t.lance", {}, "read", {})


@pytest.mark.parametrize("permission", ["read", "write", "admin"])
def test_policies_fit_into_a_session(permission: str):
    policy = session_policy("b" * 63, "p" * 300, permission, "aws-us-gov")
    assert len(json.dumps(policy, separators=(",", ":"))) <= 2048
    assert {statement["Resource"].split(":")[1] for statement in policy["Statement"][:3]} == {"aws-us-gov"}


def test_no_name_is_a_pattern():
    policy = session_policy("lake", "root/a*b?${c}$d", "read")
    assert policy["Statement"][0]["Resource"] == "arn:aws:s3:::lake/root/a${*}b${?}${$}{c}$d/*"
