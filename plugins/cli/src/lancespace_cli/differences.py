"""What is different between two versions of a table. Fragments that both have are not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace import InvalidInputError, TableColumnNotFoundError

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

Key = tuple[Any, ...]


def compare(before: lance.LanceDataset, after: lance.LanceDataset) -> dict[str, Any]:
    """Rows, columns and fragments, without reading data."""
    old, new = _fragments(before), _fragments(after)
    types = {name: str(before.schema.field(name).type) for name in before.schema.names}
    later = {name: str(after.schema.field(name).type) for name in after.schema.names}
    return {
        "from_version": before.version,
        "to_version": after.version,
        "rows_before": before.count_rows(),
        "rows_after": after.count_rows(),
        "columns_added": sorted(later.keys() - types.keys()),
        "columns_removed": sorted(types.keys() - later.keys()),
        "columns_retyped": {
            name: f"{types[name]} -> {later[name]}" for name in types if later.get(name, types[name]) != types[name]
        },
        "fragments_added": len(new.keys() - old.keys()),
        "fragments_removed": len(old.keys() - new.keys()),
        "fragments_changed": sum(old[number] != new[number] for number in old.keys() & new.keys()),
        "fragments_kept": sum(old[number] == new[number] for number in old.keys() & new.keys()),
    }


def compare_rows(
    before: lance.LanceDataset, after: lance.LanceDataset, key: Sequence[str], *, limit: int, max_rows: int
) -> dict[str, Any]:
    """How many rows were added, removed and changed, and the first of each.

    Raises:
        TableColumnNotFoundError: If a version lacks a column of the key.
        InvalidInputError: If there are more rows to compare than ``max_rows``, or two rows have the same key.
    """
    columns = [name for name in before.schema.names if name in after.schema.names]
    for name in key:
        if name not in columns:
            raise TableColumnNotFoundError(f"--key: not both versions have a column {name!r}; both have: {columns}")
    same = _fragments(before).items() & _fragments(after).items()
    kept = {number for number, _ in same}
    old, new = (_changed_rows(dataset, kept, columns, max_rows) for dataset in (before, after))
    old_keys, new_keys = _by_key(old, key, before.version), _by_key(new, key, after.version)
    added = [at for one, at in new_keys.items() if one not in old_keys]
    removed = [at for one, at in old_keys.items() if one not in new_keys]
    changed = list(_unequal(old, new, old_keys, new_keys))
    return {
        "rows_added": len(added),
        "rows_removed": len(removed),
        "rows_changed": len(changed),
        "added": _taken(new, added[:limit]).to_pylist(),
        "removed": _taken(old, removed[:limit]).to_pylist(),
        "changed": _taken(new, changed[:limit]).to_pylist(),
    }


def _fragments(dataset: lance.LanceDataset) -> dict[int, str]:
    """Each fragment by number, as text that is the same while its rows are."""
    return {one.fragment_id: str(one.metadata.to_json()) for one in dataset.get_fragments()}


def _changed_rows(dataset: lance.LanceDataset, kept: set[int], columns: list[str], max_rows: int) -> pa.Table:
    fragments = [one for one in dataset.get_fragments() if one.fragment_id not in kept]
    count = sum(one.count_rows() for one in fragments)
    if count > max_rows:
        raise InvalidInputError(
            f"{count:,} rows of version {dataset.version} are in fragments that differ, and only {max_rows:,} are "
            "compared by key: raise --max-rows, or leave --key out."
        )
    rows: pa.Table = dataset.scanner(columns=columns, fragments=fragments).to_table() if fragments else _none(dataset)
    return rows.select(columns)


def _none(dataset: lance.LanceDataset) -> pa.Table:
    return dataset.schema.empty_table()


def _by_key(rows: pa.Table, key: Sequence[str], version: int) -> dict[Key, int]:
    """Where the row of each key is."""
    keys = zip(*(rows.column(name).to_pylist() for name in key), strict=True)
    found = {one: at for at, one in enumerate(keys)}
    if len(found) != rows.num_rows:
        raise InvalidInputError(
            f"--key {','.join(key)}: {rows.num_rows - len(found):,} rows of version {version} have the key of another"
        )
    return found


def _unequal(old: pa.Table, new: pa.Table, old_keys: dict[Key, int], new_keys: dict[Key, int]) -> Iterator[int]:
    """Where the rows are, in the new table, whose values are others than before."""
    both = [(old_keys[one], at) for one, at in new_keys.items() if one in old_keys]
    before, after = _taken(old, [at for at, _ in both]), _taken(new, [at for _, at in both])
    pairs = zip(_rows(before), _rows(after), strict=True)
    yield from (at for (_, at), (was, now) in zip(both, pairs, strict=True) if was != now)


def _taken(rows: pa.Table, places: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    return rows.take(pa.array(places, pa.int64()))


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    return (row for batch in table.to_batches() for row in batch.to_pylist())
