"""Azure's default chain: pylance and adlfs find the same identity, without an option, and azurite lets both in."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from plugins.storage.azure.tests.entra import token
from tests.emulators.loopback import Answer, Request
from tests.emulators.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Entra:
    """Gives out tokens, to machines and to workloads, and remembers who asked."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.asked: list[str] = []

    def __call__(self, request: Request) -> Answer:
        """Answer one request for a token."""
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        proof = request.header("X-IDENTITY-HEADER") or form.get("client_assertion") or form.get("client_secret")
        self.asked.append(f"{request.raw_path} {proof}")
        life = {"expires_in": 3600, "expires_on": "4102444800"}
        given = {"access_token": token(), "token_type": "Bearer", "resource": "https://storage.azure.com", **life}
        return Answer(200, json.dumps(given).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def entra(certificate: tuple[Path, Path]) -> Iterator[Entra]:
    """Entra, with the certificate that clients trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    made = Entra()
    with serving(made, context) as made.endpoint:
        yield made


def go_round(endpoint: str) -> None:
    """Do it in a new process: there, all clients find the certificate in the environment."""
    command = [sys.executable, "-m", "plugins.storage.azure.tests.rounds", endpoint]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_managed_identity(entra_endpoint: str, entra: Entra, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{entra.endpoint}/msi/token")
    monkeypatch.setenv("IDENTITY_HEADER", "machine")
    go_round(entra_endpoint)
    assert set(entra.asked) == {"/msi/token machine"}
    assert len(entra.asked) >= 2


def test_a_workload_identity(entra_endpoint: str, entra: Entra, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "token").write_text("pod")
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", entra.endpoint)
    monkeypatch.setenv("AZURE_CLIENT_ID", "client")
    monkeypatch.setenv("AZURE_TENANT_ID", "tenant")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    go_round(entra_endpoint)
    assert set(entra.asked) == {"/tenant/oauth2/v2.0/token pod"}
    assert len(entra.asked) >= 2


def test_a_service_principal(entra_endpoint: str, entra: Entra, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", entra.endpoint)
    monkeypatch.setenv("AZURE_CLIENT_ID", "client")
    monkeypatch.setenv("AZURE_TENANT_ID", "tenant")
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "principal")
    go_round(entra_endpoint)
    assert set(entra.asked) == {"/tenant/oauth2/v2.0/token principal"}
    assert len(entra.asked) >= 2
