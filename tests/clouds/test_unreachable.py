"""An endpoint where nobody is: an error within seconds that names it, and no secret."""

from __future__ import annotations

import socket

import pytest
from lance_namespace import ServiceUnavailableError

from lancespace.authoring import translated
from tests.emulators.clouds import Cloud


@pytest.fixture
def nobody() -> str:
    """An address at which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{unused.getsockname()[1]}"


@pytest.mark.parametrize("name", ["s3", "oss"])
def test_both_clients_name_the_endpoint(name: str, nobody: str, request: pytest.FixtureRequest):
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud").behind(f"http://{nobody}")
    if name == "s3":  # OSS's clients cannot be told.
        cloud = cloud.with_options(max_retries="1")
    root = f"{cloud.scheme}://lake/warehouse"
    storage = cloud.storage(root)
    with cloud.connect(root) as namespace, pytest.raises(ServiceUnavailableError) as from_lance:
        namespace.list_tables()
    with pytest.raises(ServiceUnavailableError) as from_fsspec, translated("write"):
        storage.put_if_absent(f"{storage.path()}/mark", b"")

    address, _, port = nobody.partition(":")
    for caught in (from_lance, from_fsspec):
        assert address in str(caught.value)
        assert port in str(caught.value)
        assert cloud.secret not in str(caught.value)


@pytest.mark.parametrize("name", ["gcs", "azure"])
def test_the_catalog_names_the_endpoint(name: str, nobody: str, request: pytest.FixtureRequest):
    """gcsfs and adlfs go on trying for long, so only pylance is asked."""
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud").behind(f"http://{nobody}").with_options(max_retries="1")
    with (
        cloud.connect(f"{cloud.scheme}://lake/warehouse", dir_listing_enabled="false") as namespace,
        pytest.raises(ServiceUnavailableError) as caught,
    ):
        namespace.list_tables()
    assert nobody in str(caught.value)
    assert cloud.secret not in str(caught.value)
