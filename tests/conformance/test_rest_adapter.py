"""Our client on pylance's RestAdapter: every operation of the table is sent, and what comes back is understood.

The conformance suite on the same pair is ``plugins/rest/tests/test_conformance.py``; it skips what the peer does not
implement. Nothing is skipped here: such an operation is sent too, and the peer's own answer to it is what is tested.
Written for pylance 14.0.2.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lance.namespace import RestAdapter
from lance_namespace import ErrorCode, LanceNamespaceError

import lancespace
from lancespace.authoring import OPERATIONS
from lancespace_testing.examples import TABLE
from tests.conformance.worlds import expected, request

NOT_IMPLEMENTED = {
    "rename_table",
    "alter_table_backfill_columns",
    "update_field_metadata",
    "batch_create_table_versions",
    "batch_commit_tables",
    "create_materialized_view",
    "refresh_materialized_view",
}
"""RestAdapter passes these on to pylance's DirectoryNamespace, which has none of them."""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation(tmp_path: Path, operation: str):
    asked, data = request(tmp_path, operation)
    if operation == "alter_transaction":
        asked.id = [*TABLE, "1"]  # The peer has no jobs: its transactions are the commits of a table.
    with (
        RestAdapter("dir", {"root": str(tmp_path)}, port=0) as adapter,
        lancespace.connect("rest", {"uri": f"http://127.0.0.1:{adapter.port}"}) as namespace,
    ):
        send = getattr(namespace, operation)
        arguments = [asked] if data is None else [asked, data]
        if operation not in NOT_IMPLEMENTED:
            assert isinstance(send(*arguments), expected(operation))
            return
        with pytest.raises(LanceNamespaceError, match=f"{operation} not implemented") as refused:
            send(*arguments)
    assert refused.value.code == ErrorCode.INTERNAL  # Instead of 0: a defect of the peer's.
