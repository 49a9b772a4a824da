"""Which Java Spark runs on; the Javas are folders that look like one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lance_namespace import UnsupportedOperationError
from pyspark.sql import SparkSession

from lancespace_spark import java as javas
from lancespace_spark.java import find_java, running_on

JOB = """
import sys
import lancespace_jobs as jobs
from lancespace import connect
from lancespace_jobs import JobFailedError
with connect("dir", {"root": sys.argv[1], "engine": "spark"}) as namespace:
    namespace.create_table("t", [{"id": 1}])
    namespace.insert_into_table("t", [{"id": 2}])
    try:
        jobs.compact(namespace, "t").wait()
    except JobFailedError as error:
        sys.stdout.write(str(error))
"""


class Machine:
    """A machine's Javas: some are installed, one of them may be on the PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._set = monkeypatch.setenv
        monkeypatch.setattr(javas, "_PLACES", ((str(folder / "jvm"), "*/bin/java"),))
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", "")

    def install(self, version: str, place: str = "jvm", modules: str = javas.MODULE) -> Path:
        """Answer the program."""
        program = self.shim(version, self.folder / place / version / "bin")
        release = f'IMPLEMENTOR="Us"\nJAVA_VERSION="{version}"\nMODULES="java.base {modules}"\n'
        (program.parents[1] / "release").write_text(release)
        return program

    def shim(self, version: str, folder: Path) -> Path:
        """A program without the rest."""
        folder.mkdir(parents=True)
        program = folder / "java"
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-20' >&2\n")
        program.chmod(0o755)
        return program

    def put_on_path(self, program: Path) -> None:
        self._set("PATH", str(program.parent))

    def set_home(self, home: Path) -> None:
        self._set("JAVA_HOME", str(home))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_the_newest_is_taken(machine: Machine) -> None:
    machine.put_on_path(machine.install("17.0.21"))
    newest = machine.install("25.0.3")
    machine.install("1.8.0_392")
    assert find_java() == javas.Java(newest, 25)


def test_the_path_leads_among_equals(machine: Machine) -> None:
    machine.install("21.0.1")
    on_path = machine.install("21.0.2", place="opt")
    machine.put_on_path(on_path)
    assert find_java().program == on_path


def test_one_that_is_too_new_is_the_last_choice(machine: Machine) -> None:
    machine.put_on_path(machine.install("26"))
    assert find_java().version == 26
    machine.install("17.0.21")
    assert find_java().version == 17


def test_the_home_that_is_named_decides(machine: Machine) -> None:
    machine.install("25.0.3")
    machine.set_home(machine.install("17.0.21").parents[1])
    assert find_java().version == 17


def test_the_driver_of_a_cluster_keeps_to_the_path(machine: Machine) -> None:
    machine.install("25.0.3")
    machine.put_on_path(machine.install("17.0.21"))
    assert find_java(is_local=False).version == 17


def test_the_driver_of_a_cluster_takes_another_if_that_will_not_do(machine: Machine) -> None:
    machine.install("25.0.3")
    machine.put_on_path(machine.install("11.0.2"))
    assert find_java(is_local=False).version == 25


def test_one_without_a_release_file_is_asked(machine: Machine) -> None:
    shim = machine.shim("21.0.1", machine.folder / "shims")
    machine.put_on_path(shim)
    assert find_java() == javas.Java(shim, 21)


def test_one_that_was_cut_down_is_passed_over(machine: Machine) -> None:
    machine.put_on_path(machine.install("25.0.2", modules="java.se"))
    machine.install("17.0.21")
    assert (find_java().version, find_java(is_local=False).version) == (17, 17)


def test_one_that_was_cut_down_is_refused(machine: Machine) -> None:
    """Spark says no more of it than that Java ended."""
    machine.set_home(machine.install("25.0.2", modules="java.se").parents[1])
    with pytest.raises(UnsupportedOperationError, match=r"was cut down and lacks the module jdk.incubator.vector"):
        find_java()


@pytest.mark.usefixtures("machine")
def test_none_at_all() -> None:
    with pytest.raises(UnsupportedOperationError, match="17 or later, and there is none on the PATH: install it"):
        find_java()


def test_an_old_one_and_a_wrong_home_are_refused(machine: Machine) -> None:
    machine.put_on_path(machine.install("1.8.0_392"))
    with pytest.raises(UnsupportedOperationError, match=r"bin/java is 8: install it"):
        find_java()
    machine.install("25.0.3")
    machine.set_home(machine.folder / "nowhere")
    with pytest.raises(UnsupportedOperationError, match="nowhere, which has no bin/java"):
        find_java()


def test_a_program_that_is_no_java(machine: Machine) -> None:
    program = machine.shim("?", machine.folder / "bin")
    machine.put_on_path(program)
    with pytest.raises(UnsupportedOperationError, match=r"bin/java is no Java: install it"):
        find_java()


def test_spark_is_told_of_one_that_it_would_not_take(machine: Machine) -> None:
    on_path = machine.install("17.0.21")
    machine.put_on_path(on_path)
    with running_on(find_java()):
        assert "JAVA_HOME" not in os.environ
    newest = machine.install("25.0.3")
    with running_on(find_java()):
        assert os.environ["JAVA_HOME"] == str(newest.parents[1])
    assert "JAVA_HOME" not in os.environ


def test_a_home_that_is_empty_is_none(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    with pytest.raises(UnsupportedOperationError, match="there is none on the PATH: install it"):
        find_java()
    newest = machine.install("25.0.3")
    with running_on(find_java()):
        assert os.environ["JAVA_HOME"] == str(newest.parents[1])
    assert os.environ["JAVA_HOME"] == ""


def test_spark_runs_on_the_one_that_was_found(spark: SparkSession) -> None:
    assert spark._jvm is not None
    assert spark._jvm.Runtime.version().feature() == find_java(is_local=False).version


def test_a_missing_one_is_told_with_the_way_to_get_it(tmp_path: Path) -> None:
    """Asked in a process of its own, through a job: the message is what a person sees."""
    command = [sys.executable, "-c", JOB, str(tmp_path)]
    environment = {"JAVA_HOME": str(tmp_path / "nowhere")}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert "nowhere, which has no bin/java: install it" in told
