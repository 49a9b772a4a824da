"""What all segments of a vector index share: centroids and codebooks, trained once and shipped to every task."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

ARRAYS = ("ivf_centroids", "pq_codebook")
_SAMPLES = 256
"""How many rows pylance samples for each partition, and for each entry of a codebook."""
_PARTITION_ROWS = 8192
"""How many rows a partition has, unless the request says how many there are."""


def train(dataset: lance.LanceDataset, column: str, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an index with its models in them: JSON values, as a checkpoint may keep them."""
    from lance.indices import IndicesBuilder

    given = dict(options)
    rows = dataset.count_rows()
    distance = given.pop("metric", "l2").lower()
    sampled = min(given.pop("sample_rate", _SAMPLES), max(1, rows // 256))
    partitions = given.pop("num_partitions", None)
    per_partition = given.pop("target_partition_size", None) or _PARTITION_ROWS
    partitions = partitions or max(1, rows // per_partition)
    builder = IndicesBuilder(dataset, column)
    settings = {"sample_rate": sampled, "max_iters": given.pop("max_iters", 50)}
    ivf = builder.train_ivf(partitions, distance_type=distance, **settings)
    trained = {"ivf_centroids": ivf.centroids}
    if kind.endswith("PQ"):
        bits = given.get("num_bits", 8)
        pq = builder.train_pq(ivf, given["num_sub_vectors"], num_bits=bits, **settings)
        trained["pq_codebook"] = pq.codebook
    return {**given, "metric": distance, "num_partitions": partitions, **{k: _packed(v) for k, v in trained.items()}}


def unpack(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as pylance takes them."""
    return {name: _unpacked(value) if name in ARRAYS else value for name, value in options.items()}


def _packed(array: pa.Array) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], names=["model"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def _unpacked(text: str) -> pa.Array:
    import pyarrow as pa

    return pa.ipc.open_stream(base64.b64decode(text)).read_all()["model"].combine_chunks()
