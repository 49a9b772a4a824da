"""Vended signatures on azurite, which checks them, what they permit and when they expire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import lance
import pyarrow as pa
import pytest
from azure.core.exceptions import HttpResponseError
from lance_namespace import InvalidInputError

from lancespace_dir_azure import AzureStorage
from lancespace_dir_azure.vending import PROPERTIES
from plugins.storage.expiring import LIFE_SECONDS, ROWS, scan_beyond_expiry, write_long_table

if TYPE_CHECKING:
    from lancespace import Namespace
    from tests.emulators.clouds import Cloud

ORDERS = pa.table({"id": [1, 2, 3]})
REFUSED = r"AuthenticationFailed|AuthorizationPermissionMismatch|AuthorizationFailure"
plugin = AzureStorage()


@dataclass(frozen=True)
class Lake:
    """A place in azurite."""

    cloud: Cloud
    root: str

    def catalog(self, **vendor: str) -> Namespace:
        """The catalog there."""
        settings = {"enabled": "true", "azure_scope": "container", **vendor}
        return self.cloud.connect(self.root, **{f"credential_vendor.{name}": value for name, value in settings.items()})

    @property
    def orders(self) -> str:
        """Where its one table is."""
        return f"{self.root}/orders.lance"


@pytest.fixture
def lake(azure_cloud: Cloud) -> Lake:
    """A place with a table."""
    made = Lake(azure_cloud, azure_cloud.new_root())
    made.catalog().create_table("orders", ORDERS)
    return made


def vended(namespace: Namespace, table: str = "orders") -> dict[str, str]:
    options = namespace.describe_table(table).storage_options
    assert options is not None
    return options


def signed(
    scope: str, permission: str, location: str = "az://lake/root/orders.lance", **options: str
) -> dict[str, str]:
    """The fields of a signature."""
    settings: dict[str, Any] = {prop.name: prop.default for prop in PROPERTIES}
    own = {"account_name": "lake", "account_key": "c2VjcmV0", **options}
    credentials = plugin.vend_credentials(
        location, own, permission, {**settings, "credential_vendor.azure_scope": scope}
    )
    fields = parse_qs(credentials.storage_options["azure_storage_sas_key"])
    return {name: values[0] for name, values in fields.items()}


def test_a_client_needs_nothing_but_the_answer(lake: Lake):
    options = vended(lake.catalog())
    assert lance.dataset(lake.orders, storage_options=options).count_rows() == 3
    assert sorted(options) == [
        "allow_http",
        "azure_storage_account_name",
        "azure_storage_endpoint",
        "azure_storage_sas_key",
        "expires_at_millis",
    ]


def test_the_catalog_keeps_its_own_key(lake: Lake):
    namespace = lake.catalog(permission="admin")
    answers: list[Any] = [namespace.describe_table("orders"), namespace.declare_table("b")]
    answers.append(namespace.create_table("c", ORDERS))
    assert all(answer.storage_options for answer in answers)
    assert lake.cloud.options["account_key"] not in f"{answers} {namespace!r}"


def test_readers_cannot_write(lake: Lake):
    options = vended(lake.catalog(permission="read"))
    with pytest.raises(OSError, match=REFUSED):
        lance.write_dataset(ORDERS, lake.orders, mode="append", storage_options=options)


def test_writers_write_and_do_not_delete(lake: Lake):
    files = {}
    for permission in ("write", "admin"):
        options = vended(lake.catalog(permission=permission))
        lance.write_dataset(ORDERS, lake.orders, mode="append", storage_options=options)
        own = {
            "account_name": options["azure_storage_account_name"],
            "endpoint": options["azure_storage_endpoint"],
            "sas_token": options["azure_storage_sas_key"],
        }
        files[permission] = plugin.filesystem(location=lake.orders, options=own)
    path = files["write"].find(f"{lake.orders.removeprefix('az://')}/data")[0]
    with pytest.raises(HttpResponseError, match=REFUSED):
        files["write"].rm_file(path)
    files["admin"].rm_file(path)


def test_a_long_scan_survives_an_expiry(lake: Lake):
    write_long_table(f"{lake.root}/long.lance", lake.cloud.storage(lake.root).options)
    namespace = lake.catalog(azure_duration_millis=str(LIFE_SECONDS * 1000))
    rows, broke = scan_beyond_expiry(namespace, "long")
    assert rows == ROWS
    assert re.search(REFUSED, broke)


@pytest.mark.parametrize(
    ("permission", "letters"), [("read", set("rl")), ("write", set("rlcw")), ("admin", set("rlcwd"))]
)
@pytest.mark.parametrize("scope", ["directory", "container"])
def test_what_is_signed(scope: str, permission: str, letters: set[str]):
    fields = signed(scope, permission)
    assert set(fields["sp"]) == letters
    assert fields["spr"] == "https"
    assert (fields["sr"], fields.get("sdd")) == {"directory": ("d", "2"), "container": ("c", None)}[scope]


def test_a_location_that_names_its_account():
    named = signed("directory", "read", "abfss://lake@lake.dfs.core.windows.net/deep/root/orders.lance")
    assert (named["sr"], named["sdd"]) == ("d", "3")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"azure_duration_millis": "999"}, "between 1000 and"),
        ({"azure_duration_millis": "604800000"}, "between 1000 and"),
        ({"azure_account_name": "another"}, "keep one"),
    ],
)
def test_what_cannot_be_signed(lake: Lake, changes: dict[str, str], complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        lake.catalog(**changes).describe_table("orders")


@pytest.mark.parametrize("own", [{"sas_token": "sig=x"}, {"skip_signature": "true"}])
def test_who_has_no_key_can_sign_nothing(own: dict[str, str]):
    settings = {prop.name: prop.default for prop in PROPERTIES}
    with pytest.raises(InvalidInputError, match="can vend no credentials"):
        plugin.vend_credentials("az://lake/root", {"account_name": "lake", **own}, "read", settings)
