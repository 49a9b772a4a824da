"""Vended credentials: Alibaba's STS and OSS are stand-ins, which check signatures and heed the policies they get."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, PermissionDeniedError, ServiceUnavailableError, UnauthenticatedError

from lancespace import Namespace, connect
from lancespace.authoring import Connection
from lancespace_dir_oss import OssStorage
from lancespace_dir_oss.sts import signature
from lancespace_dir_oss.vending import session_policy
from plugins.storage.expiring import LIFE_SECONDS, ROWS, scan_beyond_expiry, write_long_table
from tests.emulators.oss.signature import AccessKey
from tests.emulators.sts_oss import GuardedOss, guarded_oss

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "oss://lake/root"
ROLE = "acs:ram::1:role/tables"
SECRET = "secret-of-the-owner"
ORDERS = pa.table({"id": [1, 2, 3]})
plugin = OssStorage()


@pytest.fixture
def alibaba() -> Iterator[GuardedOss]:
    """Storage with two tables, and STS."""
    with guarded_oss("lake", keys={"owner": AccessKey(SECRET)}, role=ROLE) as running:
        catalog(running).create_table("orders", ORDERS)
        catalog(running).create_table("others", ORDERS)
        yield running


def catalog(alibaba: GuardedOss, **vendor: str) -> Namespace:
    return connect(
        "dir",
        {
            "root": ROOT,
            "storage.endpoint": alibaba.endpoint,
            "storage.access_key_id": "owner",
            "storage.access_key_secret": SECRET,
            "credential_vendor.enabled": "true",
            "credential_vendor.oss_role_arn": ROLE,
            "credential_vendor.oss_sts_endpoint": alibaba.sts_endpoint,
            **{f"credential_vendor.{name}": value for name, value in vendor.items()},
        },
    )


def vended(namespace: Namespace, table: str = "orders") -> dict[str, str]:
    options = namespace.describe_table(table).storage_options
    assert options is not None
    return options


def ossfs(options: dict[str, str]) -> Any:
    return plugin.filesystem(options={name: value for name, value in options.items() if name != "expires_at_millis"})


def test_a_client_needs_nothing_but_the_answer(alibaba: GuardedOss):
    options = vended(catalog(alibaba))
    assert lance.dataset(f"{ROOT}/orders.lance", storage_options=options).count_rows() == 3
    assert ossfs(options).find("lake/root/orders.lance/data")
    assert sorted(options) == [
        "addressing_style",
        "expires_at_millis",
        "oss_access_key_id",
        "oss_endpoint",
        "oss_secret_access_key",
        "oss_security_token",
    ]


def test_what_is_asked_for(alibaba: GuardedOss):
    vended(catalog(alibaba, oss_external_id="known", oss_role_session_name="lake", oss_duration_millis="900000"))
    asked = alibaba.sts.asked[-1]
    assert {name: asked[name] for name in ("ExternalId", "RoleSessionName", "DurationSeconds")} == {
        "ExternalId": "known",
        "RoleSessionName": "lake",
        "DurationSeconds": "900",
    }
    assert json.loads(asked["Policy"]) == session_policy("lake", "root/orders.lance", "read")


def test_foreign_tables_are_closed(alibaba: GuardedOss):
    options = vended(catalog(alibaba, permission="admin"))
    with pytest.raises((OSError, ValueError), match="AccessDenied"):
        lance.dataset(f"{ROOT}/others.lance", storage_options=options)
    with pytest.raises(PermissionError):
        ossfs(options).ls("lake/root/others.lance")


def test_readers_cannot_write(alibaba: GuardedOss):
    options = vended(catalog(alibaba, permission="read"))
    with pytest.raises(OSError, match="AccessDenied"):
        lance.write_dataset(ORDERS, f"{ROOT}/orders.lance", mode="append", storage_options=options)


def test_writers_write_and_do_not_delete(alibaba: GuardedOss):
    options = vended(catalog(alibaba, permission="write"))
    lance.write_dataset(ORDERS, f"{ROOT}/orders.lance", mode="append", storage_options=options)
    assert catalog(alibaba).table("orders").count() == 6
    path = ossfs(options).find("lake/root/orders.lance/data")[0]
    with pytest.raises(PermissionError):
        ossfs(options).rm_file(path)
    ossfs(vended(catalog(alibaba, permission="admin"))).rm_file(path)


def test_every_answer_with_a_place_for_credentials_has_some(alibaba: GuardedOss):
    namespace = catalog(alibaba, permission="write")
    for answer in (namespace.declare_table("declared"), namespace.create_table("created", ORDERS)):
        assert answer.storage_options
        assert SECRET not in str(answer)


def test_a_long_scan_survives_an_expiry(alibaba: GuardedOss):
    namespace = catalog(alibaba)
    write_long_table(f"{ROOT}/long.lance", plugin.storage_options(ROOT, own(alibaba)))
    alibaba.sts.lifetime = LIFE_SECONDS
    rows, broke = scan_beyond_expiry(namespace, "long")
    assert rows == ROWS
    assert "InvalidAccessKeyId" in broke


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("oss_role_arn", "acs:ram::1:role/another", PermissionDeniedError),
        ("oss_sts_endpoint", "http://127.0.0.1:1", ServiceUnavailableError),
        ("oss_duration_millis", "899000", InvalidInputError),
    ],
)
def test_what_is_refused(alibaba: GuardedOss, name: str, value: str, kind: type[Exception]):
    with pytest.raises(kind) as caught:
        catalog(alibaba, **{name: value}).describe_table("orders")
    assert SECRET not in str(caught.value)


def test_a_secret_that_is_wrong(alibaba: GuardedOss):
    storage = Connection("memory", {}).storage(ROOT, {**own(alibaba), "access_key_secret": "wrong"})
    with pytest.raises(UnauthenticatedError):
        storage.vend_credentials("read", settings(alibaba))


def test_temporary_credentials_can_vend_too_and_are_not_logged(alibaba: GuardedOss, caplog: pytest.LogCaptureFixture):
    alibaba.sts.keys["guest"] = AccessKey("secret-of-a-guest", "token-of-a-guest")
    guest = {"access_key_id": "guest", "access_key_secret": "secret-of-a-guest", "security_token": "token-of-a-guest"}
    caplog.set_level(logging.DEBUG)
    storage = Connection("memory", {}).storage(ROOT, {**own(alibaba), **guest})
    new = storage.vend_credentials("read", settings(alibaba)).storage_options
    alibaba.sts.keys["guest"] = AccessKey("another", "token-of-a-guest")
    with pytest.raises(UnauthenticatedError) as caught:
        storage.vend_credentials("read", settings(alibaba))
    secrets = ("secret-of-a-guest", "token-of-a-guest", new["oss_secret_access_key"], new["oss_security_token"])
    assert not [secret for secret in secrets if secret in f"{caplog.text} {caught.value}"]


def test_signatures_are_those_of_alibabas_sdk():
    from aliyunsdkcore.auth.composer import rpc_signature_composer  # type: ignore[import-untyped]

    parameters = {"RoleArn": "acs:ram::1:role/a b", "Policy": '{"a": "*~+%/é"}', "Timestamp": "2026-01-01T00:00:00Z"}
    text = vars(rpc_signature_composer)["__compose_string_to_sign"]("POST", parameters)
    assert signature(parameters, "hush") == vars(rpc_signature_composer)["__get_signature"](text, "hush")


def own(alibaba: GuardedOss) -> dict[str, str]:
    return {"endpoint": alibaba.endpoint, "access_key_id": "owner", "access_key_secret": SECRET}


def settings(alibaba: GuardedOss) -> dict[str, Any]:
    return {
        **{prop.name: prop.default for prop in plugin.vendor_table},
        "credential_vendor.oss_role_arn": ROLE,
        "credential_vendor.oss_sts_endpoint": alibaba.sts_endpoint,
    }


def test_who_is_nobody_can_vend_nothing(alibaba: GuardedOss):
    options = {"endpoint": alibaba.endpoint, "skip_signature": "true"}
    with pytest.raises(InvalidInputError, match="can vend none"):
        plugin.vend_credentials(ROOT, options, "read", settings(alibaba))


def test_no_name_is_a_pattern():
    with pytest.raises(InvalidInputError, match="pattern"):
        session_policy("lake", "root/a*", "read")
