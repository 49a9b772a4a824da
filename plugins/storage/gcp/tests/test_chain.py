"""Google's application default credentials: pylance and gcsfs act as the same account, without an option."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from plugins.storage.gcp.tests.test_wire import ask

if TYPE_CHECKING:
    from pathlib import Path

    from plugins.storage.conftest import Recorder

ACCOUNT = "robot@example.com"


def account_file(token_uri: str) -> str:
    """The key of a service account whose tokens are to be had at an address."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {"client_email": ACCOUNT, "private_key_id": "k", "private_key": pem, "token_uri": token_uri}
    return json.dumps({"type": "service_account", **account})


def claims(token: str) -> dict[str, Any]:
    """What a token of the account's own making says."""
    payload = token.split(".")[1]
    told: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return told


@pytest.mark.parametrize("place", ["GOOGLE_APPLICATION_CREDENTIALS", "gcloud"])
def test_a_service_account(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str):
    """pylance makes a token with the account's key; Google's library asks for one with the same key."""
    recorder.pages["/token"] = json.dumps({"access_token": "ya29.z", "expires_in": 3600, "token_type": "Bearer"})
    file = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text(account_file(f"{recorder.endpoint}/token"))
    monkeypatch.setenv("HOME", str(tmp_path))
    if place != "gcloud":
        elsewhere = file.rename(tmp_path / "account.json")
        monkeypatch.setenv(place, str(elsewhere))

    from_lance, from_gcsfs = ask(recorder, {"endpoint": recorder.endpoint})

    assert claims(from_lance.headers["authorization"])["iss"] == ACCOUNT
    assert from_gcsfs.headers["authorization"] == "Bearer ya29.z"
