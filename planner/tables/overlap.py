"""How far the key ranges of files overlap, from bounds in the metadata alone.

A position in the order of a key is a pair: -1 for nulls before all values, 0 and the value, 1 for NaN, 2 for nulls
after them, so that ranges of files with nulls compare like others. Ranges that share only an end do not overlap: equal
keys may lie at the end of one sorted file and at the start of the next.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

from planner.errors import BadInputError
from planner.sorting.column_keys import parse_columns
from planner.tables.layout import DataFile, Partition

Position = tuple[tuple[int, Any], ...]

_BEFORE: Final = (-1, None)
_NAN: Final = (1, None)
_AFTER: Final = (2, None)
LEAST: Final = (-9, None)
"""Before all positions: where a file without bounds may begin."""
_MOST: Final = (9, None)


class Key(NamedTuple):
    """A column of the order, by its name in bounds; nulls are `nulls_low` if they lie before the least value."""

    name: str
    text: str
    nulls_low: bool
    is_float: bool


class Range(NamedTuple):
    """The first and last position that keys of a file can have."""

    low: Position
    high: Position
    file: DataFile


@dataclass(frozen=True, kw_only=True)
class PartitionOverlap:
    """The ranges of a partition's files in order; `depth` is the most files that one key can be in."""

    partition: Partition
    ranges: tuple[Range, ...]
    depth: int
    mean_depth: float
    """Files that hold the key of a file's range, on average over the ends of the ranges."""
    overlapping_bytes: int
    unknown: int
    """Files without bounds, which may hold every key."""


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The overlap of a table by the `keys`, per partition."""

    keys: tuple[str, ...]
    partitions: tuple[PartitionOverlap, ...]

    @cached_property
    def depth(self) -> int:
        """The most files that one key can be in: 1 in a sorted table, 0 in an empty one."""
        return max((part.depth for part in self.partitions), default=0)

    @property
    def mean_depth(self) -> float:
        """Mean of the partitions' depths, weighted by their files."""
        files = sum(len(part.ranges) for part in self.partitions)
        return sum(part.mean_depth * len(part.ranges) for part in self.partitions) / files if files else 0.0

    @property
    def overlapping_bytes(self) -> int:
        """Bytes of files whose range overlaps that of another."""
        return sum(part.overlapping_bytes for part in self.partitions)


def keys_of(texts: Sequence[str], schema: Any) -> tuple[Key, ...]:
    """Return the keys of a schema; a field of a struct is `STRUCT.FIELD`. Raises BadInputError, also for ordered
    categories: bounds in metadata are in the order of texts.
    """
    from planner.sorting.tables.table_keys import has_categories, parse_table_keys

    for key in parse_table_keys(texts, schema):  # raises for what has no order
        if has_categories(schema.field(key.column).type):
            raise BadInputError(
                f"column {schema.names[key.column]!r} has ordered categories, whose order metadata does not tell",
                ["sort the files with `planner sort`, or store the column as text"],
                code="ordered-categories",
            )
    types = dict(_leaves(schema))
    named = list(types)
    keys = []
    for each in parse_columns(texts, named, columns=len(schema.names)):
        name = named[each.column]
        nulls_low = each.empties_first != each.descending
        keys.append(Key(name, each.text, nulls_low, "float" in types[name] or "double" in types[name]))
    return tuple(keys)


def _leaves(fields: Iterable[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield names with types, those of the schema first and then those within structs, as `parse_table_keys` does."""
    listed = list(fields)
    yield from ((f"{before}{field.name}", str(field.type)) for field in listed)
    for field in listed:
        if str(field.type).startswith("struct<"):
            inner = [field.type.field(number) for number in range(field.type.num_fields)]
            yield from _leaves(inner, f"{before}{field.name}.")


def overlap_of(files: Iterable[DataFile], keys: Sequence[Key]) -> Overlap:
    """Return the overlap of files by keys."""
    by_partition = defaultdict(list)
    for file in files:
        by_partition[file.partition].append(file)
    parts = [_overlap_in(partition, found, keys) for partition, found in sorted(by_partition.items())]
    return Overlap(keys=tuple(key.text for key in keys), partitions=tuple(parts))


def _overlap_in(partition: Partition, files: Sequence[DataFile], keys: Sequence[Key]) -> PartitionOverlap:
    ranges = ranges_of(files, keys)
    depths = list(depths_at(ranges))
    within = {each.file.path for cluster in clusters(ranges) if len(cluster) > 1 for each in cluster}
    return PartitionOverlap(
        partition=partition,
        ranges=tuple(ranges),
        depth=max(depths, default=0),
        mean_depth=sum(depths) / len(depths) if depths else 0.0,
        overlapping_bytes=sum(file.bytes for file in files if file.path in within),
        unknown=sum(each.low[0] == LEAST for each in ranges),
    )


def ranges_of(files: Iterable[DataFile], keys: Sequence[Key]) -> list[Range]:
    """Return the ranges of files with rows in the order of their keys."""
    found = [Range(*_range(file, keys), file) for file in files if file.rows != 0]
    return sorted(found, key=lambda each: (each.low, each.high, each.file.path))


def _range(file: DataFile, keys: Sequence[Key]) -> tuple[Position, Position]:
    """Return the ends of a file; a later key counts only where the earlier ones have one value."""
    low: Position = ()
    high: Position = ()
    for key in keys:
        least, most = _ends(file, key)
        low, high = (*low, least), (*high, most)
        if least != most:
            break
    more = len(keys) - len(low)  # where the first keys differ, rows at an end may have any later keys: the inner ones
    return (*low, *[_MOST] * more), (*high, *[LEAST] * more)


def _ends(file: DataFile, key: Key) -> tuple[tuple[int, Any], tuple[int, Any]]:
    nulls, null = file.nulls.get(key.name), _BEFORE if key.nulls_low else _AFTER
    if file.rows and nulls == file.rows:
        return null, null
    bounds = file.bounds.get(key.name)
    if ":natural" in key.text or ":fold" in key.text:
        return LEAST, _MOST
    if bounds is not None:
        ends = [(0, bounds[0]), (0, bounds[1]) if bounds[1] is not None else _NAN if key.is_float else _MOST]
    elif key.is_float and nulls is not None and file.bounds and "." not in key.name:  # others have bounds: no number
        ends = [_NAN, _NAN]
    else:
        return LEAST, _MOST
    if nulls is None or nulls:  # where unknown there may be some
        ends.append(null)
    return min(ends, key=lambda end: end[0]), max(ends[1:], key=lambda end: end[0])


def depths_at(ranges: Sequence[Range]) -> Iterator[int]:
    """Yield for each range, in order, how many of the ranges up to it hold keys after its low end."""
    open_ends: list[Position] = []
    for each in ranges:
        while open_ends and each.low >= open_ends[0]:
            heapq.heappop(open_ends)
        heapq.heappush(open_ends, each.high)
        yield len(open_ends)


def clusters(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """Yield lists of ranges, in order, such that ranges of different lists do not overlap."""
    waiting: list[Range] = []
    end: Position = ()
    for each in ranges:
        if waiting and each.low >= end:
            yield waiting
            waiting = []
        end = max(end, each.high) if waiting else each.high
        waiting.append(each)
    if waiting:
        yield waiting


def number_of(value: Any) -> float | None:
    """Return a number for a number or a time, by which shares of ranges are taken; None for other values."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    if isinstance(value, date):
        return float(value.toordinal())
    try:
        return None if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError):
        return None
