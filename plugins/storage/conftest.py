"""For the tests of every store: a clean environment, and a server that writes down what it is asked."""
# ruff: noqa: INP001 - it stands beside packages, in none.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.emulators.loopback import Answer
from tests.emulators.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.emulators import loopback


@pytest.fixture(autouse=True)
def _clean(clean_environment: None) -> None:
    """The fixture does it."""


@dataclass
class Request:
    """What was asked; the names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]


@dataclass
class Recorder:
    """A server that writes down each request and gives the answers it was told to give, and then always the same."""

    endpoint: str = ""
    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    otherwise: tuple[int, str] = (200, "")
    pages: dict[str, str] = field(default_factory=dict)
    """What is answered at certain paths, of which nothing is written down."""

    def answer(self, request: loopback.Request) -> Answer:
        """Write the request down and answer it."""
        if request.raw_path in self.pages:
            headers = {"Content-Type": "application/json", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds": "600"}
            return Answer(200, self.pages[request.raw_path].encode(), headers)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Request(request.method, request.target, headers))
        status, body = self.answers.pop(0) if self.answers else self.otherwise
        return Answer(status, body.encode(), {"ETag": '"0"'})


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """A server that writes down what it is asked."""
    recorder = Recorder()
    with serving(recorder.answer) as recorder.endpoint:
        yield recorder
