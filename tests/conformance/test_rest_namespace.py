"""pylance's RestNamespace on our server: every operation of the table is called, and its client takes our answer.

The conformance suite on the same pair is ``plugins/server/tests/test_pylance_client.py``; it skips what the peer does
not implement. Nothing is skipped here: the peer's own answer is what is tested then. Written for pylance 14.0.2.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lance.namespace import RestNamespace
from lance_namespace import (
    CreateTableIndexResponse,
    InvalidInputError,
    LanceNamespaceError,
    UnsupportedOperationError,
)

from lancespace.authoring import OPERATIONS
from plugins.server.tests.hosting import Running, catalog_url
from tests.conformance.calling import call
from tests.conformance.worlds import expected, request

NOT_SENT = dict.fromkeys(
    ("update_field_metadata", "batch_create_table_versions", "batch_commit_tables"), UnsupportedOperationError
)
"""Its Python class has no such method: the base class answers, and no request leaves the process."""

REFUSED: dict[str, tuple[type[LanceNamespaceError], str]] = {
    **{operation: (error, f"Not supported: {operation}") for operation, error in NOT_SENT.items()},
    "alter_transaction": (InvalidInputError, "each action sets a status, or sets or unsets one property"),
}
"""``alter_transaction`` is sent without what its actions are to do, so the last words are our server's."""

OTHER_MODELS = {"create_table_scalar_index": CreateTableIndexResponse}
"""Its client answers with the model of another operation."""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation(host: Running, tmp_path: Path, operation: str):
    asked, data = request(tmp_path, operation)
    namespace = RestNamespace(uri=catalog_url(host, tmp_path))
    if operation not in REFUSED:
        answer = call(namespace, operation, asked, data)
        assert isinstance(answer, OTHER_MODELS.get(operation) or expected(operation))
        return
    error, words = REFUSED[operation]
    with pytest.raises(error, match=words):
        call(namespace, operation, asked, data)
