"""The emulators as fixtures; each is started at most once per process of a test run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest

from tests.emulators.azurite import azurite_server
from tests.emulators.clouds import Cloud
from tests.emulators.gcs.server import GcsServer, gcs_server
from tests.emulators.guard import NO_METADATA
from tests.emulators.oss.server import OssServer, oss_server
from tests.emulators.oss.signature import AccessKey
from tests.emulators.s3 import REGION, s3_server

CLOUDS = ("s3", "gcs", "azure", "oss")

_VENDORS = ("AWS_", "GOOGLE_", "AZURE_", "AZURITE_", "OSS_", "ALIBABA_CLOUD_", "STORAGE_")
_UNMARKED = ("TOKEN", "SESSION_TOKEN", "ENDPOINT", "ENDPOINT_URL", "REGION")


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the credentials, settings and proxies of whoever runs it, and none asks AWS's instance for some."""
    for variable in os.environ:
        name = variable.upper()
        if name in NO_METADATA:
            continue
        if name.startswith(_VENDORS) or name in _UNMARKED or name.endswith("_PROXY"):
            monkeypatch.delenv(variable)
    # pylance reads all certificates of the machine for each of its clients, and none speaks TLS here.
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of moto."""
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def s3_cloud(s3_endpoint: str) -> Cloud:
    """S3."""
    from s3fs import S3FileSystem

    options = {
        "endpoint": s3_endpoint,
        "access_key_id": "testing",
        "secret_access_key": "hush",
        "region": REGION,
    }
    owner = S3FileSystem(key="testing", secret="hush", endpoint_url=s3_endpoint, use_listings_cache=False)
    return Cloud("s3", s3_endpoint, options, owner.mkdir, "secret_access_key")


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    """The stand-in for Google Cloud Storage."""
    with gcs_server(token="hush") as server:
        yield server


@pytest.fixture(scope="session")
def gcs_cloud(gcs: GcsServer) -> Cloud:
    """Google Cloud Storage."""
    options = {"endpoint": gcs.endpoint, "token": "hush"}
    return Cloud("gs", gcs.endpoint, options, gcs.service.store.create_bucket, "token")


@pytest.fixture(scope="session")
def azurite() -> Iterator[str]:
    """The address of azurite; where it cannot be installed, its tests are skipped."""
    with azurite_server() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def azure_cloud(azurite: str) -> Cloud:
    """Azure Blob Storage."""
    from adlfs import AzureBlobFileSystem

    from lancespace_dir_azure.accounts import EMULATOR

    options = {**EMULATOR, "endpoint": f"{azurite}/{EMULATOR['account_name']}"}
    owner = AzureBlobFileSystem(
        connection_string=f"BlobEndpoint={options['endpoint']};AccountName={options['account_name']};"
        f"AccountKey={options['account_key']}"
    )
    return Cloud("az", azurite, options, owner.mkdir, "account_key")


@pytest.fixture(scope="session")
def oss() -> Iterator[OssServer]:
    """The stand-in for Alibaba's object storage."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The sources of Alibaba's client have escapes that Python warns of.
        import ossfs  # noqa: F401 - imported for the sake of importing it
    with oss_server(keys={"KEY": AccessKey("hush")}) as server:
        yield server


@pytest.fixture(scope="session")
def oss_cloud(oss: OssServer) -> Cloud:
    """Alibaba Cloud Object Storage Service."""
    options = {
        "endpoint": oss.endpoint,
        "access_key_id": "KEY",
        "access_key_secret": "hush",
        "addressing_style": "path",
    }
    return Cloud("oss", oss.endpoint, options, oss.service.store.create_bucket, "access_key_secret")


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> Cloud:
    """Each of the clouds."""
    found: Cloud = request.getfixturevalue(f"{request.param}_cloud")
    return found
