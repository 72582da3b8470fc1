"""The leading types under three networks in the terminal (SoCC 2015, Figure 9), the winner of each marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from planner.planning.what_if.network_views import VIEWS, NetworkRow, verdict
from planner.schemas.plan import NetworkView
from planner.units import format_usd

HEADINGS: Final[dict[NetworkView, str]] = {
    "unlimited": "no limit",
    "ideal": "as stated",
    "expected": "expected at scale",
}
"""What the three networks are called in tables and charts."""


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
