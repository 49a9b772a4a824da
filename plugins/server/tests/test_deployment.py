"""The files to deploy, run: the unit's command with nginx in front of it, and the container's with its health check.

What installs the package, ``pip install "lancespace[server]"``, is run in ``tests/packaging``. What is not run: the
image itself, and what systemd does around the command, beyond its own check of the unit.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from lance_namespace import PermissionDeniedError, TableNotFoundError

from lancespace import Namespace, connect
from lancespace_testing.waiting import until
from plugins.server.tests.credentials import Authority
from plugins.server.tests.fronting import DEPLOY, nginx, replacing
from plugins.server.tests.hosting import Running, client, running

KEYS = {"admin": "the admin's key", "etl-1": "a loader's key"}
BATCH = pa.record_batch({"text": ["x" * 1000] * 4000})
"""Four megabytes: nginx by itself refuses bodies of more than one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the unit and the container expect, the policy being the one of the docs."""
    folder = tmp_path_factory.mktemp("deployed")
    hashes = [f"{name}:{hashlib.sha256(key.encode()).hexdigest()}\n" for name, key in KEYS.items()]
    (folder / "api-keys").write_text("".join(hashes))
    page = DEPLOY.parents[2] / "docs" / "server" / "security.md"
    (policy,) = re.findall(r'```toml title="policy.toml"\n(.*?)```', page.read_text(), re.DOTALL)
    (folder / "policy.toml").write_text(policy)
    return folder


def unit(folder: Path) -> str:
    """The unit, for this machine."""
    replaced = {
        "/opt/lancespace/bin/python": sys.executable,
        "/etc/lancespace/": f"{folder}/",
        "%d/": f"{folder}/",
        "/srv/lance": str(folder / "catalog"),
        "--port 2333 --workers 4": "--port 0 --workers 2",
    }
    return replacing((DEPLOY / "lancespace.service").read_text(), replaced)


def test_systemd_understands_the_unit(folder: Path, tmp_path: Path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is missing: this machine has no systemd")
    (tmp_path / "lancespace.service").write_text(unit(folder))
    command = [program, "verify", "--man=no", str(tmp_path / "lancespace.service")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    """What systemd would start."""
    (line,) = re.findall("^ExecStart=(.*)$", unit(folder).replace("\\\n", ""), re.MULTILINE)
    python, *command = shlex.split(line)
    assert python == sys.executable
    with running(command, folder) as started:
        yield started


@pytest.fixture(scope="module")
def front(server: Running, folder: Path) -> Iterator[str]:
    with nginx(folder, server.url, Authority(folder).issue("lance.example.org")) as address:
        yield address


def through(front: str, folder: Path, name: str) -> Namespace:
    return connect("rest", {"uri": front, "tls.ssl_ca_cert": str(folder / "ca.pem"), "header.x-api-key": KEYS[name]})


class TestBehindNginx:
    def test_catalog_calls_under_the_policy_of_the_docs(self, front: str, folder: Path):
        with through(front, folder, "admin") as admin, through(front, folder, "etl-1") as loader:
            admin.create_namespace("sales")
            loader.create_table("sales.orders", [{"id": 1}])

            assert list(loader.tables("sales")) == ["orders"]
            with pytest.raises(PermissionDeniedError):
                loader.drop_table("sales.orders")
            admin.drop_table("sales.orders")

    def test_rows_stream_in_and_out(self, front: str, server: Running, folder: Path):
        """The server has begun while the caller still sends: nginx passes the body on as it comes."""

        def batches() -> Iterator[pa.RecordBatch]:
            yield BATCH
            until(lambda: under_way(server), lambda count: count == 1)
            yield BATCH

        with through(front, folder, "admin") as admin:
            admin.create_table("streamed", BATCH.slice(0, 1))
            admin.insert_into_table("streamed", pa.RecordBatchReader.from_batches(BATCH.schema, batches()))
            sizes = [batch.num_rows for batch in admin.table("streamed").query(k=1 << 30)]

        assert sum(sizes) == 2 * BATCH.num_rows + 1

    @pytest.mark.parametrize("name", ["100%", "a%2Fb", "a+b c", "ünï", "a;b?c#d"])
    def test_names_arrive_as_they_were_sent(self, front: str, folder: Path, name: str):
        with through(front, folder, "admin") as admin, pytest.raises(TableNotFoundError) as missing:
            admin.describe_table(id=[name])
        assert f"Table not found: '{name}'." in str(missing.value)

    def test_what_is_for_machines_inside_is_not_shown_and_ids_are_nginxs(self, front: str, folder: Path):
        trusting = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        with httpx.Client(base_url=front, verify=trusting, headers={"host": "lance.example.org"}) as web:
            hidden = [web.get(path, headers={"x-api-key": KEYS["admin"]}) for path in ("/metrics", "/readyz")]
            health, stranger = web.get("/healthz"), web.get("/v1/table")

        assert [answer.status_code for answer in hidden] == [403, 403]
        assert (health.text, stranger.status_code) == ("ok\n", 401)
        assert re.fullmatch("[0-9a-f]{32}", stranger.json()["instance"])


def under_way(server: Running) -> float:
    with client(server, headers={"x-api-key": KEYS["admin"]}) as inside:
        (count,) = re.findall(r"^lancespace_requests_under_way (\S+)$", inside.get("/metrics").text, re.MULTILINE)
    return float(count)


def test_the_container_serves_and_is_healthy(folder: Path):
    """Its entry point with its command, and its health check, as this machine's Python runs them."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    entry, command, check = re.findall(r"(?:ENTRYPOINT|CMD) (\[.*\])$", text, re.MULTILINE)
    replaced = {"/data": str(folder / "data"), "/etc/lancespace/": f"{folder}/", '"--workers", "2"': '"--workers", "1"'}
    given = json.loads(replacing(re.sub(" +", " ", command), replaced))

    with (
        running([*json.loads(entry)[1:], *given, "--port", "0"], folder) as started,
        client(started) as http,
    ):
        checked = json.loads(replacing(check, {"127.0.0.1:2333": started.url.partition("//")[2]}))
        subprocess.run([sys.executable, *checked[1:]], check=True)
        assert http.get("/v1/table").status_code == 401
        assert http.get("/v1/table", headers={"x-api-key": KEYS["admin"]}).json() == {"tables": []}
