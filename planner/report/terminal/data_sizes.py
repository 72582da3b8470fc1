"""The table of `planner sizes --data 3TB,6TB,12TB`: one line for each size of data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.planning.what_if.data_curve import DataPoint
from planner.report.cluster_names import cluster_name
from planner.report.words import bottleneck_word, wrapped
from planner.units import format_bytes, format_duration, format_usd

_HEADINGS: Final = ("data", "cluster", "whole run", "bill", "$ per TB", "bottleneck")
_NUMBERS: Final = ("whole run", "bill", "$ per TB")


def data_sizes_text(points: Sequence[DataPoint], *, width: int = 80) -> str:
    """Return a table of the recommended cluster for each size of data, and below it why some sizes have none."""
    rows = [_HEADINGS, *(_row(point) for point in points)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADINGS))]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([*lines, *_reasons(points, width)])


def data_sizes_markdown(points: Sequence[DataPoint]) -> str:
    """Return the same table in Markdown."""
    rows = [_HEADINGS, ["---:" if name in _NUMBERS else "---" for name in _HEADINGS], *map(_row, points)]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), *(f"\n{line}" for line in _reasons(points, 10_000))])


def _row(point: DataPoint) -> tuple[str, ...]:
    best = point.cluster
    if best is None:
        return format_bytes(point.data_bytes), "none", "", "", "", ""
    per_tb = best.cost_usd.total / (point.data_bytes / 1e12)
    return (
        format_bytes(point.data_bytes),
        cluster_name(best) + (", spot" if best.pricing == "spot" else ""),
        format_duration(best.whole_run_s),
        format_usd(best.cost_usd.total),
        format_usd(per_tb),
        bottleneck_word(best),
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        f"{cell:>{width}}" if heading in _NUMBERS else f"{cell:<{width}}"
        for cell, width, heading in zip(row, widths, _HEADINGS, strict=True)
    )
    return "  ".join(cells).rstrip()


def _reasons(points: Sequence[DataPoint], width: int) -> Iterator[str]:
    for point in points:
        if point.why_not:
            reason = f"{format_bytes(point.data_bytes)}: {point.why_not}"
            yield from wrapped(reason, width)
