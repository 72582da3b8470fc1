"""`plan --data 3TB,6TB,12TB`: a table of the recommended cluster for each size."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.plan.request_options import RequestOptions
from planner.cli.shell.console import columns, show_text
from planner.cli.shell.files import write_atomically
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.api.recommend_each import DataSizes

_FORMS = ("answer", "table", "json", "csv", "markdown")


def sizes_of(data: str | None) -> list[str]:
    """Return the sizes in --data: `3TB,6TB` are two, `10,000GB` is one, as only a unit ends a size.

    Raises BadInputError where one of several is empty.
    """
    sizes = [size.strip() for size in re.split(r"(?<=[A-Za-z,])\s*,", data or "")]
    if len(sizes) > 1 and not all(sizes):
        raise BadInputError(f"--data {data}: a size is missing next to a comma; write it as 3TB,6TB,12TB")
    return sizes


def plan_sizes(
    sizes: list[str],
    request_options: RequestOptions,
    *,
    answer: Callable[[RequestOptions], Recommendation],
    form: str,
    out: Path | None,
    chart: Callable[[DataSizes], None],
    of_one_size: Mapping[str, object],
) -> None:
    """Show the recommended cluster for each size; `chart` draws them if given.

    Raises InfeasibleError where no size has one, and BadInputError for given options that are `of_one_size`.
    """
    from planner.api.recommend_each import sizes_of as answers_for
    from planner.planning.recommendation import require_best

    _refuse(of_one_size, form)
    answers = answers_for([answer(RequestOptions(request_options, data=size)) for size in sizes])
    if out:
        write_atomically(out, _text(answers, out.suffix.removeprefix("."), out=out) + "\n", option="--out")
    chart(answers)
    show_text(_text(answers, form))
    if not any(plan.best for plan in answers.plans):
        require_best(answers.plans[0])


def _refuse(of_one_size: Mapping[str, object], form: str) -> None:
    given = [option for option, value in of_one_size.items() if value]
    given += [] if form in _FORMS else [f"--show {form}"]
    if given:
        raise BadInputError(f"{', '.join(given)}: for one size of data; give --data one size")


def _text(answers: DataSizes, form: str, *, out: Path | None = None) -> str:
    made: dict[str, Callable[[], Any]] = {
        "json": answers.to_json,
        "csv": lambda: answers.to_frame().to_csv(index=False, float_format="%.7g").rstrip("\n"),
        "md": lambda: _markdown(answers),
        "markdown": lambda: _markdown(answers),
    }
    if out is not None and form not in made:
        raise BadInputError(f"--out {out}: several sizes are written as .json, .csv or .md; name such a file")
    if form in made:
        return str(made[form]())
    from planner.report.terminal.what_if_tables import data_sizes_text

    return data_sizes_text(answers.points, width=min(columns(), 100))


def _markdown(answers: DataSizes) -> str:
    from planner.report.terminal.what_if_tables import data_sizes_markdown

    return data_sizes_markdown(answers.points)
