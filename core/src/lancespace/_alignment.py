"""Where Arrow buffers are in memory.

Arrow recommends addresses that are multiples of 64 and demands none. The Rust library that Lance is built on panics if
a buffer is not aligned to its values, 16 bytes for a decimal. Spark aligns buffers to 8 bytes, so does the format of
Arrow streams, and a slice of other bytes may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

_NUMBER = pa.int8()
_VALUES = {
    1: (
        *(pa.null(), pa.bool_(), pa.int8(), pa.uint8(), pa.binary(1)),
        *(pa.list_(_NUMBER, 1), pa.struct([]), pa.dictionary(_NUMBER, _NUMBER), pa.bool8()),
    ),
    2: (pa.int16(), pa.uint16(), pa.float16()),
    4: (
        *(pa.int32(), pa.uint32(), pa.float32(), pa.date32(), pa.time32("s")),
        *(pa.string(), pa.binary(), pa.list_(_NUMBER), pa.map_(_NUMBER, _NUMBER)),
    ),
    8: (
        *(pa.int64(), pa.uint64(), pa.float64(), pa.date64(), pa.time64("us"), pa.timestamp("us"), pa.duration("us")),
        *(pa.month_day_nano_interval(), pa.large_string(), pa.large_binary(), pa.large_list(_NUMBER)),
    ),
    16: (pa.decimal128(1), pa.decimal256(1), pa.string_view(), pa.binary_view()),
}
_ALIGNMENTS = {kind.id: alignment for alignment, kinds in _VALUES.items() for kind in kinds}
"""What the address of an array's values, offsets or views must be a multiple of, by the id of its type."""
_STRICTEST = max(_VALUES)
_LISTS = (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)


def aligned(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, fit for Lance: columns with a buffer that is not aligned are copied, and no others."""
    return map(_aligned, batches)


def _aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = batch.columns
    if all(map(_is_aligned, columns)):
        return batch
    copies = [column if _is_aligned(column) else _copy(column) for column in columns]
    return pa.RecordBatch.from_arrays(copies, schema=batch.schema)


def _is_aligned(array: pa.Array) -> bool:
    alignment = _ALIGNMENTS.get(array.type.id)
    if alignment is None:  # A type that Lance does not store.
        return all(_is_at(buffer, _STRICTEST) for buffer in array.buffers())
    return (alignment == 1 or _is_at(array.buffers()[1], alignment)) and all(map(_is_aligned, _children(array)))


def _children(array: pa.Array) -> Sequence[pa.Array]:
    if isinstance(array, pa.ExtensionArray):
        return (array.storage,)
    if isinstance(array, pa.DictionaryArray):
        return array.indices, array.dictionary
    if isinstance(array, pa.StructArray):
        return [array.field(number) for number in range(array.type.num_fields)]
    if isinstance(array, pa.MapArray):
        return array.keys, array.items
    return (array.values,) if isinstance(array, _LISTS) else ()


def _is_at(buffer: pa.Buffer | None, alignment: int) -> bool:
    return buffer is None or buffer.address % alignment == 0


def _copy(array: pa.Array) -> pa.Array:
    """The array in memory of pyarrow's own, which is aligned; of a slice, no more than the slice is copied."""
    copy = pa.concat_arrays([array, array.slice(0, 0)])  # One array alone would not be copied.
    # What dictionaries are of is not copied by that.
    return copy if _is_aligned(copy) else copy.copy_to(pa.default_cpu_memory_manager())
