"""nginx with the configuration of the docs, in front of a server of ours; only addresses and files are replaced."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from lancespace_testing.waiting import until
from tools.ensure import NGINX

DEPLOY = Path(__file__).parents[1] / "deploy"

_AROUND = """
daemon off;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/unused-1;
    uwsgi_temp_path {folder}/unused-2;
    scgi_temp_path {folder}/unused-3;
    include {folder}/lancespace.conf;
}}
"""
"""What a machine's nginx.conf has around the file of the docs. The folder is pytest's, where nginx's workers may not
write: a body that is not passed on as it comes, but stored, is an error.
"""


@contextmanager
def nginx(folder: Path, upstream: str, certificate: tuple[str, str]) -> Iterator[str]:
    """Run nginx in front of a server of this machine; the address where callers meet it."""
    program = NGINX.find()
    if program is None:
        pytest.skip(f"nginx is missing: `python -m tools.ensure nginx` installs it where it can; or {NGINX.remedy}")
    port = _free_port()
    replaced = {
        "127.0.0.1:2333": upstream.partition("//")[2],
        "listen 443": f"listen 127.0.0.1:{port}",
        "/etc/ssl/lance.example.org.pem": certificate[0],
        "/etc/ssl/lance.example.org.key": certificate[1],
    }
    (folder / "lancespace.conf").write_text(replacing((DEPLOY / "nginx.conf").read_text(), replaced))
    (folder / "nginx.conf").write_text(_AROUND.format(folder=folder))
    log = folder / "error.log"
    command = [str(program), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(log)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: process.poll() is not None or _listens(port), bool)
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield f"https://127.0.0.1:{port}"
        finally:
            process.terminate()
    expected = ("[notice]", "access forbidden by rule")
    assert not [line for line in log.read_text().splitlines() if not any(words in line for words in expected)]


def replacing(text: str, replaced: Mapping[str, str]) -> str:
    """The text with all of these replaced, each of which it must have."""
    for old, new in replaced.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
