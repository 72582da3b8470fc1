"""What a table's metadata shows: sizes, depth of the overlap per partition, and a picture of key ranges."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from planner.report.section import Section
from planner.tables.layout import DataFile, Snapshot
from planner.tables.overlap import LEAST, Overlap, PartitionOverlap, Position, Range, number_of
from planner.units import count_text, format_bytes, format_duration, format_usd

if TYPE_CHECKING:
    from planner.tables.price import Place, TablePrice

_MOST_ROWS: Final = 20
_KINDS: Final = {"delta": "Delta table", "iceberg": "Iceberg table", "parquet": "folder of Parquet files"}


def table_values(snapshot: Snapshot, overlap: Overlap | None, *, small_bytes: int) -> dict[str, Any]:
    """Return the look at a table as JSON-able values."""
    by_partition = _by_partition(snapshot)
    ranges = {part.partition: part for part in overlap.partitions} if overlap else {}
    rows = [file.rows for file in snapshot.files]
    return {
        "location": snapshot.location,
        "format": snapshot.kind,
        "table_version": snapshot.version,
        "files": len(snapshot.files),
        "rows": None if None in rows else sum(row or 0 for row in rows),
        "bytes": sum(file.bytes for file in snapshot.files),
        "declared_order": list(snapshot.order),
        "partitioned_by": list(snapshot.partitioned_by),
        "refusal": snapshot.refusal or None,
        "overlap_by": list(overlap.keys) if overlap else None,
        "depth": overlap.depth if overlap else None,
        "mean_depth": round(overlap.mean_depth, 3) if overlap else None,
        "overlapping_bytes": overlap.overlapping_bytes if overlap else None,
        "partitions": [
            _partition_values(files, ranges.get(partition), small_bytes=small_bytes)
            for partition, files in by_partition.items()
        ],
    }


def _by_partition(snapshot: Snapshot) -> dict[Any, list[DataFile]]:
    found = defaultdict(list)
    for file in sorted(snapshot.files, key=lambda file: file.partition):
        found[file.partition].append(file)
    return dict(found)


def _partition_values(files: list[DataFile], part: PartitionOverlap | None, *, small_bytes: int) -> dict[str, Any]:
    sizes, known = [file.bytes for file in files], part and [each for each in part.ranges if each.low[0][0] > -9]
    return {
        "partition": dict(files[0].partition),
        "files": len(files),
        "rows": sum(file.rows or 0 for file in files),
        "bytes": sum(sizes),
        "smallest_bytes": min(sizes),
        "largest_bytes": max(sizes),
        "small_files": sum(size < small_bytes for size in sizes),
        "files_with_deletes": sum(bool(file.deletes) for file in files),
        "files_left_as_they_are": sum(bool(file.left) for file in files),
        "depth": part.depth if part else None,
        "mean_depth": round(part.mean_depth, 3) if part else None,
        "overlapping_bytes": part.overlapping_bytes if part else None,
        "files_without_bounds": part.unknown if part else len(files),
        "least_key": _end_text(known[0].low) if known else None,
        "greatest_key": _end_text(max(each.high for each in known)) if known else None,
    }


def table_lines(values: dict[str, Any], overlap: Overlap | None, *, width: int) -> Iterator[str | Section]:
    """Yield the lines and the table that show a look."""
    rows = "unknown rows" if values["rows"] is None else count_text(values["rows"], "row", grouped=True)
    version = f", version {values['table_version']}" if values["table_version"] else ""
    size = f"{count_text(values['files'], 'file', grouped=True)}, {rows}, {format_bytes(values['bytes'])}"
    yield f"{values['location']}: {_KINDS[values['format']]}{version}: {size}"
    yield f"Declared order: {', '.join(values['declared_order']) or 'none'}"
    if values["refusal"]:
        yield f"Cannot be rewritten: {values['refusal']}"
    if not overlap:
        yield "Overlap: unknown, as the metadata has no bounds of any column"
        return
    share = overlap.overlapping_bytes / values["bytes"] if values["bytes"] else 0.0
    yield (
        f"Overlap by {', '.join(overlap.keys)}: one key can be in {count_text(overlap.depth, 'file')}, on average"
        f" {overlap.mean_depth:.1f}; {share:.0%} of the bytes overlap"
    )
    yield _section(values["partitions"])
    worst = max(overlap.partitions, key=lambda part: (part.depth, part.overlapping_bytes), default=None)
    if worst and (lines := picture(worst, width=min(width, 100) - 4)):
        place = ", ".join(f"{name}={value}" for name, value in worst.partition)
        yield f"Key ranges of the files{' of ' + place if place else ''}, the least key on the left:"
        yield from (f"  |{line}" for line in lines)
    if overlap.depth > 1 and not values["refusal"]:
        asked = f"{shlex.quote(values['location'])} --sort-by {shlex.quote(','.join(overlap.keys))}"
        yield f"Next: planner table price {asked} says what a sorted rewrite costs."


def _section(partitions: list[dict[str, Any]]) -> Section:
    shown = sorted(partitions, key=lambda part: -(part["overlapping_bytes"] or 0))[:_MOST_ROWS]
    rows = [
        [
            ", ".join(f"{name}={value}" for name, value in part["partition"].items()) or "all",
            f"{part['files']:,}",
            f"{part['rows']:,}",
            format_bytes(part["bytes"]),
            f"{part['depth']} ({part['mean_depth']:.1f})",
            format_bytes(part["overlapping_bytes"]),
            f"{part['small_files']:,}",
            f"{part['files_with_deletes']:,}",
            f"{part['least_key'] or '?'} to {part['greatest_key'] or '?'}",
        ]
        for part in shown
    ]
    more = len(partitions) - len(shown)
    return Section(
        title=f"The {len(shown)} partitions with most overlap; {more} more with --json" if more else "",
        columns=["partition", "files", "rows", "bytes", "depth (mean)", "overlapping", "small", "deletes", "keys"],
        rows=rows,
        numbers=range(1, 8),
    )


def price_lines(price: TablePrice) -> Iterator[str | Section]:
    """Yield the lines and the table that show a price."""
    share = price.read_bytes / price.table_bytes if price.table_bytes else 0.0
    yield (
        f"Sorted by {', '.join(price.keys)}: {count_text(price.groups, 'group')} of"
        f" {count_text(price.files, 'file')}; {format_bytes(price.read_bytes)} are read and written, {share:.0%} of all"
    )
    if price.places:
        rows = [[place.name, place.machines or place.reason, *_spans(place)] for place in price.places]
        yield Section(columns=["where", "machines", "time", "range", "cost", "range"], rows=rows)
    if price.scanned:
        found = price.scanned
        yield (
            f"{count_text(found.queries, 'query', 'queries')} a day read {format_bytes(found.before_bytes)}, and"
            f" {format_bytes(found.after_bytes)} afterwards: {format_usd(price.saved_usd_per_day or 0.0)} a day less"
        )
        if found.unknown:
            yield f"{count_text(found.unknown, 'query', 'queries')} of columns without bounds do not count"
    yield f"{price.verdict[:1].upper()}{price.verdict[1:]}"


def _spans(place: Place) -> list[str]:
    def span(value: float | None, ends: tuple[float, float] | None, text: Callable[[float], str]) -> list[str]:
        both = dict.fromkeys(map(text, ends or ()))  # one, where both ends read the same
        return ["" if value is None else text(value), " to ".join(both)]

    return [*span(place.seconds, place.seconds_range, format_duration), *span(place.usd, place.usd_range, format_usd)]


def picture(part: PartitionOverlap, *, width: int, most: int = 16) -> list[str]:
    """Return the key ranges of a partition as lines, the least key on the left; neighbouring files share a line if
    there are more than `most`.
    """
    places = _places([each for each in part.ranges if each.low[0] != LEAST])
    if not places:
        return []
    step = -(-len(places) // most)
    lines = []
    for first in range(0, len(places), step):
        cells = [" "] * width
        for low, high in places[first : first + step]:
            begin = min(int(low * width), width - 1)
            end = max(begin + 1, min(round(high * width), width))
            for cell in range(begin, end):
                cells[cell] = "#" if cells[cell] == "-" or cells[cell] == "#" else "-"
        lines.append("".join(cells).rstrip())
    return lines


def _places(ranges: Sequence[Range]) -> list[tuple[float, float]]:
    """Return the ends of ranges as fractions of the whole, by the first key: by value for numbers and times, else by
    rank.
    """
    ends = [position[0] for each in ranges for position in (each.low, each.high)]
    numbers = {end: number_of(end[1]) for end in ends if end[0] == 0}
    values = [number for number in numbers.values() if number is not None]
    if len(values) < len(numbers) or len(set(values)) < 2:
        order = {end: place for place, end in enumerate(sorted(set(ends)))}
        scale = max(len(order) - 1, 1)
        return [(order[each.low[0]] / scale, order[each.high[0]] / scale) for each in ranges]
    least, size = min(values), max(values) - min(values)

    def fraction(end: tuple[int, Any]) -> float:
        number = numbers.get(end)
        return (0.0 if end[0] < 0 else 1.0) if number is None else (number - least) / size

    return [(fraction(each.low[0]), fraction(each.high[0])) for each in ranges]


def _end_text(position: Position) -> str:
    """Return the end of a range for people."""
    words: Mapping[int, str] = {-9: "?", -1: "null", 1: "NaN", 2: "null", 9: "?"}
    rank, value = position[0]
    if rank:
        return words[rank]
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
    return text if len(text) <= 32 else f"{text[:31]}…"
