"""The page of a logged Spark application: the account of its time, and cheaper clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from planner.report import plots
from planner.report.page.rendering import Figure, KeyFigure, render
from planner.report.section import Section
from planner.report.terminal.spark_answer import advice, choices_section, notes
from planner.report.terminal.spark_explanation import brief_stage_table, cluster_text, stream_notes
from planner.spark.application.application import Application
from planner.spark.model.bounds import Explanation, StageBound
from planner.spark.model.choices import SparkCluster, SparkPlan
from planner.spark.model.task_time import RESOURCES
from planner.units import format_duration

if TYPE_CHECKING:
    import pandas as pd

_STAGES_DRAWN: Final = 40
_CLUSTERS_SHOWN: Final = 20
_CHANGES: Final = "The application's time if one resource had no waits and nothing else changed"


def spark_page(
    application: Application, explained: Explanation, plan: SparkPlan | None = None, *, made_on: date | None = None
) -> str:
    """Return the page as HTML, with other clusters if there is a plan.

    Raises PlannerError without the extra `plots`.
    """
    name = application.name or application.app_id or "A Spark application"
    columns, rows = brief_stage_table(explained)
    lost = (f"Lost: {loss}" for loss in application.losses)
    said = notes(application, plan, explained) if plan else (*stream_notes(application), *lost)
    changes = [(c.what, format_duration(c.duration_s), f"{c.share:+.0%}") for c in explained.changes]
    return render(
        "spark.html",
        figures=[*_figures(application, explained), *([_clusters(plan)] if plan else [])],
        title=name,
        made_on=made_on,
        asked=f"{name}, {application.app_id or 'id unknown'}, Spark {application.spark_version or '(unknown version)'}",
        headline=advice(plan) if plan else f"{name} took {format_duration(explained.duration_s)}",
        ran_on=cluster_text(application.cluster),
        key_figures=list(_key_figures(explained)),
        changes=Section(title=_CHANGES, columns=("with", "at best", "change"), rows=changes, numbers=(1, 2)),
        stages=Section(title="Stages in order of start", columns=columns, rows=rows, numbers=range(4, len(columns))),
        drawn=min(_STAGES_DRAWN, len(explained.stages)),
        clusters=_others(plan) if plan else None,
        notes=[explained.completeness.sentence, *said],
    )


def _others(plan: SparkPlan) -> Section:
    section = choices_section(plan, others=_CLUSTERS_SHOWN)
    columns, title = ("which", *section.columns[1:-1], "change"), "As it was, and the best size of each type"
    return Section(title=title, columns=columns, rows=section.rows, numbers=(2, 3, 4, 5))


def _figures(application: Application, explained: Explanation) -> Iterator[Figure]:
    import pandas as pd

    longest = sorted(explained.stages, key=lambda bound: -(bound.stage.duration_s or 0.0))[:_STAGES_DRAWN]
    drawn = sorted(longest, key=lambda bound: bound.stage.started_at_s or 0.0)
    bounds = ", ".join(f"{word} {format_duration(s)}" for word, s in explained.seconds_by_bound.items())
    yield Figure(
        name="stages",
        title="Stages over time",
        text=f"Each bar is a stage; its colour is what bound it. In all: {bounds or 'no stage'}.",
        chart=plots.stage_timeline(_timeline_frame(drawn, origin_s=application.started_at_s or 0.0)),
    )
    spent = ", ".join(f"{name} {explained.time.share(name):.0%}" for name in RESOURCES)
    rows = [
        (_label(bound), name, place, bound.time.total * bound.time.share(name))
        for bound in drawn
        for place, name in enumerate(RESOURCES)
    ]
    yield Figure(
        name="tasks",
        title="Where the tasks' time went",
        text=f"What the tasks of each stage spent their time on. Of all stages: {spent}.",
        chart=plots.task_time(pd.DataFrame(rows, columns=["stage", "resource", "place", "task_time_s"])),
    )


def _label(bound: StageBound) -> str:
    attempt = f".{bound.stage.attempt}" if bound.stage.attempt else ""
    return f"{bound.stage.stage_id}{attempt}"


def _timeline_frame(drawn: Sequence[StageBound], *, origin_s: float) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for bound in drawn:
        start_s = (bound.stage.started_at_s or origin_s) - origin_s
        end_s = start_s + (bound.stage.duration_s or 0.0)
        rows.append((_label(bound), bound.bound or "nothing", start_s, end_s))
    return pd.DataFrame(rows, columns=["stage", "bound", "start_s", "end_s"])


def _key_figures(explained: Explanation) -> Iterator[KeyFigure]:
    line = explained.timeline
    yield "It took", format_duration(explained.duration_s), f"{len(explained.stages)} stages"
    for word, seconds in list(explained.seconds_by_bound.items())[:2]:
        share = seconds / explained.duration_s if explained.duration_s else 0.0
        yield f"Bound by {word}", format_duration(seconds), f"{share:.0%} of the time"
    yield "No stage ran", format_duration(line.driver_s), f"{format_duration(line.startup_s)} of it before the first"


def _clusters(plan: SparkPlan) -> Figure:
    import pandas as pd

    def which(choice: SparkCluster) -> str:
        if choice is plan.logged:
            return "as it was"
        return "recommended" if plan.best and choice.nodes.same_as(plan.best.nodes) else "other"

    rows = [
        (choice.name, which(choice), of.duration_s, of.low_s, of.high_s, choice.cost_usd)
        for choice in (plan.logged, *plan.choices[:_CLUSTERS_SHOWN], *([] if plan.choices else [plan.fastest]))
        if choice.cost_usd == choice.cost_usd
        for of in [choice.prediction]
    ]
    return Figure(
        name="clusters",
        title="Time and cost of other clusters",
        text="The best size of each type; lines are the ranges that hold 90%. The table has the same in figures.",
        chart=plots.clusters(pd.DataFrame(rows, columns=["cluster", "which", "time_s", "low_s", "high_s", "cost_usd"])),
    )
