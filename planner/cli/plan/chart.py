"""`--chart FILE.png`: the answer as a picture for a slide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from typer import Option

from planner.cli.shell.files import write_atomically
from planner.errors import BadInputError
from planner.extras import optional

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.api.recommend_each import DataSizes

CHARTS: Final = (".png", ".svg")
"""Formats, by the end of the file's name."""

Chart = Annotated[
    Path | None, Option(dir_okay=False, help="Also draw the answer for a slide, to FILE.png or FILE.svg.")
]
Dark = Annotated[bool, Option("--dark", help="Draw --chart on a dark ground.")]


def require_chart(chart: Path | None, *, dark: bool) -> None:
    """Raise BadInputError for an unsupported format of chart, PlannerError where charts are not installed."""
    if dark and not chart:
        raise BadInputError("--dark is for --chart: name its file, such as --chart plan.png", code="missing-companion")
    if chart and chart.suffix not in CHARTS:
        raise BadInputError(f"--chart {chart}: name a file that ends with {' or '.join(CHARTS)}", code="wrong-suffix")
    if chart:
        optional("altair", extra="plots", purpose="--chart")


def write_chart(answered: Recommendation | DataSizes, chart: Path, *, dark: bool) -> None:
    """Draw an answer."""
    from planner.report.plots import picture

    write_atomically(chart, picture(answered.chart(dark=dark), suffix=chart.suffix), option="--chart")
