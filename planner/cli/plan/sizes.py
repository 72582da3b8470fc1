"""`planner sizes --data 3TB,6TB,12TB`, or `--nodes 2,4,8`: a table of the recommended cluster for each."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Option

from planner.api.files import require_new
from planner.cli.plan.chart import Chart, Dark, require_chart, write_chart
from planner.cli.plan.request_options import RequestOptions, request_option
from planner.cli.shell.console import columns, show_text
from planner.cli.shell.files import Force, write_atomically
from planner.errors import BadInputError, about
from planner.units import parse_count

if TYPE_CHECKING:
    from planner.api.recommend_each import DataSizes


class SizesOptions(RequestOptions):
    """Options of a request with several numbers of nodes."""

    __signature__: ClassVar = Signature(
        [
            option.replace(
                annotation=Annotated[str | None, request_option("nodes", help_text="Numbers of nodes: 2,4,8.")]
            )
            if name == "nodes"
            else option
            for name, option in RequestOptions.__signature__.parameters.items()
        ]
    )

    @property
    def numbers(self) -> list[int | None]:
        """The numbers in --nodes; None stands for any."""
        given = str(self["nodes"]).split(",") if self.get("nodes") else []
        with about("--nodes"):
            return [parse_count(number.strip()) for number in given] or [None]


def sizes(
    *,
    request_options: SizesOptions,
    show: Annotated[Literal["table", "json", "csv", "markdown"], Option(help="The form of the table.")] = "table",
    json: Annotated[bool, Option("--json", help="Print one JSON object, with a plan for each size.")] = False,
    out: Annotated[Path | None, Option(dir_okay=False, help="Also write it to FILE.json, FILE.csv or FILE.md.")] = None,
    chart: Chart = None,
    dark: Dark = False,
    force: Force = False,
) -> None:
    """Recommend a cluster for each of several sizes of data or numbers of nodes, in a table.

    Example: planner sizes --data 3TB,6TB,12TB --pricing on-demand,spot

    Example: planner sizes --data 3TB --nodes 2,4,8,16
    """
    from planner.api.recommend_each import sizes_of
    from planner.planning.recommendation import require_best

    require_new([out, chart], force=force)
    require_chart(chart, dark=dark)
    several = [*product(request_options.sizes, request_options.numbers)]
    if len(several) < 2:
        text = "--data: name several sizes, such as 3TB,6TB,12TB, or several --nodes; `plan` is for one"
        raise BadInputError(text, code="several-sizes")
    asked = [RequestOptions(request_options, data=size, nodes=number) for size, number in several]
    answers = sizes_of([each.answer() for each in asked])
    if out:
        write_atomically(out, _text(answers, out.suffix.removeprefix("."), out=out) + "\n", option="--out")
    if chart:
        write_chart(answers, chart, dark=dark)
    show_text(_text(answers, "json" if json else show))
    if not any(plan.best for plan in answers.plans):
        require_best(answers.plans[0])


def _text(answers: DataSizes, form: str, *, out: Path | None = None) -> str:
    from planner.report.terminal.what_if_tables import data_sizes_markdown, data_sizes_text

    made: dict[str, Callable[[], Any]] = {
        "json": answers.to_json,
        "csv": lambda: answers.to_frame().to_csv(index=False, float_format="%.7g").rstrip("\n"),
        "md": lambda: data_sizes_markdown(answers.points),
        "markdown": lambda: data_sizes_markdown(answers.points),
    }
    if out is not None and form not in made:
        raise BadInputError(
            f"--out {out}: several sizes are written as .json, .csv or .md; name such a file", code="wrong-suffix"
        )
    return str(made[form]()) if form in made else data_sizes_text(answers.points, width=min(columns(), 100))
