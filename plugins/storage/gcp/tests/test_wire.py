"""What is really sent: with the same options and environment, pylance and gcsfs ask the same of the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import lance
import pytest
from google.auth.exceptions import DefaultCredentialsError

from lancespace.authoring import Connection
from lancespace_dir_gcp import GcsStorage

if TYPE_CHECKING:
    from pathlib import Path

    from plugins.storage.conftest import Recorder, Request

XML = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
JSON = json.dumps({"kind": "storage#objects"})
plugin = GcsStorage()


def ask(recorder: Recorder, options: dict[str, str]) -> tuple[Request, Request]:
    """The first request of pylance and the first of gcsfs; neither finds anything."""
    location = plugin.lance_location("gcs://lake/t.lance")
    storage_options = plugin.storage_options(location, options)
    recorder.otherwise = (200, XML)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(location, storage_options=storage_options)
    from_lance = recorder.requests[0]
    recorder.requests.clear()
    recorder.otherwise = (404, "{}")
    with pytest.raises(FileNotFoundError):
        plugin.filesystem(options=options).ls("lake/root")
    return from_lance, recorder.requests[0]


def bearer(recorder: Recorder, options: dict[str, str]) -> str | None:
    """What both show at the door."""
    from_lance, from_gcsfs = ask(recorder, options)
    assert from_lance.headers.get("authorization") == from_gcsfs.headers.get("authorization")
    return from_lance.headers.get("authorization")


def test_a_given_token(recorder: Recorder):
    assert bearer(recorder, {"endpoint": recorder.endpoint, "token": "ya29.x"}) == "Bearer ya29.x"


def test_a_token_of_the_environment_stays_there(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_STORAGE_TOKEN", "ya29.y")
    options = {"endpoint": recorder.endpoint}
    assert bearer(recorder, options) == "Bearer ya29.y"
    assert "ya29.y" not in plugin.storage_options("gs://lake", options).values()


def test_no_signature(recorder: Recorder):
    assert bearer(recorder, {"endpoint": recorder.endpoint, "token": "anon"}) is None


@pytest.mark.parametrize("variable", ["GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"])
def test_an_endpoint_of_the_environment(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, recorder.endpoint)
    assert bearer(recorder, {"token": "t"}) == "Bearer t"


@pytest.mark.parametrize("variable", ["GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"])
def test_a_given_endpoint_wins(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert bearer(recorder, {"token": "t", "endpoint": recorder.endpoint}) == "Bearer t"


def test_a_given_proxy(recorder: Recorder):
    options = {"token": "t", "endpoint": "http://store.invalid", "proxy_url": recorder.endpoint}
    assert all(request.target.startswith("http://store.invalid/") for request in ask(recorder, options))


def test_a_proxy_of_the_environment(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    for variable in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(variable, recorder.endpoint)
    options = {"token": "t", "endpoint": "http://store.invalid"}
    assert all(request.target.startswith("http://store.invalid/") for request in ask(recorder, options))


def test_without_credentials_nobody_goes_on_anonymously(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    with pytest.raises(DefaultCredentialsError):
        plugin.filesystem(options={})


@pytest.mark.parametrize(("answer", "written"), [((200, JSON), True), ((412, "{}"), False)])
def test_a_conditional_write(recorder: Recorder, answer: tuple[int, str], *, written: bool):
    filesystem = plugin.filesystem(options={"token": "t", "endpoint": recorder.endpoint})
    recorder.otherwise = answer
    assert plugin.put_if_absent(filesystem, "lake/marker", b"data") is written
    assert [parse_qs(urlsplit(request.target).query)["ifGenerationMatch"] for request in recorder.requests] == [["0"]]


def test_equal_options_share_a_file_system_that_forgets_listings():
    options = {"token": "t", "endpoint": "http://127.0.0.1:9"}
    filesystem = plugin.filesystem(options=options)
    assert filesystem is plugin.filesystem(options=dict(options))
    assert not filesystem.dircache.use_listings_cache


@pytest.mark.parametrize("scheme", ["gs", "gcs"])
def test_a_connection_finds_the_plugin_by_its_scheme(scheme: str):
    storage = Connection("memory", {}).storage(f"{scheme}://lake/root", {"token": "t"})
    assert storage.options == {"google_storage_token": "t"}
    assert storage.path() == "lake/root"
