"""drop_table of a V1 table in an object store, beside a drop and a create of the same name at every request."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from lancespace import Namespace
from lancespace.authoring import Storage
from lancespace_testing.samples import COUNT, sample
from plugins.dir.tests.support import OK, outcome
from tests.emulators.clouds import Cloud

V1 = {"manifest_enabled": "false"}
_STEPS = ("put_if_absent", "list_tree", "delete_files", "delete_unchanged", "delete_tree")


class Pause:
    """Lets another client drop and create the table before the n-th step of the first one."""

    def __init__(self, patch: pytest.MonkeyPatch, moment: int, rival: Namespace) -> None:
        self._left = moment
        self._rival = rival
        self.outcomes: list[str] = []
        for step in _STEPS:
            patch.setattr(Storage, step, self._around(getattr(Storage, step)))

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def paused(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self.outcomes.append(outcome(lambda: self._rival.drop_table("t")))
                self.outcomes.append(outcome(lambda: self._rival.create_table("t", sample())))
            return call(*arguments, **options)

        return paused


@pytest.mark.parametrize("name", ["s3", "gcs", "azure"])
def test_a_drop_spares_the_next_table_of_the_name(name: str, request: pytest.FixtureRequest):
    """OSS tells files of one name apart by the second they were written in, which is too coarse for this test."""
    cloud: Cloud = request.getfixturevalue(f"{name}_cloud")
    answers = []
    for moment in count(1):
        root = cloud.new_root()
        with cloud.connect(root, **V1) as namespace, cloud.connect(root, **V1) as rival:
            namespace.create_table("t", sample())
            with pytest.MonkeyPatch.context() as patch:
                pause = Pause(patch, moment, rival)
                answer = outcome(lambda: namespace.drop_table("t"))
            if pause.outcomes == [OK, OK] and moment > 1:
                answers.append(answer)
                assert rival.count_table_rows("t").count == COUNT, moment
            if not pause.outcomes:
                break
    assert set(answers) == {"TableNotFound"}
    assert len(answers) > 3
