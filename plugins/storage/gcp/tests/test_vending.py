"""Vended tokens: Google's token exchange and storage are stand-ins, which heed the boundaries that they are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest
from google.auth import iam
from lance_namespace import InvalidInputError, LanceNamespaceError, ServiceUnavailableError

from lancespace import Namespace, connect
from lancespace_dir_gcp import GcsStorage
from lancespace_dir_gcp.vending import access_boundary
from plugins.storage.expiring import LIFE_SECONDS, ROWS, scan_beyond_expiry, write_long_table
from tests.emulators.sts_google import GuardedGcs, guarded_gcs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "gs://lake/root"
OWNER = "token-of-the-owner"
ORDERS = pa.table({"id": [1, 2, 3]})
plugin = GcsStorage()


@pytest.fixture
def google() -> Iterator[GuardedGcs]:
    """Storage with a table, and the exchange."""
    with guarded_gcs("lake", token=OWNER) as running:
        catalog(running).create_table("orders", ORDERS)
        catalog(running).create_table("others", ORDERS)
        yield running


def catalog(google: GuardedGcs, **vendor: str) -> Namespace:
    return connect(
        "dir",
        {
            "root": ROOT,
            "storage.base_url": google.endpoint,
            "storage.storage_token": OWNER,
            "credential_vendor.enabled": "true",
            "credential_vendor.gcp_sts_endpoint": f"{google.sts_endpoint}/v1/token",
            **{f"credential_vendor.{name}": value for name, value in vendor.items()},
        },
    )


def vended(namespace: Namespace, table: str = "orders") -> dict[str, str]:
    options = namespace.describe_table(table).storage_options
    assert options is not None
    return options


def gcsfs(options: dict[str, str]) -> Any:
    own = {"base_url": options["google_base_url"], "storage_token": options["google_storage_token"]}
    return plugin.filesystem(options=own)


def test_a_client_needs_nothing_but_the_answer(google: GuardedGcs):
    options = vended(catalog(google))
    assert lance.dataset(f"{ROOT}/orders.lance", storage_options=options).count_rows() == 3
    assert gcsfs(options).find("lake/root/orders.lance/data")
    assert sorted(options) == ["allow_http", "expires_at_millis", "google_base_url", "google_storage_token"]
    assert options["google_storage_token"].startswith("downscoped-")


def test_foreign_tables_are_closed(google: GuardedGcs):
    options = vended(catalog(google, permission="admin"))
    with pytest.raises((OSError, ValueError), match="403 Forbidden"):
        lance.dataset(f"{ROOT}/others.lance", storage_options=options)
    with pytest.raises(OSError, match="Access denied"):
        gcsfs(options).ls("lake/root/others.lance")


def test_readers_cannot_write(google: GuardedGcs):
    options = vended(catalog(google, permission="read"))
    with pytest.raises(OSError, match="403 Forbidden"):
        lance.write_dataset(ORDERS, f"{ROOT}/orders.lance", mode="append", storage_options=options)


def test_writers_write_and_do_not_delete(google: GuardedGcs):
    options = vended(catalog(google, permission="write"))
    lance.write_dataset(ORDERS, f"{ROOT}/orders.lance", mode="append", storage_options=options)
    assert catalog(google).table("orders").count() == 6
    path = gcsfs(options).find("lake/root/orders.lance/data")[0]
    with pytest.raises(OSError, match="Access denied"):
        gcsfs(options).rm_file(path)
    gcsfs(vended(catalog(google, permission="admin"))).rm_file(path)


def test_every_answer_with_a_place_for_credentials_has_some(google: GuardedGcs):
    namespace = catalog(google, permission="write")
    for answer in (namespace.declare_table("declared"), namespace.create_table("created", ORDERS)):
        assert answer.storage_options
        assert OWNER not in str(answer)


def test_a_service_account_is_impersonated(google: GuardedGcs, monkeypatch: pytest.MonkeyPatch):
    where = f"{google.sts_endpoint}/v1/projects/-/serviceAccounts/{{}}:generateAccessToken"
    monkeypatch.setattr(iam, "_IAM_ENDPOINT", where)
    google.exchange.says_lifetime = False
    options = vended(catalog(google, gcp_service_account="tables@project.iam.gserviceaccount.com"))
    assert google.exchange.impersonated == ["tables@project.iam.gserviceaccount.com"]
    assert lance.dataset(f"{ROOT}/orders.lance", storage_options=options).count_rows() == 3


def test_an_exchange_that_is_refused(google: GuardedGcs):
    google.exchange.tokens = {"another"}
    with pytest.raises(LanceNamespaceError, match="invalid_grant") as caught:
        catalog(google).describe_table("orders")
    assert OWNER not in str(caught.value)


def test_an_exchange_that_is_not_there(google: GuardedGcs):
    with pytest.raises(ServiceUnavailableError, match="vend credentials for"):
        catalog(google, gcp_sts_endpoint="http://127.0.0.1:1/v1/token").describe_table("orders")


def test_a_long_scan_survives_an_expiry(google: GuardedGcs):
    owner = plugin.storage_options(ROOT, {"base_url": google.endpoint, "storage_token": OWNER})
    write_long_table(f"{ROOT}/long.lance", owner)
    google.exchange.lifetime = LIFE_SECONDS
    rows, broke = scan_beyond_expiry(catalog(google), "long")
    assert rows == ROWS
    assert "401 Unauthorized" in broke


def test_who_is_nobody_can_vend_nothing():
    with pytest.raises(InvalidInputError, match="can vend none"):
        plugin.vend_credentials(
            ROOT, {"skip_signature": "true"}, "read", {"credential_vendor.gcp_service_account": None}
        )


def test_names_are_quoted():
    rule = access_boundary("lake", 'a"b\\c', "read")["accessBoundary"]["accessBoundaryRules"][0]
    expression = rule["availabilityCondition"]["expression"]
    assert expression.startswith(r'resource.name.startsWith("projects/_/buckets/lake/objects/a\"b\\c/")')
