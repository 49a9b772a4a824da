"""Why a store fails: every cause, on every store that can show it, is one clear error that says what to do."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from lance_namespace import LanceNamespaceError, ServiceUnavailableError

from lancespace.authoring import Cause, translated
from lancespace_dir import checks, migrate
from plugins.rest.tests.certificates import Authority
from plugins.rest.tests.test_proxies import Tunnels
from plugins.storage.gcp.tests.test_chain import account_file
from tests.emulators.clouds import Cloud
from tests.emulators.fixtures import CLOUDS
from tests.emulators.loopback import Answer
from tests.emulators.refusals import LATE_TOKEN, REDIRECT, REFUSALS
from tests.emulators.serving import serving

RAW = re.compile(r"<\?xml|<Code>|\{\s*\"error\"|LanceError|Location \{|source: Some|\.rs:\d|'status':|panicked")
"""What only programs read."""
PATIENT = ("gcs", "azure")
"""Whose clients for fsspec go on for half a minute where nobody answers."""
ONCE = {"client_max_retries": "0", "lance_aimd_max_retries": "0"}


def check(caught: LanceNamespaceError, cause: Cause, cloud: Cloud) -> None:
    message = str(caught)
    assert type(caught) is cause.kind, message
    assert cause.what in message
    assert cause.remedy in message
    assert not RAW.search(message), message
    assert cloud.secret not in message
    assert "\n" not in message


def failures(cloud: Cloud, root: str, *, pylance_only: bool = False) -> list[LanceNamespaceError]:
    """What a read through pylance, and a write through fsspec, fail with."""
    storage = cloud.storage(root)
    # The second listing of the default mode is made through fsspec.
    mode = {"dir_listing_enabled": "false"} if pylance_only else {}
    calls: list[Callable[[], object]] = [lambda: cloud.connect(root, **mode).list_tables()]
    if not pylance_only:
        calls.append(lambda: storage.put_if_absent(f"{storage.path()}/mark", b"x"))
    found: list[LanceNamespaceError] = []
    for call in calls:
        with pytest.raises(LanceNamespaceError) as caught, translated("write"):
            call()
        found.append(caught.value)
    return found


def seen_at(endpoint: str, name: str, request: pytest.FixtureRequest) -> Cloud:
    """A cloud at another address, whose clients do not try again where they can be told so."""
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud").behind(endpoint)
    return cloud if name == "oss" else cloud.with_options(**ONCE)


@pytest.mark.parametrize(("name", "cause"), [(name, cause) for name in CLOUDS for cause in REFUSALS[name]])
def test_what_the_store_answers(name: str, cause: str, request: pytest.FixtureRequest):
    with serving(lambda _: REFUSALS[name][cause]) as endpoint:
        cloud = seen_at(endpoint, name, request)
        patient = (name, cause) in {("gcs", "THROTTLED"), ("gcs", "BAD_CREDENTIALS"), ("azure", "THROTTLED")}
        for failure in failures(cloud, f"{cloud.scheme}://bucket/lake", pylance_only=patient):
            check(failure, Cause[cause], cloud)


def test_a_redirect_that_names_no_region(request: pytest.FixtureRequest):
    with serving(lambda _: REDIRECT) as endpoint:
        cloud = seen_at(endpoint, "s3", request)
        for failure in failures(cloud, "s3://bucket/lake"):
            check(failure, Cause.WRONG_REGION, cloud)
            assert "ecursion" not in str(failure)


@pytest.mark.parametrize(
    ("proxied", "status", "cause"),
    [("200 OK", 404, "NO_BUCKET"), ("200 OK", 403, "NO_REGION"), ("502 Bad Gateway", 0, "UNREACHABLE")],
)
def test_a_region_that_aws_is_asked_for(proxied: str, status: int, cause: str, s3_cloud: Cloud, tmp_path: Path):
    """pylance asks where the bucket is, if no option and no variable says so; a proxy leads to AWS's stand-in."""
    authority = Authority(tmp_path)
    context = authority.server_context(authority.sign("localhost", "127.0.0.1"))
    keys = {name: s3_cloud.options[name] for name in ("access_key_id", "secret_access_key")}
    with serving(lambda _: Answer(status), tls=context) as aws, Tunnels(proxied, int(aws.rpartition(":")[2])) as proxy:
        way = {"proxy_url": f"http://{proxy.name}", "allow_invalid_certificates": "true"}
        cloud = replace(s3_cloud, options={**keys, **way, **ONCE})
        (failure,) = failures(cloud, "s3://bucket/lake", pylance_only=True)
    check(failure, Cause[cause], cloud)


@pytest.mark.slow
def test_a_clock_that_google_does_not_accept(gcs_cloud: Cloud):
    """Google's library asks for a token with the time of this machine. pylance signs one itself: that gets a 401."""
    with serving(lambda _: LATE_TOKEN) as endpoint:
        account = {"service_account_key": account_file(f"{endpoint}/token"), "endpoint": endpoint}
        cloud = replace(gcs_cloud, options=account, secret_option="service_account_key")
        storage = cloud.storage("gs://bucket/lake")
        with pytest.raises(LanceNamespaceError) as caught, translated("write"):
            storage.put_if_absent(f"{storage.path()}/mark", b"x")
        check(caught.value, Cause.CLOCK_SKEW, cloud)


