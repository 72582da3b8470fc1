"""The slowdowns of `planner emulate study` in the terminal, beside the study's own."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.clusters.emulated.study import TABLE_2, Measured, slowdowns


def render_study(measured: list[Measured]) -> RenderableType:
    """Return the table, and the study's Table 2 below it."""
    table = Table(
        title="Times the homogeneous network", title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    for name in ("network", "measured", "least", "most", "predicted", "study (Terasort)"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for row in slowdowns(measured):
        figures = (row.measured, row.least, row.most, row.predicted)
        study = "-" if row.study is None else f"{row.study:.2f}"
        table.add_row(row.network, *(f"{figure:.2f}" for figure in figures), study)
    applications = ", ".join(f"{name} {factor:.2f} ({cloud})" for name, (factor, cloud) in TABLE_2.items())
    source = f"Greatest slowdowns in Uta and Obaseki, ICPE 2018, Table 2, of Spark on 16 nodes: {applications}"
    return Group(table, Text(source, style="dim"))
