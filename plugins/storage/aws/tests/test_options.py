"""The table against what pylance, object_store, s3fs and botocore really know."""

from __future__ import annotations

import base64
import inspect
from typing import TYPE_CHECKING, Any

import botocore.session  # type: ignore[import-untyped]
import lance
import pytest
from botocore.config import Config  # type: ignore[import-untyped]
from lance_namespace import InvalidInputError
from s3fs import S3FileSystem

from lancespace.authoring import boolean, duration
from lancespace_dir_aws.options import OPTIONS

if TYPE_CHECKING:
    from plugins.storage.conftest import Recorder

CUSTOMER_KEY = base64.b64encode(b"k" * 32).decode()

# What users write, and where it must arrive: options, pylance's share, fsspec's share.
SPELLINGS: list[tuple[tuple[str, ...], str, dict[str, str], dict[str, Any]]] = [
    (
        ("region", "aws_region", "AWS_REGION", "default_region", "AWS_DEFAULT_REGION", "client_kwargs.region_name"),
        "eu-west-1",
        {"aws_region": "eu-west-1"},
        {"client_kwargs": {"region_name": "eu-west-1"}},
    ),
    (
        (
            *(
                "endpoint",
                "endpoint_url",
                "aws_endpoint",
                "aws_endpoint_url",
                "AWS_ENDPOINT_URL",
                "AWS_ENDPOINT_URL_S3",
            ),
            "client_kwargs.endpoint_url",
        ),
        "https://minio:9000/",
        {"aws_endpoint": "https://minio:9000", "aws_endpoint_url_s3": "https://minio:9000"},
        {"endpoint_url": "https://minio:9000"},
    ),
    (
        ("endpoint",),
        "http://minio:9000",
        {"aws_endpoint": "http://minio:9000", "aws_endpoint_url_s3": "http://minio:9000", "allow_http": "true"},
        {"endpoint_url": "http://minio:9000"},
    ),
    (
        ("skip_signature", "aws_skip_signature", "AWS_SKIP_SIGNATURE", "anon"),
        "true",
        {"aws_skip_signature": "true"},
        {"anon": True},
    ),
    (
        ("virtual_hosted_style_request", "aws_virtual_hosted_style_request", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"),
        "true",
        {"aws_virtual_hosted_style_request": "true"},
        {"config_kwargs": {"s3": {"addressing_style": "virtual"}}},
    ),
    (
        ("addressing_style", "config_kwargs.s3.addressing_style"),
        "path",
        {"aws_virtual_hosted_style_request": "false"},
        {"config_kwargs": {"s3": {"addressing_style": "path"}}},
    ),
    (
        ("request_payer", "aws_request_payer", "AWS_REQUEST_PAYER", "requester_pays"),
        "requester",
        {"aws_request_payer": "true"},
        {"requester_pays": True},
    ),
    (
        ("server_side_encryption", "aws_server_side_encryption", "s3_additional_kwargs.ServerSideEncryption"),
        "AES256",
        {"aws_server_side_encryption": "AES256"},
        {"s3_additional_kwargs": {"ServerSideEncryption": "AES256"}},
    ),
    (
        ("sse_customer_key_base64", "aws_sse_customer_key_base64", "AWS_SSE_CUSTOMER_KEY_BASE64"),
        CUSTOMER_KEY,
        {"aws_server_side_encryption": "sse-c", "aws_sse_customer_key_base64": CUSTOMER_KEY},
        {"s3_additional_kwargs": {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": b"k" * 32}},
    ),
    (
        ("checksum_algorithm", "aws_checksum_algorithm", "s3_additional_kwargs.ChecksumAlgorithm"),
        "SHA256",
        {"aws_checksum_algorithm": "sha256"},
        {"s3_additional_kwargs": {"ChecksumAlgorithm": "SHA256"}},
    ),
    (
        ("unsigned_payload", "aws_unsigned_payload"),
        "true",
        {"aws_unsigned_payload": "true"},
        {"config_kwargs": {"s3": {"payload_signing_enabled": False}}},
    ),
    (
        ("allow_invalid_certificates",),
        "true",
        {"allow_invalid_certificates": "true"},
        {"client_kwargs": {"verify": False}},
    ),
    (
        ("connect_timeout", "config_kwargs.connect_timeout"),
        "5",
        {"connect_timeout": "5000ms"},
        {"config_kwargs": {"connect_timeout": 5}},
    ),
    (
        ("read_timeout", "config_kwargs.read_timeout"),
        "1m",
        {"read_timeout": "60000ms"},
        {"config_kwargs": {"read_timeout": 60}},
    ),
    (("timeout", "request_timeout"), "30s", {"timeout": "30000ms"}, {}),
    (
        ("client_max_retries", "max_retries", "config_kwargs.retries.max_attempts"),
        "4",
        {"client_max_retries": "4"},
        {"config_kwargs": {"retries": {"max_attempts": 4}}},
    ),
    (
        ("proxy_url",),
        "http://proxy:3128",
        {"proxy_url": "http://proxy:3128"},
        {"config_kwargs": {"proxies": {"http": "http://proxy:3128", "https": "http://proxy:3128"}}},
    ),
    (("user_agent",), "me/1", {"user_agent": "me/1"}, {"config_kwargs": {"user_agent": "me/1"}}),
    (("s3_express", "aws_s3_express"), "true", {"s3_express": "true"}, {}),
    (("conditional_put", "aws_conditional_put"), "etag", {"aws_conditional_put": "etag"}, {}),
    (("disable_tagging", "aws_disable_tagging"), "true", {"aws_disable_tagging": "true"}, {}),
    (("disable_bulk_delete",), "true", {"aws_disable_bulk_delete": "true"}, {}),
    (("copy_if_not_exists",), "multipart", {"aws_copy_if_not_exists": "multipart"}, {}),
    (("allow_http",), "true", {"allow_http": "true"}, {}),
    (("max_pool_connections",), "50", {}, {"config_kwargs": {"max_pool_connections": 50}}),
    (("max_concurrency",), "2", {}, {"max_concurrency": 2}),
    (("pool_idle_timeout",), "90s", {"pool_idle_timeout": "90000ms"}, {}),
    (("download_retry_count",), "5", {"download_retry_count": "5"}, {}),
    (("client_retry_timeout",), "180", {"client_retry_timeout": "180"}, {}),
    (("lance_aimd_max_rate",), "100", {"lance_aimd_max_rate": "100"}, {}),
]


@pytest.mark.parametrize(
    ("spelling", "text", "lance_options", "arguments"),
    [(spelling, *rest) for spellings, *rest in SPELLINGS for spelling in spellings],
)
def test_spellings(spelling: str, text: str, lance_options: dict[str, str], arguments: dict[str, Any]):
    assert OPTIONS.for_lance({spelling: text}) == lance_options
    assert OPTIONS.for_fsspec({spelling: text}) == arguments


@pytest.mark.parametrize("key", ["access_key_id", "aws_access_key_id", "AWS_ACCESS_KEY_ID", "key", "username"])
@pytest.mark.parametrize("secret", ["secret_access_key", "AWS_SECRET_ACCESS_KEY", "secret", "password"])
@pytest.mark.parametrize("token", ["session_token", "aws_session_token", "AWS_SESSION_TOKEN", "aws_token", "token"])
def test_spellings_of_credentials(key: str, secret: str, token: str):
    given = {key: "k", secret: "s", token: "t"}
    assert OPTIONS.for_lance(given) == {
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
        "aws_session_token": "t",
    }
    assert OPTIONS.for_fsspec(given) == {"key": "k", "secret": "s", "token": "t"}


def test_encryption_with_a_key_of_kms():
    given = {
        "aws_server_side_encryption": "aws:kms",
        "aws_sse_kms_key_id": "key",
        "aws_sse_bucket_key_enabled": "true",
    }
    assert OPTIONS.for_lance(given) == given
    assert OPTIONS.for_fsspec(given) == {
        "s3_additional_kwargs": {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "key", "BucketKeyEnabled": True}
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"region": "a", "AWS_DEFAULT_REGION": "b"}, "option 'region' and option 'AWS_DEFAULT_REGION' set 'region' to"),
        ({"endpoint": "http://a", "allow_http": "false"}, "option 'endpoint' and option 'allow_http' set 'allow_http'"),
        ({"addressing_style": "path", "virtual_hosted_style_request": "true"}, "to different values"),
        ({"addressing_style": "auto"}, "'addressing_style' must be 'virtual' or 'path'"),
        ({"key": "k"}, "option 'key' needs 'secret_access_key' too"),
        ({"secret": "s"}, "option 'secret' needs 'access_key_id' too"),
        ({"token": "t"}, "option 'token' needs 'access_key_id' and 'secret_access_key' too"),
        ({"sse_kms_key_id": "k"}, "needs 'server_side_encryption' too"),
        ({"sse_customer_key_base64": "!"}, "must be written in base64"),
        ({"conditional_put": "disabled"}, "must be 'etag': a catalog needs conditional writes"),
        ({"endpoint": "minio:9000"}, "must be a URL that begins with"),
        ({"aws_profile": "p"}, "set AWS_PROFILE there, which s3fs obeys too"),
        ({"use_ssl": "false"}, "write https:// or http:// in 'endpoint'"),
        ({"proxy_excludes": "x"}, "set HTTPS_PROXY and NO_PROXY in the environment, which both obey"),
        ({"acces_key_id": "k"}, "has no option 'acces_key_id'. Did you mean 'access_key_id'?"),
    ],
)
def test_refusals(given: dict[str, str], message: str):
    for translate in (OPTIONS.for_lance, OPTIONS.for_fsspec):
        with pytest.raises(InvalidInputError) as caught:
            translate(given)
        assert message in str(caught.value)


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.options.items() if option.secret])
def test_secrets_are_in_no_refusal(name: str):
    with pytest.raises(InvalidInputError) as caught:
        OPTIONS.for_lance({name: "hush-hush", "no_such_option": "hush-hush"})
    assert "hush" not in str(caught.value)


