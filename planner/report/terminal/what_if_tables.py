"""Tables of other volumes and networks in the terminal.

Rate against number of block volumes, up to a full link of the node (SoCC 2015, Figure 10); the leading types under
three networks, the winner of each marked (Figure 9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from planner.cost_model.volumes.volume_counts import VolumeCount
from planner.planning.what_if.network_views import VIEWS, NetworkRow, verdict
from planner.schemas.plan import NetworkView
from planner.units import format_rate, format_usd

_TYPES = 3


def render_volumes(steps: Sequence[VolumeCount]) -> Iterator[Any]:
    """Yield a table of the leading types' rates with each number of volumes."""
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


HEADINGS: Final[dict[NetworkView, str]] = {
    "unlimited": "no limit",
    "ideal": "as stated",
    "expected": "expected at scale",
}
"""Names of the three networks in tables and charts."""


def render_networks(rows: Sequence[NetworkRow]) -> Iterator[Any]:
    """Yield a table of the whole bill of each type's best cluster under each network, and where the winner changes."""
    from rich.table import Table
    from rich.text import Text

    if not rows:
        yield Text("Networks: the request says how fast the network is, so there is nothing to compare it with.")
        return
    title = "Nodes and whole bill by network (* the winner)"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    names = [(row.model,) * (len({row.model for row in rows}) > 1) + (row.instance_type,) for row in rows]
    for heading in ("type", *HEADINGS.values()):
        table.add_column(heading, justify="left" if heading == "type" else "right", overflow="fold")
    for row, name in zip(rows, names, strict=True):
        table.add_row(", ".join(reversed(name)), *(_cell(row, view) for view in VIEWS))
    yield table
    yield Text(verdict(rows))
    yield Text("As stated: a type's rate between the fewest nodes measured, or what its cloud states.", style="dim")


def _cell(row: NetworkRow, view: NetworkView) -> str:
    cluster = row.clusters[view]
    if cluster is None:
        return "-"
    return f"{'* ' * (view in row.wins)}{cluster.nodes}, {format_usd(cluster.cost_usd.total)}"
