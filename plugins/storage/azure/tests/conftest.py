"""Azurite with one empty container, and one that takes tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lancespace_dir_azure.accounts import EMULATOR
from plugins.storage.azure.tests.entra import write_certificate
from tests.emulators.azurite import azurite_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.emulators.clouds import Cloud

CONTAINER = "lake"


@pytest.fixture
def azurite_options(azure_cloud: Cloud) -> Iterator[dict[str, str]]:
    """Options for an emulator with one empty container."""
    azure_cloud.create_bucket(CONTAINER)
    yield dict(azure_cloud.options)
    azure_cloud.storage(f"az://{CONTAINER}").filesystem.rm(CONTAINER, recursive=True)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    return write_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def _azurite_with_tokens(certificate: tuple[Path, Path]) -> Iterator[str]:
    path, key = certificate
    with azurite_server("--oauth", "basic", "--cert", str(path), "--key", str(key)) as address:
        yield f"{address}/{EMULATOR['account_name']}"


@pytest.fixture
def entra_endpoint(_azurite_with_tokens: str, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> str:
    """An azurite with a certificate that all clients trust."""
    for variable in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(variable, str(certificate[0]))
    return _azurite_with_tokens
