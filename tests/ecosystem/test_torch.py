"""PyTorch: pylance's own loaders, over a table by name."""

from __future__ import annotations

import pytest

from lancespace import Namespace
from tests.ecosystem.conftest import ORDERS

torch = pytest.importorskip("torch", reason="torch is not installed; it is too large for this environment")


def test_batches_of_tensors(namespace: Namespace):
    from lance.torch.data import LanceDataset

    dataset = namespace.table("sales.orders").dataset()
    batches = list(LanceDataset(dataset, batch_size=2, columns=["id", "vector"]))

    assert [batch["id"].tolist() for batch in batches] == [[1, 2], [3, 4]]
    assert batches[0]["vector"].shape == (2, 2)


def test_workers_open_the_table_by_name(namespace: Namespace):
    from lance.torch.data import SafeLanceDataset, get_safe_loader

    by_name = {"namespace_client": namespace, "table_id": ["sales", "orders"]}
    loader = get_safe_loader(SafeLanceDataset(None, dataset_options=by_name), batch_size=2, num_workers=2)

    assert sorted(number for batch in loader for number in batch["id"].tolist()) == ORDERS["id"].to_pylist()
