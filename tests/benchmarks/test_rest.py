"""The benchmark of the REST server compares what it says; who is faster is not for a test to demand."""

from __future__ import annotations

import pytest

from benchmarks import rates, rest, servers, streams

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    for name, value in {"TABLES": 200, "STREAM_MB": 2, "SECONDS": 0.5, "ROUNDS": 1, "WORKERS": 1}.items():
        monkeypatch.setattr(rest, name, value)
    monkeypatch.setattr(streams, "ROUNDS", 1)


def test_both_servers_and_both_streams_are_measured():
    results = list(rest.run())

    assert [result.case for result in results] == [
        "table_exists, 200 tables, 16 connections",
        "describe_table, 200 tables, 16 connections",
        "list_tables(limit=100), 200 tables, 16 connections",
        "create_table with 16 MB",
        "query of 1 MB",
        "insert of 1 MB",
        "query of 2 MB",
        "insert of 2 MB",
    ]
    for result in results[:3]:
        numbers = result.numbers
        assert numbers["ratio"] == pytest.approx(numbers["ours_per_s"] / numbers["rust_per_s"])
    assert results[3].numbers["ours_status"] == 200
    for result in results[4:]:
        numbers = result.numbers
        assert numbers["share"] == pytest.approx(numbers["rest_mb_per_s"] / numbers["sdk_mb_per_s"])
        assert numbers["share_of_tuned"] == pytest.approx(numbers["rest_mb_per_s"] / numbers["tuned_mb_per_s"])
        assert min(numbers["server_mb_peak"], numbers["client_mb_peak"]) > 0


def test_load_is_made_without_wrk_too(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory):
    monkeypatch.setattr("shutil.which", lambda _: None)
    root = str(tmp_path_factory.mktemp("catalog"))

    with servers.ours(root, 1) as server:
        assert rates.per_second(server.port, "GET", ["/v1/table"], "", 0.5) > 0
        with pytest.raises(RuntimeError, match="404"):
            rates.per_second(server.port, "GET", ["/v1/nothing"], "", 0.5)
