from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lance_namespace import UnsupportedOperationError

from lancespace_spark.sessions import check_java

JOB = """
import sys
from lancespace import connect, jobs
from lancespace.jobs import JobFailedError
with connect("dir", {"root": sys.argv[1], "engine": "spark"}) as namespace:
    namespace.create_table("t", [{"id": 1}])
    namespace.insert_into_table("t", [{"id": 2}])
    try:
        jobs.compact(namespace, "t").wait()
    except JobFailedError as error:
        sys.stdout.write(str(error))
"""


def test_a_missing_java_is_told_with_the_way_to_get_it(tmp_path: Path) -> None:
    """Asked in a process of its own, through a job: the message is what a person sees."""
    command = [sys.executable, "-c", JOB, str(tmp_path)]
    told = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, check=True).stdout
    assert "Spark needs Java 17 or later, and there is none on the PATH: install it" in told


def java(folder: Path, prints: str) -> Path:
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{prints}' >&2\n")
    program.chmod(0o755)
    return folder


def test_an_old_java_and_a_wrong_home_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(UnsupportedOperationError, match="nowhere, which has no bin/java"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, 'openjdk version "1.8.0_392"')))
    with pytest.raises(UnsupportedOperationError, match=r"bin/java is 8: install it"):
        check_java()


def test_a_java_that_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, 'openjdk version "21.0.1"')))
    check_java()
