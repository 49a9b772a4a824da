"""The policies that the documentation gives to users of a catalog are enough, and no more, on a strict moto."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from lance_namespace import PermissionDeniedError

from lancespace import Namespace, connect
from plugins.storage.aws.tests.enforcement import client, enforced, moto_server
from tests.docs.pages import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "my-bucket"
PAGE = list(blocks(DOCS / "clouds" / "aws.md"))
READ, WRITE = (block.code for block in PAGE if "s3:ListBucket" in block.code and not block.title)
ORDERS = pa.table({"id": [1, 2, 3]})


@pytest.fixture(scope="module")
def users() -> Iterator[dict[str, Namespace]]:
    """A catalog as the owner of the bucket sees it, and as those do who have the policies."""
    with moto_server() as endpoint:
        client("s3", endpoint).create_bucket(Bucket=BUCKET)
        made = {name: connect_as(name, policy, endpoint) for name, policy in (("reader", READ), ("writer", WRITE))}
        with enforced():
            made["writer"].create_table("orders", ORDERS)
            yield made


def connect_as(user: str, policy: str, endpoint: str) -> Namespace:
    iam = client("iam", endpoint)
    iam.create_user(UserName=user)
    iam.put_user_policy(UserName=user, PolicyName="lake", PolicyDocument=policy)
    key = iam.create_access_key(UserName=user)["AccessKey"]
    return connect(
        "dir",
        {
            "root": f"s3://{BUCKET}/warehouse",
            "storage.endpoint": endpoint,
            "storage.region": "us-east-1",
            "storage.access_key_id": key["AccessKeyId"],
            "storage.secret_access_key": key["SecretAccessKey"],
        },
    )


def test_readers_read(users: dict[str, Namespace]):
    assert list(users["reader"].list_tables().tables) == ["orders"]
    assert users["reader"].table("orders").count() == 3


def test_readers_cannot_write(users: dict[str, Namespace]):
    with pytest.raises(PermissionDeniedError):
        users["reader"].create_table("mine", ORDERS)
    with pytest.raises(PermissionDeniedError):
        users["reader"].insert_into_table("orders", ORDERS)


def test_writers_write_and_drop(users: dict[str, Namespace]):
    writer = users["writer"]
    writer.create_namespace("sales")
    writer.create_table("sales.orders", ORDERS)
    writer.insert_into_table("sales.orders", ORDERS)
    assert writer.table("sales.orders").count() == 6
    writer.drop_table("sales.orders")
    writer.drop_namespace("sales")
    assert writer.list_namespaces().namespaces == []


def test_nobody_goes_beyond_the_warehouse(users: dict[str, Namespace]):
    storage = users["writer"]._connection.storage(f"s3://{BUCKET}/elsewhere")
    with pytest.raises(PermissionError):
        storage.put_if_absent(storage.path(f"{storage.location}/file"), b"")
