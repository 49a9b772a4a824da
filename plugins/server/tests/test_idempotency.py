"""Writes with an Idempotency-Key happen once, whoever repeats them and whatever died meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from lance_namespace import InternalError, ServiceUnavailableError, TableNotFoundError

from lancespace import connect
from lancespace_server import idempotency
from lancespace_server.failures import Failure
from lancespace_server.idempotency import Kept, Ledger
from lancespace_server.interruptions import Outcome, Recovery, Unknown
from lancespace_testing.samples import COUNT, sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, client, served
from tests.emulators.proxy import Fault, Proxy, proxy_to

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
QUICK = {"retry.max_wait": "1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("keys")
    with served(folder, "dir", f"root={folder / 'catalog'}", "--workers", "2") as running:
        yield running


@pytest.fixture
def proxy(server: Running) -> Iterator[Proxy]:
    with proxy_to(server.url) as proxy:
        yield proxy


@pytest.fixture
def table(server: Running) -> str:
    name = f"t{uuid4().hex}"
    post(server, f"table/{name}/create", stream(sample()), ARROW).raise_for_status()
    return name


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(str(tmp_path / "writes"))
    yield ledger
    ledger.close()


def post(server: Running, path: str, content: bytes = b"{}", headers: dict[str, str] | None = None) -> httpx.Response:
    """Send it over a connection of its own, which any worker may take."""
    with client(server) as http:
        return http.post(f"/v1/{path}", content=content, headers=headers or {"content-type": "application/json"})


def keyed(key: str, headers: dict[str, str] | None = None) -> dict[str, str]:
    return {"content-type": "application/json", **(headers or {}), "idempotency-key": key}


def count(server: Running, table: str) -> int:
    return int(post(server, f"table/{table}/count_rows").json())


def test_a_repeated_insert_has_the_same_answer_and_happens_once(server, table):
    key = keyed(uuid4().hex, ARROW)
    answers = [post(server, f"table/{table}/insert", stream(sample()), key) for _ in range(6)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert count(server, table) == 2 * COUNT


def test_repeats_at_the_same_time_happen_once(server, table):
    key = keyed(uuid4().hex, ARROW)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(server, f"table/{table}/insert", stream(sample()), key), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert count(server, table) == 2 * COUNT


def test_a_key_belongs_to_one_request(server, table):
    key = uuid4().hex
    first = post(server, f"table/{table}/insert", stream(sample()), keyed(key, ARROW))
    others = [
        post(server, f"table/{table}/insert", stream(sample().slice(1)), keyed(key, ARROW)),
        post(server, f"table/{table}/insert?mode=overwrite", stream(sample()), keyed(key, ARROW)),
        post(server, f"table/{table}x/create", stream(sample()), keyed(key, ARROW)),
        post(server, f"table/{table}/drop", b"", keyed(key)),
        post(server, "namespace/n/create", b"{}", keyed(key)),
    ]
    assert first.status_code == 200
    assert [answer.status_code for answer in others] == [422] * len(others)
    assert {answer.json()["code"] for answer in others} == {13}
    assert count(server, table) == 2 * COUNT
    assert post(server, f"table/{table}/insert", stream(sample()), keyed(key, ARROW)).text == first.text


def test_what_changed_nothing_may_be_tried_again(server):
    key, name = keyed(uuid4().hex, ARROW), f"t{uuid4().hex}"
    assert post(server, f"table/{name}/insert", stream(sample()), key).status_code == 404
    post(server, f"table/{name}/create", stream(sample()), ARROW).raise_for_status()
    assert post(server, f"table/{name}/insert", stream(sample()), key).status_code == 200
    assert count(server, name) == 2 * COUNT


def test_a_body_that_broke_off_may_be_sent_again(server, table):
    key = keyed(uuid4().hex, ARROW)
    broken = post(server, f"table/{table}/insert", stream(sample())[:-100], key)
    assert broken.status_code == 400
    assert post(server, f"table/{table}/insert", stream(sample()), key).status_code == 200
    assert count(server, table) == 2 * COUNT


@pytest.mark.parametrize("key", ["k" * 256, "", "a b", "é"])
def test_keys_are_short_and_printable(server, table, key):
    headers = [(b"content-type", b"application/json"), (b"idempotency-key", key.encode())]
    with client(server) as http:
        answer = http.post(f"/v1/table/{table}/drop", headers=headers)
    assert answer.status_code == (200 if not key else 400)


def test_reads_have_no_use_for_keys(server, table):
    key = keyed(uuid4().hex)
    assert post(server, f"table/{table}/count_rows", b"{}", key).json() == COUNT
    post(server, f"table/{table}/delete", b'{"predicate": "true"}')
    answer = post(server, f"table/{table}/count_rows", b"{}", key)
    assert answer.json() == 0
    assert answer.headers["idempotency-key"] == key["idempotency-key"]


@pytest.mark.parametrize("fault", [Fault.LOSE, Fault.TRUNCATE, Fault.DROP, Fault.BUSY])
def test_our_client_repeats_a_write_whose_answer_was_lost(proxy, table, fault):
    with connect("rest", {"uri": proxy.endpoint, **QUICK}) as namespace:
        with proxy.injecting(fault, lambda request: request.method == "POST"):
            namespace.insert_into_table(table, sample())  # The first request of the client: it knows nothing yet.
        with proxy.injecting(fault, lambda request: request.method == "POST", times=2):
            namespace.insert_into_table(table, sample())
        assert namespace.count_table_rows(table).count == 3 * COUNT
        with proxy.injecting(fault, lambda request: request.method == "POST"):
            namespace.drop_table(table)
        with pytest.raises(TableNotFoundError):
            namespace.drop_table(table)


def test_our_client_sends_a_new_key_with_each_write_and_none_with_reads(proxy, table):
    with connect("rest", {"uri": proxy.endpoint, **QUICK}) as namespace, proxy.injecting(Fault.LOSE, times=0):
        for _ in range(2):
            namespace.insert_into_table(table, sample())
        namespace.count_table_rows(table)
        keys = [request.headers.get("Idempotency-Key") for request in proxy.requests]
    assert len(set(keys)) == 3
    assert keys[2] is None


def test_keys_survive_the_death_of_workers(server, table):
    """Each of two workers has answered a write; after one is killed, the other knows both."""
    first: dict[str, tuple[dict[str, str], str]] = {}
    until(lambda: _answered_by(server, table, first), lambda workers: len(workers) == 2)
    before = count(server, table)
    os.kill(server.workers()[0], signal.SIGKILL)
    for key, text in first.values():
        again = until(lambda key=key: _attempt(server, table, key), bool)  # type: ignore[misc]
        assert again is not None
        assert again.text == text
    assert count(server, table) == before


def test_keys_survive_a_restart_of_the_server(tmp_path: Path):
    """Without any setting; the records may have credentials, so nobody else may read them."""
    key, answers = keyed("mine", ARROW), []
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    for _ in range(2):
        with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", environment=environment) as server:
            answers.append(post(server, "table/t/create?mode=overwrite", stream(sample()), key))
            assert count(server, "t") == COUNT
            files = list((tmp_path / "state" / "lancespace").iterdir())
            assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].text == answers[1].text


def test_a_server_without_a_place_for_keys_says_so(tmp_path: Path):
    (tmp_path / "state").write_text("")
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", environment=environment) as server:
        assert "idempotency keys are forgotten when the server stops" in server.lines()


def _answered_by(server: Running, table: str, first: dict[str, tuple[dict[str, str], str]]) -> set[str]:
    """Insert with a new key, and note the answer by the process that gave it: request ids begin with that."""
    key = keyed(uuid4().hex, ARROW)
    answer = post(server, f"table/{table}/insert", stream(sample()), key)
    first[answer.headers["x-request-id"].partition("-")[0]] = key, answer.text
    return set(first)


def _attempt(server: Running, table: str, key: dict[str, str]) -> httpx.Response | None:
    try:
        answer = post(server, f"table/{table}/insert", stream(sample()), key)
    except httpx.TransportError:
        return None
    return None if answer.status_code == 503 else answer  # Of the worker that was killed.


# --- the records ------------------------------------------------------------------------------------------------------


class Unread(Recovery):
    """Of a catalog that cannot be asked."""

    def __init__(self) -> None:
        pass

    def before(self) -> str:
        return ""

    def after(self, mark: str, began: float, before: str | None) -> Outcome | None:
        del mark, began, before
        raise Unknown("The catalog is gone.")


def carried(ledger: Ledger, principal: str, key: bytes, log: list[str], digest: bytes | None = b"d") -> Any:
    def write() -> Kept:
        log.append(principal)
        return Kept(200, f"{len(log)}".encode())

    return ledger.once(principal, key, write, lambda: digest, Unread())


def test_callers_have_keys_of_their_own(ledger):
    log: list[str] = []
    answers = [carried(ledger, who, b"k", log).body for who in ("key:a", "key:b", "key:a", "key:b")]
    assert answers == [b"1", b"2", b"1", b"2"]


def test_a_repeat_of_what_is_running_is_told_to_wait(ledger, tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def write() -> Kept:
        begun.set()
        go_on.wait(10)
        return Kept(200, b"first")

    other = Ledger(str(tmp_path / "writes"))  # As another process has it.
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ledger.once, "p", b"k", write, lambda: b"d", Unread())
        assert begun.wait(10)
        for each in (ledger, other):
            assert carried(each, "p", b"k", []) is None
        go_on.set()
        assert running.result(10) == Kept(200, b"first")
    assert carried(other, "p", b"k", []).body == b"first"
    other.close()


def test_the_outcome_of_a_process_that_died_is_not_known(ledger, tmp_path):
    script = (
        "import os, sys; from lancespace_server.idempotency import Ledger;"
        "from plugins.server.tests.test_idempotency import Unread;"
        "Ledger(sys.argv[1]).once('p', b'k', lambda: os._exit(9), lambda: None, Unread())"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "writes")], timeout=120, check=False)
    assert done.returncode == 9
    log: list[str] = []
    with pytest.raises(Failure, match=r"interrupted\. The catalog is gone\. Check whether the write was carried out"):
        carried(ledger, "p", b"k", log)
    assert not log


@pytest.mark.parametrize(("error", "status"), [(InternalError("x"), 500), (ServiceUnavailableError("x"), 503)])
def test_a_write_that_may_have_happened_is_not_tried_again(ledger, error, status):
    def fail() -> Kept:
        raise error

    log: list[str] = []
    for write in (fail, lambda: log.append("again")):
        with pytest.raises(Failure, match=r"x\. Check whether the write was carried out") as caught:
            ledger.once("p", b"k", write, lambda: b"d", Unread())
        assert caught.value.status == status
        assert not any(name == b"retry-after" for name, _ in caught.value.headers)
    assert not log


def test_records_end(ledger, monkeypatch):
    monkeypatch.setattr(idempotency, "_CLEAN_EVERY", 2)
    monkeypatch.setattr(idempotency, "MOST_OF_ONE_CALLER", 3)
    log: list[str] = []
    for number in range(9):
        carried(ledger, "p", b"%d" % number, log)
    assert ledger._execute("select count(*) from writes")[0][0] <= 5
    monkeypatch.setattr(idempotency, "KEPT_SECONDS", -1.0)
    for number in range(2):
        carried(ledger, "q", b"%d" % number, log)
    assert ledger._execute("select count(*) from writes")[0][0] <= 2


def test_an_answer_that_is_too_large_is_not_kept(ledger):
    big = Kept(200, b"x" * (idempotency.MOST_ANSWER_BYTES + 1))
    assert ledger.once("p", b"k", lambda: big, lambda: b"d", Unread()) == big
    with pytest.raises(Failure, match="was carried out; its answer was too large"):
        ledger.once("p", b"k", lambda: big, lambda: b"d", Unread())


def test_a_file_that_cannot_be_used_is_refused_at_once(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "lancespace_server", "memory", "--port", "0", "--idempotency-file", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode not in {0, -signal.SIGTERM}
    assert "idempotency_file" in done.stderr
    assert "Traceback" not in done.stderr