TYPED = [
    name
    for option in OPTIONS.options.values()
    if option.type in {boolean, duration} and option.name != "sse_bucket_key_enabled"  # Read only with encryption on.
    for name in option.lance_names
]


@pytest.mark.parametrize("name", TYPED)
def test_pylance_knows_the_names(recorder: Recorder, name: str):
    """A name it knows, it reads; and what it cannot read it refuses before it asks the store anything."""
    known = OPTIONS.for_lance({"endpoint": recorder.endpoint, "key": "k", "secret": "s", "region": "r"})
    with pytest.raises(ValueError, match=r"failed to parse|Failed to parse"):
        lance.dataset("s3://lake/t.lance", storage_options={**known, name: "nonsense"})
    assert not recorder.requests


def test_s3fs_and_botocore_know_the_names():
    session = botocore.session.Session()
    put_object = session.get_service_model("s3").operation_model("PutObject").input_shape
    known = {
        "client_kwargs": inspect.signature(session.create_client).parameters,
        "config_kwargs": Config.OPTION_DEFAULTS,
        "s3_additional_kwargs": put_object.members,
    }
    for option in OPTIONS.options.values():
        argument, *nested = (option.fsspec or "key").split(".")
        assert argument in inspect.signature(S3FileSystem.__init__).parameters
        assert not nested or nested[0] in known[argument]


@pytest.mark.parametrize(
    "arguments", [arguments["config_kwargs"] for *_, arguments in SPELLINGS if "config_kwargs" in arguments]
)
def test_botocore_takes_the_values(arguments: dict[str, Any]):
    Config(**arguments)


def test_what_the_location_says_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="option 'bucket' is not taken: the location names it"):
        assert "bucket" not in OPTIONS.for_lance({"bucket": "b"})
