"""`import lancespace` is cheap: it loads nothing that a user did not ask for."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"lance", "lance_namespace", "pyarrow", "pydantic", "fsspec", "s3fs", "pyspark", "lancespace_dir"}


def test_import_loads_nothing_heavy():
    script = "import json, sys, lancespace; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert HEAVY & set(json.loads(answer.stdout)) == set()
