"""With nothing but the environment, every kind of request of a catalog is made with the credentials in it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from plugins.dir.tests.processes import Process
from tests.clouds.everything import use_everything
from tests.emulators.clouds import Cloud
from tests.emulators.loopback import Request
from tests.emulators.metadata_google import metadata_server
from tests.emulators.proxy import Proxy, proxy_to

READ, WRITE, DELETE = frozenset({"GET", "HEAD"}), frozenset({"PUT", "POST"}), frozenset({"DELETE", "POST"})
KINDS = {
    "the manifest": (READ, "/__manifest/_versions/"),
    "a listing": (READ, "prefix="),
    "a commit": (WRITE, "/__manifest/_versions/"),
    "a marker": (WRITE, "/declared.lance/.lance-reserved"),
    "a table": (READ, "/t.lance/data/"),
    "a version": (WRITE, "/t.lance/_versions/"),
    "a job": (WRITE, "/__jobs/"),
    "a delete": (DELETE, "/doomed.lance/.lance-reserved"),
}
PROFILE = "[lakehouse]\naws_access_key_id = PROFILE\naws_secret_access_key = hush\n"
Ways = list[tuple[str, dict[str, str]]]


def s3(cloud: Cloud, endpoint: str, folder: Path) -> Ways:
    file = folder / "credentials"
    file.write_text(PROFILE)
    keys = {"AWS_ACCESS_KEY_ID": "AMBIENT", "AWS_SECRET_ACCESS_KEY": cloud.secret, "AWS_REGION": "eu-west-2"}
    profile = {"AWS_PROFILE": "lakehouse", "AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_DEFAULT_REGION": "eu-west-2"}
    return [
        ("Credential=AMBIENT/", {**keys, "AWS_ENDPOINT_URL": endpoint}),
        ("Credential=PROFILE/", {**profile, "AWS_ENDPOINT_URL_S3": endpoint}),
    ]


def gs(cloud: Cloud, endpoint: str, _folder: Path) -> Ways:
    return [(f"Bearer {cloud.secret}", {"GOOGLE_STORAGE_TOKEN": cloud.secret, "STORAGE_EMULATOR_HOST": endpoint})]


def az(cloud: Cloud, endpoint: str, _folder: Path) -> Ways:
    account = cloud.options["account_name"]
    names = {"AZURE_STORAGE_ACCOUNT_NAME": account, "AZURE_STORAGE_ACCOUNT_KEY": cloud.secret}
    text = f"BlobEndpoint={endpoint}/{account};AccountName={account};AccountKey={cloud.secret}"
    return [
        (f"SharedKey {account}:", {**names, "AZURE_STORAGE_ENDPOINT": f"{endpoint}/{account}"}),
        (f"SharedKey {account}:", {"AZURE_STORAGE_CONNECTION_STRING": text}),
    ]


def oss(cloud: Cloud, endpoint: str, _folder: Path) -> Ways:
    return [
        (
            "OSS KEY:",
            {
                f"{vendor}_ACCESS_KEY_ID": "KEY",
                f"{vendor}_ACCESS_KEY_SECRET": cloud.secret,
                f"{vendor}_ENDPOINT": endpoint,
            },
        )
        for vendor in ("OSS", "ALIBABA_CLOUD")
    ]


def is_of(kind: str, request: Request) -> bool:
    methods, part = KINDS[kind]
    return request.method in methods and part in unquote(request.target) + request.body.decode(errors="replace")


def check(proxy: Proxy, root: str, signer: str, variables: dict[str, str]) -> None:
    """Use a catalog with these variables: all that is asked is signed, and there is every kind of it."""
    proxy.heal()
    Process(use_everything, root, variables).result()
    strangers = {request.target for request in proxy.requests if signer not in request.headers["Authorization"]}
    assert strangers == set()
    assert [kind for kind in KINDS if not any(is_of(kind, request) for request in proxy.requests)] == []


def test_all_that_is_asked_is_asked_by_who_the_environment_says(cloud: Cloud, tmp_path: Path):
    ways = {"s3": s3, "gs": gs, "az": az, "oss": oss}[cloud.scheme]
    with proxy_to(cloud.endpoint) as proxy:
        for signer, variables in ways(cloud, proxy.endpoint, tmp_path):
            check(proxy, cloud.new_root(), signer, variables)


def test_the_account_of_a_machine_of_googles(gcs_cloud: Cloud, tmp_path: Path):
    """Both clients end their search for credentials at the machine's metadata server."""
    with proxy_to(gcs_cloud.endpoint) as proxy, metadata_server(gcs_cloud.secret) as variables:
        variables |= {"STORAGE_EMULATOR_HOST": proxy.endpoint, "HOME": str(tmp_path)}
        check(proxy, gcs_cloud.new_root(), f"Bearer {gcs_cloud.secret}", variables)
