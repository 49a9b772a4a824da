"""What is really sent, and what is made of the answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import lance
import pytest
from lance_namespace import InvalidInputError

from lancespace.authoring import Connection
from lancespace_dir_oss import OssStorage

if TYPE_CHECKING:
    from plugins.storage.conftest import Recorder, Request

KEYS = {"access_key_id": "GIVEN", "access_key_secret": "hush"}
EMPTY = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
SOME = (
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>dir/a</Key><Size>1</Size><ETag>x</ETag>"
    "<LastModified>2026-01-01T00:00:00.000Z</LastModified><Type>Normal</Type><StorageClass>Standard</StorageClass>"
    "</Contents><CommonPrefixes><Prefix>dir/b/</Prefix></CommonPrefixes></ListBucketResult>"
)
plugin = OssStorage()


def refusal(status: int, code: str) -> tuple[int, str]:
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"


def ask(recorder: Recorder, options: dict[str, str]) -> tuple[Request, Request]:
    """The first request of pylance and the first of ossfs; neither finds anything."""
    recorder.otherwise = (200, EMPTY)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset("oss://lake/t.lance", storage_options=plugin.storage_options("oss://lake", options))
    from_lance = recorder.requests[0]
    recorder.requests.clear()
    with pytest.raises(FileNotFoundError):
        plugin.filesystem(options=options).ls("/lake/dir")
    return from_lance, recorder.requests[0]


def signer(request: Request) -> str | None:
    """The key the request was signed with, and the token beside it."""
    signed, token = request.headers.get("authorization"), request.headers.get("x-oss-security-token")
    return f"{signed.removeprefix('OSS ').partition(':')[0]} {token}" if signed else None


def agreed(recorder: Recorder, options: dict[str, str]) -> str | None:
    from_lance, from_ossfs = ask(recorder, options)
    assert signer(from_lance) == signer(from_ossfs)
    assert from_lance.target.partition("?")[0].strip("/") == from_ossfs.target.partition("?")[0].strip("/") == "lake"
    return signer(from_lance)


def test_given_keys(recorder: Recorder):
    assert agreed(recorder, {**KEYS, "endpoint": recorder.endpoint}) == "GIVEN None"
    recorder.requests.clear()
    assert agreed(recorder, {**KEYS, "endpoint": recorder.endpoint, "security_token": "t"}) == "GIVEN t"


@pytest.mark.parametrize("vendor", ["OSS", "ALIBABA_CLOUD"])
def test_keys_and_endpoint_of_the_environment(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, vendor: str):
    monkeypatch.setenv(f"{vendor}_ACCESS_KEY_ID", "AMBIENT")
    monkeypatch.setenv(f"{vendor}_ACCESS_KEY_SECRET", "hush")
    monkeypatch.setenv(f"{vendor}_SECURITY_TOKEN", "t")
    monkeypatch.setenv(f"{vendor}_ENDPOINT", recorder.endpoint)
    assert agreed(recorder, {}) == "AMBIENT t"


def test_no_signature(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OSS_ACCESS_KEY_ID", "AMBIENT")
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", "hush")
    assert agreed(recorder, {"endpoint": recorder.endpoint, "skip_signature": "true"}) is None


@pytest.mark.parametrize(
    ("style", "url"),
    [
        ("virtual", "http://lake.store.invalid/"),
        ("path", "http://store.invalid/lake"),
        ("cname", "http://store.invalid/"),
    ],
)
def test_where_the_bucket_stands(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, style: str, url: str):
    """There is no such host: pylance says whom it asked in vain, ossfs asks by a proxy."""
    options = {**KEYS, "endpoint": "http://store.invalid", "addressing_style": style}
    with pytest.raises(ValueError, match=re.escape(f"url: {url}?")):
        lance.dataset("oss://lake/t.lance", storage_options=plugin.storage_options("oss://lake", options))
    monkeypatch.setenv("http_proxy", recorder.endpoint)
    recorder.otherwise = (200, EMPTY)
    with pytest.raises(FileNotFoundError):
        plugin.filesystem(options=options).ls("/lake/dir")
    assert recorder.requests[0].target.partition("?")[0].rstrip("/") == url.rstrip("/")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (KEYS, "give the option 'endpoint'"),
        ({"endpoint": "https://oss-cn-hangzhou.aliyuncs.com"}, "give the options 'access_key_id' and"),
    ],
)
def test_what_has_to_be_given(options: dict[str, str], message: str):
    with pytest.raises(InvalidInputError, match=message):
        plugin.storage_options("oss://lake", options)
    with pytest.raises(InvalidInputError, match=message):
        plugin.filesystem(options=options)


@pytest.mark.parametrize(("answer", "written"), [((200, ""), True), (refusal(409, "FileAlreadyExists"), False)])
@pytest.mark.parametrize("size", [0, 11 * 2**20])
def test_a_conditional_write_is_one_request(recorder: Recorder, answer: tuple[int, str], size: int, *, written: bool):
    filesystem = plugin.filesystem(options={**KEYS, "endpoint": recorder.endpoint})
    recorder.otherwise = answer
    assert plugin.put_if_absent(filesystem, "/lake/marker", bytes(size)) is written
    assert [(request.method, request.headers["x-oss-forbid-overwrite"]) for request in recorder.requests] == [
        ("PUT", "true")
    ]


def test_a_write_that_fails_says_so(recorder: Recorder):
    filesystem = plugin.filesystem(options={**KEYS, "endpoint": recorder.endpoint})
    recorder.otherwise = refusal(403, "AccessDenied")
    with pytest.raises(PermissionError):
        plugin.put_if_absent(filesystem, "/lake/marker", b"")


def test_listings_are_never_stale(recorder: Recorder):
    filesystem = plugin.filesystem(options={**KEYS, "endpoint": recorder.endpoint})
    recorder.otherwise = (200, SOME)
    assert filesystem.ls("/lake/dir", detail=False) == ["/lake/dir/a", "/lake/dir/b"]
    recorder.otherwise = (200, EMPTY)
    with pytest.raises(FileNotFoundError):
        filesystem.ls("/lake/dir", detail=False)
    assert filesystem.ls("/lake", detail=False) == []


@pytest.mark.parametrize(("code", "error"), [("AccessDenied", PermissionError), ("SignatureDoesNotMatch", OSError)])
def test_a_listing_that_is_denied_is_not_empty(recorder: Recorder, code: str, error: type[OSError]):
    filesystem = plugin.filesystem(options={**KEYS, "endpoint": recorder.endpoint})
    recorder.otherwise = refusal(403, code)
    with pytest.raises(error, match=code):
        filesystem.ls("/lake/dir")


def test_a_name_that_no_bucket_has(recorder: Recorder):
    filesystem = plugin.filesystem(options={**KEYS, "endpoint": recorder.endpoint})
    with pytest.raises(FileNotFoundError):
        filesystem.cat_file("/UPPER/file")


def test_equal_options_share_a_file_system():
    options = {**KEYS, "endpoint": "http://127.0.0.1:9"}
    assert plugin.filesystem(options=options) is plugin.filesystem(options=dict(options))


def test_a_connection_finds_the_plugin_by_its_scheme():
    storage = Connection("memory", {}).storage("oss://lake/root", {**KEYS, "endpoint": "https://store.invalid"})
    assert storage.options["oss_endpoint"] == "https://store.invalid"
    assert storage.path() == "/lake/root"
