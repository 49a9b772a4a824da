"""What is really sent: with the same options and environment, pylance and s3fs ask the same of the same."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

from lancespace_dir_aws import S3Storage

if TYPE_CHECKING:
    from pathlib import Path

    from plugins.storage.conftest import Recorder, Request

KEYS = {"access_key_id": "GIVEN", "secret_access_key": "hush", "region": "eu-west-1"}
UNREACHABLE = "http://127.0.0.1:9"
EMPTY = "<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
plugin = S3Storage()


@pytest.fixture(autouse=True)
def empty_bucket(recorder: Recorder):
    recorder.otherwise = (200, EMPTY)


def refusal(status: int, code: str) -> tuple[int, str]:
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"


WRITTEN = (200, "")
EXISTS = refusal(412, "PreconditionFailed")  # Without the <Condition> that AWS adds and s3fs looks for.
UNDER_WAY = refusal(409, "ConditionalRequestConflict")


def signer(request: Request) -> str | None:
    """The key, region and service the request was signed with; the date between them is left out."""
    signed = request.headers.get("authorization")
    if signed is None:
        return None
    key, _, region, service, _ = signed.partition("Credential=")[2].partition(",")[0].split("/")
    return f"{key} {region} {service}"


def ask(recorder: Recorder, options: dict[str, str], location: str = "s3://lake/root") -> tuple[Request, Request]:
    """The first request of pylance and the first of s3fs; neither finds anything."""
    storage_options = plugin.storage_options(location=location, options=options)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(plugin.lance_location(f"{location}/t.lance"), storage_options=storage_options)
    from_lance = recorder.requests[0]
    recorder.requests.clear()
    with pytest.raises(FileNotFoundError):
        plugin.filesystem(location=location, options=options).ls("lake/root")
    return from_lance, recorder.requests[0]


def agreed(recorder: Recorder, options: dict[str, str], location: str = "s3://lake/root") -> Request:
    from_lance, from_s3fs = ask(recorder, options, location)
    assert signer(from_lance) == signer(from_s3fs)
    assert from_lance.target.partition("?")[0] == from_s3fs.target.partition("?")[0]
    for header in ("host", "x-amz-security-token", "x-amz-request-payer"):
        assert from_lance.headers.get(header) == from_s3fs.headers.get(header)
    return from_lance


def test_given_keys(recorder: Recorder):
    request = agreed(recorder, {**KEYS, "endpoint": recorder.endpoint, "session_token": "t"})
    assert signer(request) == "GIVEN eu-west-1 s3"
    assert request.headers["x-amz-security-token"] == "t"
    assert request.target.startswith("/lake?")


def test_keys_of_the_environment(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AMBIENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    request = agreed(recorder, {"endpoint": recorder.endpoint})
    assert signer(request) == "AMBIENT eu-west-2 s3"
    assert request.headers["x-amz-security-token"] == "t"


def test_a_profile(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    credentials = tmp_path / "credentials"
    credentials.write_text("[lakehouse]\naws_access_key_id = PROFILE\naws_secret_access_key = hush\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_PROFILE", "lakehouse")
    assert signer(agreed(recorder, {"endpoint": recorder.endpoint, "region": "eu-west-3"})) == "PROFILE eu-west-3 s3"


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"])
def test_an_endpoint_of_the_environment(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, recorder.endpoint)
    assert signer(agreed(recorder, KEYS)) == "GIVEN eu-west-1 s3"


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"])
def test_a_given_endpoint_wins(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, variable: str):
    monkeypatch.setenv(variable, UNREACHABLE)
    assert signer(agreed(recorder, {**KEYS, "endpoint": recorder.endpoint})) == "GIVEN eu-west-1 s3"


@pytest.mark.parametrize("variable", ["AWS_SESSION_TOKEN", "AWS_TOKEN", "SESSION_TOKEN", "TOKEN"])
def test_a_token_of_the_environment_is_not_sent_with_given_keys(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, variable: str
):
    monkeypatch.setenv(variable, "someone-elses")
    with pytest.raises(InvalidInputError, match=f"unset {variable}, or give 'session_token' as an option too"):
        ask(recorder, {**KEYS, "endpoint": recorder.endpoint})


def test_control_pylance_alone_does_send_it(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    """Why the test above is there; when this one fails, pylance has mended its ways and the rule can go."""
    storage_options = plugin.storage_options(location="s3://lake", options={**KEYS, "endpoint": recorder.endpoint})
    monkeypatch.setenv("TOKEN", "someone-elses")
    with pytest.raises(ValueError, match="not found"):
        lance.dataset("s3://lake/t.lance", storage_options=storage_options)
    assert recorder.requests[0].headers["x-amz-security-token"] == "someone-elses"


def test_no_signature(recorder: Recorder):
    assert signer(agreed(recorder, {"endpoint": recorder.endpoint, "anon": "true", "region": "eu-west-1"})) is None


def test_who_pays(recorder: Recorder):
    request = agreed(recorder, {**KEYS, "endpoint": recorder.endpoint, "requester_pays": "true"})
    assert request.headers["x-amz-request-payer"] == "requester"


@pytest.mark.parametrize("endpoint", ["http://store.invalid", "http://lake.store.invalid"])
def test_the_bucket_in_the_host_name(recorder: Recorder, endpoint: str):
    """Lance's users write the bucket into the endpoint, fsspec's do not; a proxy shows it, as there is no such host."""
    options = {**KEYS, "endpoint": endpoint, "addressing_style": "virtual", "proxy_url": recorder.endpoint}
    assert agreed(recorder, options).target.startswith("http://lake.store.invalid/?")


def test_the_bucket_in_the_path(recorder: Recorder):
    options = {**KEYS, "endpoint": "http://store.invalid", "proxy_url": recorder.endpoint}
    assert agreed(recorder, options, location="s3a://lake/root").target.startswith("http://store.invalid/lake?")


def test_a_key_of_the_customer(recorder: Recorder):
    key = base64.b64encode(bytes(32)).decode()
    options = {**KEYS, "endpoint": recorder.endpoint, "sse_customer_key_base64": key}
    storage_options = plugin.storage_options(location="s3://lake", options=options)
    lance.write_dataset(pa.table({"id": [1]}), "s3://lake/t.lance", storage_options=storage_options)
    filesystem = plugin.filesystem(location="s3://lake", options=options)
    filesystem.pipe_file("lake/marker", b"")
    filesystem.cat_file("lake/marker")
    sent = [request for request in recorder.requests if not request.target.startswith("/lake?")]
    assert {request.method for request in sent} == {"PUT", "HEAD", "GET"}
    assert {request.headers.get("x-amz-server-side-encryption-customer-key") for request in sent} == {key}


@pytest.mark.parametrize(
    ("answers", "written"),
    [
        ([WRITTEN], True),
        ([EXISTS], False),
        ([UNDER_WAY, WRITTEN], True),
        ([UNDER_WAY, EXISTS], False),
    ],
)
def test_the_answers_to_a_conditional_write(recorder: Recorder, answers: list[tuple[int, str]], *, written: bool):
    filesystem = plugin.filesystem(location="s3://lake", options={**KEYS, "endpoint": recorder.endpoint})
    recorder.answers = list(answers)
    assert plugin.put_if_absent(filesystem, "lake/marker", b"data") is written
    assert [request.headers["if-none-match"] for request in recorder.requests] == ["*"] * len(answers)


@pytest.mark.parametrize(
    ("answer", "error", "tries"),
    [(refusal(403, "AccessDenied"), PermissionError, 1), (UNDER_WAY, BlockingIOError, 10)],
)
def test_a_write_that_fails_says_so(recorder: Recorder, answer: tuple[int, str], error: type[OSError], tries: int):
    filesystem = plugin.filesystem(location="s3://lake", options={**KEYS, "endpoint": recorder.endpoint})
    recorder.otherwise = answer
    with pytest.raises(error):
        plugin.put_if_absent(filesystem, "lake/marker", b"data")
    assert len(recorder.requests) == tries


def test_retries_wait_with_jitter(recorder: Recorder):
    """Botocore's mode ``standard`` does."""
    filesystem = plugin.filesystem(location="s3://lake", options={**KEYS, "endpoint": recorder.endpoint})
    filesystem.connect()
    assert filesystem.s3.meta.config.retries["mode"] == "standard"
