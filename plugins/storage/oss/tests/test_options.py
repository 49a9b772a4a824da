"""The table: every spelling reaches pylance (OpenDAL) and ossfs, or is refused."""

from __future__ import annotations

from typing import Any

import lance
import pytest
from lance_namespace import InvalidInputError

from lancespace_dir_oss.options import OPTIONS

# What users write, and where it must arrive: options, pylance's share, fsspec's share.
SPELLINGS: list[tuple[tuple[str, ...], str, dict[str, str], dict[str, Any]]] = [
    (
        ("endpoint", "oss_endpoint", "OSS_ENDPOINT", "endpoint_url"),
        "https://oss-cn-hangzhou.aliyuncs.com/",
        {"oss_endpoint": "https://oss-cn-hangzhou.aliyuncs.com"},
        {"endpoint": "https://oss-cn-hangzhou.aliyuncs.com"},
    ),
    (
        ("endpoint",),
        "oss-cn-hangzhou.aliyuncs.com",
        {"oss_endpoint": "https://oss-cn-hangzhou.aliyuncs.com"},
        {"endpoint": "https://oss-cn-hangzhou.aliyuncs.com"},
    ),
    (
        ("endpoint",),
        "http://127.0.0.1:9000",
        {"oss_endpoint": "http://127.0.0.1:9000", "addressing_style": "path"},
        {"endpoint": "http://127.0.0.1:9000", "addressing_style": "path"},
    ),
    (("region", "oss_region", "OSS_REGION"), "cn-hangzhou", {"oss_region": "cn-hangzhou"}, {}),
    (
        ("addressing_style", "oss_addressing_style", "OSS_ADDRESSING_STYLE"),
        "cname",
        {"addressing_style": "cname"},
        {"addressing_style": "cname"},
    ),
    (
        ("skip_signature", "anon", "allow_anonymous", "anonymous"),
        "true",
        {"skip_signature": "true"},
        {"anonymous": True},
    ),
    (("download_retry_count",), "5", {"download_retry_count": "5"}, {}),
]


@pytest.mark.parametrize(
    ("spelling", "text", "lance_options", "arguments"),
    [(spelling, *rest) for spellings, *rest in SPELLINGS for spelling in spellings],
)
def test_spellings(spelling: str, text: str, lance_options: dict[str, str], arguments: dict[str, Any]):
    assert OPTIONS.for_lance({spelling: text}) == lance_options
    assert OPTIONS.for_fsspec({spelling: text}) == arguments


@pytest.mark.parametrize("key", ["access_key_id", "oss_access_key_id", "ALIBABA_CLOUD_ACCESS_KEY_ID", "key"])
@pytest.mark.parametrize(
    "secret",
    [
        *("access_key_secret", "secret_access_key", "oss_secret_access_key", "OSS_ACCESS_KEY_SECRET"),
        *("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "secret"),
    ],
)
@pytest.mark.parametrize(
    "token", ["security_token", "oss_security_token", "OSS_SESSION_TOKEN", "session_token", "token"]
)
def test_spellings_of_credentials(key: str, secret: str, token: str):
    given = {key: "k", secret: "s", token: "t"}
    assert OPTIONS.for_lance(given) == {
        "oss_access_key_id": "k",
        "oss_secret_access_key": "s",
        "oss_security_token": "t",
    }
    assert OPTIONS.for_fsspec(given) == {"key": "k", "secret": "s", "token": "t"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key": "k"}, "option 'key' needs 'access_key_secret' too"),
        ({"token": "hush"}, "option 'token' needs 'access_key_id' and 'access_key_secret' too"),
        ({"endpoint": "ftp://x"}, "must be a URL that begins with"),
        ({"addressing_style": "odd"}, "must be one of 'virtual', 'path', 'cname'"),
        (
            {"endpoint": "http://127.0.0.1:1", "addressing_style": "virtual"},
            "option 'endpoint' and option 'addressing_style' set 'addressing_style' to different values",
        ),
        ({"role_arn": "r"}, "ossfs cannot assume roles"),
        ({"ALIBABA_CLOUD_OIDC_TOKEN_FILE": "f"}, "ossfs cannot assume roles"),
        ({"server_side_encryption": "AES256"}, "make it the bucket's default encryption"),
        ({"proxy_url": "http://p"}, "set HTTPS_PROXY and NO_PROXY in the environment, which both obey"),
        ({"oss_endpont": "x"}, "Did you mean 'oss_endpoint'?"),
    ],
)
def test_refusals(given: dict[str, str], message: str):
    for translate in (OPTIONS.for_lance, OPTIONS.for_fsspec):
        with pytest.raises(InvalidInputError) as caught:
            translate(given)
        assert message in str(caught.value)
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize("variable", ["OSS_SECURITY_TOKEN", "ALIBABA_CLOUD_SECURITY_TOKEN", "AWS_SECURITY_TOKEN"])
def test_given_and_ambient_credentials_are_not_mixed(monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, "t")
    with pytest.raises(InvalidInputError, match=f"unset {variable}, or give 'security_token' as an option too"):
        OPTIONS.for_lance({"key": "k", "secret": "s"})


@pytest.mark.parametrize("vendor", ["OSS", "ALIBABA_CLOUD"])
def test_secrets_of_the_environment_are_left_for_pylance_to_read_itself(monkeypatch: pytest.MonkeyPatch, vendor: str):
    monkeypatch.setenv(f"{vendor}_ACCESS_KEY_ID", "k")
    monkeypatch.setenv(f"{vendor}_ACCESS_KEY_SECRET", "s")
    assert OPTIONS.for_lance({}) == {}
    assert OPTIONS.for_fsspec({}) == {"key": "k", "secret": "s"}


@pytest.mark.parametrize(
    ("name", "message"), [("skip_signature", "invalid bool"), ("addressing_style", "addressing style")]
)
def test_pylance_knows_the_names(name: str, message: str):
    """A name it knows, it reads; and what it cannot read it refuses before it asks the store anything."""
    known = OPTIONS.for_lance({"endpoint": "http://127.0.0.1:9", "key": "k", "secret": "s"})
    with pytest.raises(ValueError, match=message):
        lance.dataset("oss://lake/t.lance", storage_options={**known, name: "nonsense"})


def test_what_the_location_says_is_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="option 'bucket' is not taken: the location names it"):
        assert "bucket" not in OPTIONS.for_lance({"bucket": "b"})
