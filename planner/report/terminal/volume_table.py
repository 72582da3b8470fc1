"""Rate against number of block volumes in the terminal (SoCC 2015, Figure 10), up to where the node's link is full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from planner.cost_model.volume_counts import VolumeCount
from planner.units import format_rate

_TYPES = 3


def render_volumes(steps: Sequence[VolumeCount]) -> Iterator[Any]:
    """Yield a table of what the leading types do with each number of volumes."""
    from rich.table import Table
    from rich.text import Text

    if not steps:
        yield Text("Volumes: the recommended clusters use none, or their rates are unknown.")
        return
    for name in list(dict.fromkeys(step.instance_type for step in steps))[:_TYPES]:
        rows = [step for step in steps if step.instance_type == name]
        link = format_rate(rows[0].link_bytes_per_s)
        table = Table(title=f"Volumes on {name}, whose link carries {link}", title_justify="left", box=None)
        for heading in ("volume", "rate of each", "count: MB/s together", "$/h when full"):
            table.add_column(heading, justify="right" if heading.startswith("$") else "left", overflow="fold")
        for (volume, rated), run in groupby(rows, key=lambda step: (step.volume_type, step.rated)):
            table.add_row(volume, rated, *_cells(list(run)))
        yield table


def _cells(run: Sequence[VolumeCount]) -> Iterator[str]:
    yield ", ".join(f"{step.count}: {_rate(step)}" for step in run)
    full = run[-1]
    unknown = "-" if full.rated == "measured" else "unknown"
    yield unknown if full.usd_per_hour is None else f"{full.usd_per_hour:.3g}"


def _rate(step: VolumeCount) -> str:
    read, write = (f"{rate / 1e6:,.0f}" for rate in (step.read_bytes_per_s, step.write_bytes_per_s))
    return read if read == write else f"{read} read, {write} write"
