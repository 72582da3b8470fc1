"""Pages for `--html`, with a progress message, since a page takes some seconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

from planner.cli.shell.progress import stepped

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.schemas.run_report import RunReport
    from planner.spark.application.application import Application
    from planner.spark.fleet.reading import Fleet
    from planner.spark.model.bounds import Explanation
    from planner.spark.model.choices import SparkPlan


def plan_html(recommendation: Recommendation) -> str:
    """Return the page of a plan, dated today."""
    from planner.report.page import PLAN_PAGE_STEPS

    with stepped(1 + PLAN_PAGE_STEPS) as on_step:
        return recommendation.to_html(made_on=date.today(), on_step=on_step)


def spark_html(application: Application, explained: Explanation, plan: SparkPlan | None = None) -> str:
    """Return the page of a logged Spark application, dated today."""
    from planner.report.page import spark_page

    return written(lambda today: spark_page(application, explained, plan, made_on=today))


def fleet_html(fleet: Fleet) -> str:
    """Return the page of a fleet of Spark applications, dated today."""
    from planner.report.fleet import fleet_page

    return written(lambda today: fleet_page(fleet, made_on=today))


def run_html(report: RunReport) -> str:
    """Return the page of a run, dated today."""
    from planner.report.run import run_page

    return written(lambda today: run_page(report, made_on=today))


def written(page: Callable[[date], str]) -> str:
    """Return a page that is written in one step."""
    with stepped(1) as on_step:
        on_step("writing the page")
        return page(date.today())
