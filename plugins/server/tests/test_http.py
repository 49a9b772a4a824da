"""The server as seen through HTTP: routes, identifiers, headers, limits."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pyarrow as pa
import pytest

from lancespace.authoring import OPERATIONS
from lancespace_testing.samples import COUNT, sample, stream
from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, client, served

ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("server")
    limits = ["--max-json-bytes", "10000", "--max-data-bytes", "1000000"]
    with served(folder, "dir", f"root={folder / 'catalog'}", *limits) as running:
        yield running


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with client(server) as opened:
        yield opened


def create(http: httpx.Client, name: str) -> None:
    answer = http.post(f"/v1/table/{name}/create", content=stream(sample()), headers=ARROW)
    assert answer.status_code == 200, answer.text


def test_unknown_routes_are_a_json_404(http: httpx.Client):
    for path in ("/v1/nothing", "/v1/table/a/b/c/d", "/elsewhere", "/v1", "/"):
        answer = http.get(path)

        assert (answer.status_code, answer.json()["code"]) == (404, 13)
        assert answer.json()["error"] == f"There is no route {path!r}: /openapi.json lists all of them."


@pytest.mark.parametrize("path", ["/v1/table/a/describe", "/healthz", "/v1/table"])
def test_wrong_methods_are_a_json_405(http: httpx.Client, path: str):
    answer = http.delete(path)

    assert answer.status_code == 405
    assert answer.headers["allow"] == ("POST" if path.endswith("describe") else "GET")
    assert answer.json()["error"].startswith("DELETE is not allowed here")


def test_every_route_of_the_table_is_there(http: httpx.Client):
    for operation in OPERATIONS.values():
        path = operation.route.replace("{id}", "no$such").replace("{index_name}", "index")
        answer = http.request(operation.method, path, content=b"[")

        assert answer.headers["content-type"] == "application/json"
        assert "There is no route" not in answer.text


def test_route_and_body_must_agree(http: httpx.Client):
    create(http, "agreed")

    assert http.post("/v1/table/agreed/exists", json={"id": ["agreed"]}).status_code == 200
    answer = http.post("/v1/table/agreed/exists", json={"id": ["other"]})
    assert answer.status_code == 400
    assert answer.json()["error"] == "table_exists: the body says id = ['other'], but the URL says ['agreed']."
    assert http.post("/v1/table/agreed/index/a/stats", json={"index_name": "b"}).status_code == 400
    assert http.post("/v1/table/agreed/describe?with_table_uri=true", json={"with_table_uri": False}).status_code == 400


def test_names_of_all_kinds_survive_the_route(http: httpx.Client):
    for name, encoded in {
        "with space": "with%20space",
        "and space": "and+space",
        "a+b": "a%2Bb",
        "50%": "50%25",
        "é✓": "%C3%A9%E2%9C%93",
        "q?x#y": "q%3Fx%23y",
    }.items():
        create(http, encoded)

        assert name in http.get("/v1/namespace/$/table/list").json()["tables"]
        assert http.post(f"/v1/table/{encoded}/exists", json={"id": [name]}).status_code == 200


def test_an_encoded_slash_belongs_to_the_name(http: httpx.Client):
    answer = http.post("/v1/table/a%2Fdescribe/exists", json={})

    assert answer.status_code == 400
    assert "the name 'a/describe' contains a slash" in answer.json()["error"]


def test_the_delimiter_can_be_chosen(http: httpx.Client):
    assert http.post("/v1/namespace/spaces/create", json={}).status_code == 200
    create(http, "spaces%24inner")

    assert http.post("/v1/table/spaces.inner/exists?delimiter=.", json={}).status_code == 200
    assert http.get("/v1/namespace/~/list?delimiter=~").json()["namespaces"] == ["spaces"]
    assert "spaces.inner" in http.get("/v1/table?delimiter=.").json()["tables"]
    assert "spaces$inner" in http.get("/v1/table/").json()["tables"]


def test_bad_requests_name_what_is_wrong(http: httpx.Client):
    for path, body, message in (
        ("/v1/table/t/exists", b"{", "The body is not JSON"),
        ("/v1/table/t/exists", b"[]", "The body must be a JSON object, not list."),
        ("/v1/table/t/exists", b'{"version": "x"}', "version: Input should be a valid integer"),
        ("/v1/table/%ff/exists", b"{}", "is not percent-encoded UTF-8"),
        ("/v1/table/t/describe?with_table_uri=maybe", b"{}", "must be true or false, not 'maybe'"),
        ("/v1/table/t/describe?with_table_uri=1&with_table_uri=1", b"{}", "is given twice"),
        ('/v1/table/t/create?properties=["a"]', b"", "must be a JSON object of strings"),
        ('/v1/table/t/create?storage_options={"a":"b"}', b"", "storage_options is not taken over REST"),
    ):
        headers = {} if body == b"" else {"content-type": "application/json"}
        answer = http.post(path, content=body, headers=headers)

        assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text
        assert message in answer.json()["error"]
    assert http.get("/v1/namespace/$/list?limit=many").status_code == 400


def test_bodies_of_another_type_are_refused(http: httpx.Client):
    text = {"content-type": "text/plain"}

    assert http.post("/v1/table/t/exists", content=b"{}", headers=text).status_code == 415
    answer = http.post("/v1/table/t/create", content=b"{}", headers={"content-type": "application/json"})
    assert answer.json()["error"] == (
        "The Content-Type is 'application/json': send 'application/vnd.apache.arrow.stream'."
    )


def test_what_is_too_large_is_a_413_that_names_the_setting(http: httpx.Client):
    large = http.post("/v1/table/t/exists", json={"x": "y" * 10_000})
    data = http.post("/v1/table/t/create", content=bytes(1_000_001), headers=ARROW)
    chunked = http.post("/v1/table/t/create", content=(bytes(100_000) for _ in range(11)), headers=ARROW)

    assert [answer.status_code for answer in (large, data, chunked)] == [413, 413, 413]
    assert "let the operator raise the setting 'max_json_bytes'" in large.json()["error"]
    assert "let the operator raise the setting 'max_data_bytes'" in chunked.json()["error"]
    assert http.get("/healthz").text == "ok\n"


def test_request_ids_go_through_answers_errors_and_log(server: Running, http: httpx.Client):
    given = http.post("/v1/table/missing/describe", json={}, headers={"x-request-id": "trace-42"})
    unfit = http.get("/v1/table", headers={"x-request-id": "no spaces please"})

    assert given.headers["x-request-id"] == given.json()["instance"] == "trace-42"
    assert unfit.headers["x-request-id"].partition("-")[0].isalnum()
    written = until(lambda: [line for line in server.lines().splitlines() if '"trace-42"' in line], bool)
    line = json.loads(written[0])
    assert (line["operation"], line["status"], line["error"]) == ("describe_table", 404, "TABLE_NOT_FOUND")
    assert line["id"] == ["missing"]


def test_the_log_has_no_secrets(server: Running, http: httpx.Client):
    secrets = {"x-api-key": "s3cret-key", "authorization": "Bearer s3cret-token", "x-other": "s3cret-header"}
    create_url = '/v1/table/logged/create?properties={"password":"s3cret-property"}'
    http.post(create_url, content=stream(sample()), headers={**ARROW, **secrets})

    until(lambda: '"logged"' in server.lines(), bool)
    assert "s3cret" not in server.lines()


def test_answers_carry_security_headers_and_no_cors(http: httpx.Client):
    for answer in (http.get("/v1/table"), http.get("/v1/nothing"), http.get("/healthz"), http.get("/nothing")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_web_pages_from_elsewhere_are_refused(http: httpx.Client):
    create(http, "precious")
    answer = http.post("/v1/table/precious/drop", headers={"origin": "https://evil.example"})
    rebound = http.get("/v1/table", headers={"host": "evil.example"})

    assert (answer.status_code, rebound.status_code) == (403, 403)
    assert http.post("/v1/table/precious/exists", json={}).status_code == 200


def test_query_results_are_a_file_or_if_asked_a_stream(http: httpx.Client):
    create(http, "asked")
    query = {"k": 10, "vector": {}}
    file = http.post("/v1/table/asked/query", json=query)
    asked = http.post("/v1/table/asked/query", json=query, headers={"accept": ARROW["content-type"]})

    assert file.headers["content-type"] == "application/vnd.apache.arrow.file"
    assert pa.ipc.open_file(pa.BufferReader(file.content)).read_all().num_rows == COUNT
    assert asked.headers["content-type"] == ARROW["content-type"]
    assert pa.ipc.open_stream(asked.content).read_all().num_rows == COUNT


def test_errors_of_a_query_come_before_its_answer(http: httpx.Client):
    create(http, "strict")
    answer = http.post("/v1/table/strict/query", json={"k": 1, "vector": {}, "filter": "no_such = 1"})

    assert (answer.status_code, answer.json()["code"]) == (400, 12)


def test_bare_answers(http: httpx.Client):
    create(http, "bare")

    assert http.post("/v1/table/bare/count_rows", json={}).json() == COUNT
    assert isinstance(http.post("/v1/table/bare/explain_plan", json={"query": {"k": 1, "vector": {}}}).json(), str)
    assert http.post("/v1/table/bare/schema_metadata/update", json={"a": "b"}).json()["a"] == "b"
    empty = http.post("/v1/table/bare/exists", json={})
    assert (empty.content, "content-type" in empty.headers) == (b"", False)


def test_health_readiness_and_numbers(http: httpx.Client):
    http.get("/v1/table")

    assert (http.get("/healthz").text, http.get("/readyz").text) == ("ok\n", "ready\n")
    metrics = http.get("/metrics")
    assert metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert 'lancespace_request_seconds_count{operation="list_all_tables",status="200"}' in metrics.text
    assert metrics.text.endswith("# EOF\n")
