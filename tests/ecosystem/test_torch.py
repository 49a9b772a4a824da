"""PyTorch: pylance's own loaders, over a table by name.

Where torch is not installed, what the loaders do with a dataset besides making tensors is shown without it: sampling it
by rank, and opening it by name in another process.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

import lance
import pytest
from lance.sampler import ShardedBatchSampler, ShardedFragmentSampler

from lancespace import Namespace
from tests.ecosystem.conftest import ORDERS

NO_TORCH = "torch is not installed: on Linux, PyPI has only the build for CUDA, several gigabytes (pip install torch)"


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason=NO_TORCH)


@pytest.fixture
def by_name(namespace: Namespace) -> dict[str, Any]:
    """What a worker needs to open the table."""
    return {"namespace_client": namespace, "table_id": ["sales", "orders"]}


@pytest.mark.usefixtures("torch")
def test_batches_of_tensors(namespace: Namespace):
    from lance.torch.data import LanceDataset

    dataset = namespace.table("sales.orders").dataset()
    batches = list(LanceDataset(dataset, batch_size=2, columns=["id", "vector"]))

    assert [batch["id"].tolist() for batch in batches] == [[1, 2], [3, 4]]
    assert batches[0]["vector"].shape == (2, 2)


@pytest.mark.usefixtures("torch")
def test_workers_open_the_table_by_name(by_name: dict[str, Any]):
    from lance.torch.data import SafeLanceDataset, get_safe_loader

    dataset = SafeLanceDataset(None, dataset_options=by_name)
    loader = get_safe_loader(dataset, batch_size=2, num_workers=2)

    assert sorted(number for batch in loader for number in batch["id"].tolist()) == ORDERS["id"].to_pylist()


@pytest.mark.parametrize("sampler", [ShardedFragmentSampler, ShardedBatchSampler])
def test_ranks_share_a_table(namespace: Namespace, sampler: Any):
    """The samplers are the part of the loaders that reads."""
    namespace.insert_into_table("sales.orders", ORDERS)
    dataset = namespace.table("sales.orders").dataset()

    ranks = [
        [number for batch in sampler(rank, 2)(dataset, batch_size=2) for number in batch["id"].to_pylist()]
        for rank in range(2)
    ]

    assert [len(read) for read in ranks] == [ORDERS.num_rows] * 2
    assert sorted(ranks[0] + ranks[1]) == sorted(ORDERS["id"].to_pylist() * 2)


def test_another_process_opens_the_table_by_name(by_name: dict[str, Any]):
    """As a worker of a loader does, which is sent the options and asks for rows by number."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(take, (by_name, [3, 0])) == [4, 1]


def take(options: dict[str, Any], places: list[int]) -> list[int]:
    numbers: list[int] = lance.dataset(None, **options).take(places, columns=["id"])["id"].to_pylist()
    return numbers
