"""AWS's default chain: pylance and s3fs find the same credentials, without an option."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from plugins.storage.aws.tests.test_wire import EMPTY, agreed, signer

if TYPE_CHECKING:
    from pathlib import Path

    from plugins.storage.conftest import Recorder, Request

METADATA = "/latest/meta-data"
ROLE = f"{METADATA}/iam/security-credentials/"


@pytest.fixture(autouse=True)
def empty_bucket(recorder: Recorder):
    recorder.otherwise = (200, EMPTY)


def ask(recorder: Recorder) -> Request:
    request = agreed(recorder, {"endpoint": recorder.endpoint, "region": "eu-west-1"})
    assert request.headers["x-amz-security-token"] == "t"
    return request


def credentials(key: str) -> str:
    times = {"LastUpdated": "2020-01-01T00:00:00Z", "Expiration": "2099-01-01T00:00:00Z"}
    secrets = {"AccessKeyId": key, "SecretAccessKey": "hush", "Token": "t"}
    return json.dumps({"Code": "Success", "Type": "AWS-HMAC", **secrets, **times})


def test_a_container(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    recorder.pages["/task"] = credentials("CONTAINER")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{recorder.endpoint}/task")
    assert signer(ask(recorder)) == "CONTAINER eu-west-1 s3"


def test_an_instance(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    recorder.pages |= {"/latest/api/token": "session", f"{METADATA}/placement/region": "eu-west-1"}
    recorder.pages |= {ROLE: "role", f"{ROLE}role": credentials("EC2")}
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", recorder.endpoint)
    assert signer(ask(recorder)) == "EC2 eu-west-1 s3"


def test_a_web_identity(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "token").write_text("who I am")
    recorder.pages["/"] = (
        '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
        "<AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/pod/me</Arn>"
        "<AssumedRoleId>AROA:me</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>POD</AccessKeyId>"
        "<SecretAccessKey>hush</SecretAccessKey><SessionToken>t</SessionToken>"
        "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
        "</AssumeRoleWithWebIdentityResponse>"
    )
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", recorder.endpoint)
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert signer(ask(recorder)) == "POD eu-west-1 s3"