@pytest.mark.slow
def test_credentials_that_gcsfs_presents_for_half_a_minute(request: pytest.FixtureRequest):
    with serving(lambda _: REFUSALS["gcs"]["BAD_CREDENTIALS"]) as endpoint:
        cloud = seen_at(endpoint, "gcs", request)
        for failure in failures(cloud, "gs://bucket/lake"):
            check(failure, Cause.BAD_CREDENTIALS, cloud)


def test_a_bucket_that_is_not_there(cloud: Cloud):
    """The same from the emulators themselves: a wrong root is no empty catalog, and no missing table."""
    with cloud.connect(f"{cloud.scheme}://no-such-bucket-here/lake") as namespace:
        calls: list[Callable[[], object]] = [
            namespace.list_tables,
            namespace.table("t").exists,
            lambda: namespace.create_namespace("a"),
            lambda: namespace.create_table("t", [{"id": 1}]),
            lambda: migrate(namespace),  # Nothing creates the bucket, either, to keep the record of a job.
            lambda: list(checks.check(namespace, older_than=timedelta(days=1))),
        ]
        if cloud.scheme != "gs":  # gcsfs says the same of a missing file and a missing bucket.
            calls.append(lambda: namespace.describe_transaction(["0" * 32]))
        for call in calls:
            with pytest.raises(LanceNamespaceError) as caught:
                call()
            check(caught.value, Cause.NO_BUCKET, cloud)


def test_a_name_that_no_bucket_can_have(s3_cloud: Cloud):
    """botocore checks names before it asks."""
    for failure in failures(s3_cloud, "s3://No!Bucket/lake"):
        check(failure, Cause.NO_BUCKET, s3_cloud)


def isolated(cloud: Cloud, root: str, *, pylance_only: bool = False) -> list[tuple[str, str]]:
    """Classes and messages of what fails in a process that has no network at all, not even a loopback interface."""
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces are not permitted here")
    given = [cloud.scheme, root, json.dumps(dict(cloud.options)), "pylance" if pylance_only else ""]
    command = ["unshare", "--net", sys.executable, "-m", __name__, *given]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return [(kind, message) for kind, message in json.loads(done.stdout)]


@pytest.mark.parametrize("name", CLOUDS)
def test_a_host_that_has_no_address(name: str, request: pytest.FixtureRequest):
    """pylance does not say why it could not connect; the remedy names every reason."""
    cloud = seen_at("http://nowhere.example", name, request)
    for kind, message in isolated(cloud, f"{cloud.scheme}://bucket/lake", pylance_only=name in PATIENT):
        assert kind == "ServiceUnavailableError", message
        assert "nowhere.example" in message
        assert Cause.NO_HOST.remedy in message or Cause.UNREACHABLE.remedy in message
        assert not RAW.search(message)


@pytest.mark.parametrize("name", ["s3", *(pytest.param(name, marks=pytest.mark.slow) for name in PATIENT)])
def test_no_credentials(name: str, request: pytest.FixtureRequest):
    """OSS asks for them before it connects: see the tests of its options."""
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    kept = {"region": "us-east-1"} if name == "s3" else {}
    kept |= {"account_name": "devstoreaccount1"} if name == "azure" else {}
    for kind, message in isolated(replace(cloud, options={**kept, **ONCE}), f"{cloud.scheme}://bucket/lake"):
        assert kind == "UnauthenticatedError", message
        assert message.endswith(f"{Cause.NO_CREDENTIALS.what} ({Cause.NO_CREDENTIALS.remedy})")


@pytest.mark.parametrize("name", CLOUDS)
def test_a_certificate_that_nobody_trusts(name: str, request: pytest.FixtureRequest, tmp_path: Path):
    authority = Authority(tmp_path)
    context: ssl.SSLContext = authority.server_context(authority.sign("localhost", "127.0.0.1"))
    with serving(lambda _: REFUSALS[name]["NO_BUCKET"], tls=context) as endpoint:
        cloud = seen_at(endpoint, name, request)
        for failure in failures(cloud, f"{cloud.scheme}://bucket/lake", pylance_only=name in PATIENT):
            message = str(failure)
            assert type(failure) is ServiceUnavailableError, message
            assert Cause.UNTRUSTED.remedy in message or Cause.UNREACHABLE.remedy in message
            assert not RAW.search(message)


if __name__ == "__main__":
    scheme, root, options, mode = sys.argv[1:]
    alone = Cloud(scheme, "", json.loads(options), print, "")
    raised = failures(alone, root, pylance_only=bool(mode))
    print(json.dumps([(type(failure).__name__, str(failure)) for failure in raised]))  # noqa: T201
