"""A real plan, and a real browser to view pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_events import lines, small_job

import planner
from planner.api.recommend import Recommendation
from planner.report.page import spark_page
from planner.schemas.plan import Plan, Request
from planner.schemas.run_report import Check, PhaseComparison, RunReport
from planner.spark import log as spark_log
from planner.spark.model.bounds import explain
from planner.spark.model.from_log import plan_application

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def answer() -> Recommendation:
    return planner.recommend(data="100TB", model="daytona", catalogs=["aws-2014"], deadline="1h", engine="ideal")


@pytest.fixture(scope="session")
def plan_file(answer: Recommendation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "plan.html"
    path.write_text(answer.to_html(), encoding="utf-8")
    return path


@pytest.fixture
def plan(answer: Recommendation) -> Plan:
    return answer.plan


@pytest.fixture(scope="session")
def spark_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 80 tasks of 10 s and 80 of 5 s that ran on 2 x m5.xlarge, with other clusters."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "log").write_bytes(lines(small_job(tasks=80)))
    application = spark_log.read(folder / "log").only()
    request = Request(data_bytes=1, catalogs=("aws",), instances=("m5.*", "m7g.*"))
    plan = plan_application(application, request, ran_on="m5.xlarge x 2")
    path = folder / "spark.html"
    path.write_text(spark_page(application, explain(application), plan), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def receipt_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a kept run and plan, a log, and a file of no use."""
    folder = tmp_path_factory.mktemp("receipt")
    for stored in ("plan-1.json", "run-report.json"):
        shutil.copy(Path(__file__).parents[1] / "data" / "stored" / stored, folder)
    (folder / "log").write_bytes(lines(small_job()))
    (folder / "notes").write_text("buy milk")
    path = folder / "page.html"
    path.write_text(planner.receipt(folder, ran_on="m5.xlarge x 2").to_html(), encoding="utf-8")
    return path


@pytest.fixture
def run_report(plan: Plan) -> RunReport:
    """A run of 60 s after 10 s of measuring, with phases of 20 and 39 s and valid output."""
    phases = (
        PhaseComparison(name="map and shuffle", predicted_s=22.0, measured_s=20.0, bottleneck="local_disks"),
        PhaseComparison(name="sort and reduce", predicted_s=30.0, measured_s=39.0, bottleneck="network"),
    )
    check = Check(path="output", records=10, checksum="beef", sorted=True, duplicates=0, passed=True)
    steps_s = {"measure": 10.0, "sort": 60.0, "validate": 5.0}
    return RunReport(
        plan=plan, machine={"vcpu": 2, "read_bytes_per_s": 1e9}, steps_s=steps_s, phases=phases, checks=(check,)
    )


@pytest.fixture(scope="module")  # it keeps an event loop running in this thread; other tests need their own
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    executable = next(path for path in map(shutil.which, BROWSERS) if path)
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=sandbox)
        yield browser
        browser.close()


ALL_DRAWN = "[...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg'))"


class Visit:
    """A page opened in an offline browser, with all its console output and every attempt to load something."""

    def __init__(self, browser: Any, path: Path, *, dark: bool, width: int, folded: bool) -> None:
        context = browser.new_context(
            color_scheme="dark" if dark else "light", viewport={"width": width, "height": 800}, offline=True
        )
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._note)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn=yes]", state="attached")
        if not folded:
            self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
            self.page.wait_for_function(ALL_DRAWN)

    def _note(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.complaints.append(f"loads {request.url}")


@pytest.fixture
def visit(browser: Any) -> Callable[..., Visit]:
    """Return a function that opens a page, with all its parts unless `folded`."""
    return lambda path, *, dark=False, width=1100, folded=False: Visit(
        browser, path, dark=dark, width=width, folded=folded
    )
