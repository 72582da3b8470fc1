"""Reads the files of a receipt: advice, plans, run reports, journals of rented runs and event logs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from planner.api.past_runs import kind_of, require_success
from planner.api.receipts.spark_advice import FoundRun, SparkAdvice, parse_advice, rows_of_logs
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.run_directory import JOURNAL, RunDirectory
from planner.config.user_files import MOST_BYTES, read_user_file
from planner.errors import BadInputError, PlannerError
from planner.schemas.plan import Plan, Request
from planner.schemas.receipt import ReceiptRow
from planner.schemas.run_report import RunReport
from planner.spark.application.application import Application
from planner.spark.fleet.places import LogUnit, list_logs
from planner.spark.log.reading import read_files
from planner.spark.model.from_log import catalogs_of, find_ran_on, logged_nodes
from planner.units import format_bytes

_PLAN_RANGE_SHARE: Final = 0.95
"""Share of runs below a plan's `p95`."""
_OF_NO_USE: Final = "no advice, plan, run report, journal or event log"


@dataclass
class _Found:
    """What the files hold."""

    advice: list[SparkAdvice] = field(default_factory=list)
    logs: list[LogUnit] = field(default_factory=list)
    plans: list[tuple[str, str, Plan]] = field(default_factory=list)
    reports: list[tuple[str, str, RunReport]] = field(default_factory=list)
    rows: list[ReceiptRow] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    def unused(self, file: str, reason: str) -> None:
        self.rows.append(ReceiptRow(kind="unused", file=file, reason=reason))


def read_rows(places: Sequence[Path], *, ran_on: Sequence[str]) -> tuple[ReceiptRow, ...]:
    """Return the rows of all files at some places, in the order of their days. Raises BadInputError for a place that is
    not there or holds no file.
    """
    found, seen = _Found(), set[str]()
    for place in places:
        for unit in _units(place):
            if not seen.issuperset(unit.files):
                seen.update(unit.files)
                _read(unit, found)
    runs = list(_runs(found, ran_on))  # adds rows for those that cannot be used
    rows = [*map(partial(_once, found), found.rows), *rows_of_logs(found.advice, runs), *_rows_of_plans(found)]
    return tuple(sorted(dict.fromkeys(rows), key=lambda row: (row.kind == "unused", row.day, row.file)))


def _once(found: _Found, row: ReceiptRow) -> ReceiptRow:
    """Return a row, as unused where it is the bill of a run whose report lies beside it."""
    folder = Path(row.file).parent
    if row.kind == "run" and any(Path(file).parent == folder for file, _, _ in found.reports):
        return ReceiptRow(kind="unused", file=row.file, reason="the run's report beside it has the bill")
    return row


def _units(place: Path) -> Sequence[LogUnit]:
    """Return the files at a place; the parts of a rolled log are together."""
    path = place.expanduser()
    if path.is_file():
        file = str(path.resolve())
        return [LogUnit(key=file, version="", files=(file,), size_bytes=path.stat().st_size)]
    return list_logs(str(path)).units


def _read(unit: LogUnit, found: _Found) -> None:
    """Add what a file holds; a file that cannot be used becomes a row with the reason."""
    path, file = Path(unit.files[0]), unit.files[0]
    try:
        made_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        if path.name == JOURNAL:
            found.rows.append(_bill(path))
        elif len(unit.files) > 1 or kind_of(path) == "log":
            found.logs.append(unit)
        elif kind_of(path) == "report" and unit.size_bytes <= MOST_BYTES:
            _read_json(file, made_at, read_user_file(path), found)
        else:
            with path.open("rb"):  # says why, if it cannot be read
                found.unused(file, _OF_NO_USE)
    except PlannerError as error:
        found.unused(file, "; ".join([error.message, *error.details[:1]]))
    except OSError as error:
        found.unused(file, f"it cannot be read: {error.strerror}")


def _read_json(file: str, made_at: datetime, text: str, found: _Found) -> None:
    """Add the advice, the run report or the plan in a text. Raises BadInputError for others, and for a copy."""
    if text in found.texts:
        raise BadInputError("another file has the same content", code="duplicate")
    found.texts.add(text)
    day = f"{made_at:%Y-%m-%d}"
    if '"seconds_by_bound"' in text:
        found.advice.append(parse_advice(text, file=file, made_at=made_at))
    elif '"steps_s"' in text:
        report = RunReport.from_json(text)
        _require_whole(report.plan)
        if not report.passed:
            raise BadInputError("the run's output is wrong, so its time and cost say nothing", code="wrong-output")
        found.reports.append((file, day, report))
    elif '"candidates"' in text:
        plan = Plan.from_json(text)
        _require_whole(plan)
        found.plans.append((file, day, plan))
    else:
        raise BadInputError(_OF_NO_USE, code="unknown-format")


def _require_whole(plan: Plan) -> None:
    if contradiction := next(plan.contradictions(), ""):
        raise BadInputError(f"it was changed or damaged: {contradiction}", code="self-contradiction")


def _bill(journal: Path) -> ReceiptRow:
    """Return the row of a rented run's journal, which has its machines' cost alone."""
    try:
        events = RunDirectory(journal.parent).events()
        began, usd = events[0].at, bill_of(events, now=datetime.now(UTC)).usd
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise BadInputError("the journal is damaged, or not of a rented run", code="not-a-journal") from error
    return ReceiptRow(
        kind="run",
        file=str(journal),
        reason="the bill of a rented run; what it predicted is in the report of `planner run --out`",
        day=f"{began:%Y-%m-%d}",
        job=f"rented run {journal.parent.name}",
        measured_usd=usd,
    )


def _runs(found: _Found, ran_on: Sequence[str]) -> Iterator[FoundRun]:
    """Yield the logged runs that succeeded, each once; a log that cannot be used becomes a row with the reason. One log
    at a time is in memory.
    """
    stated = [*(f"{each.app_id}={each.logged.name}" for each in found.advice), *ran_on]
    seen = set[object]()
    for unit in found.logs:
        file = unit.files[0]
        try:
            logs = read_files([Path(name) for name in unit.files])
        except PlannerError as error:
            found.unused(file, error.message)
            continue
        for passed in logs.passed_over:
            found.unused(passed.name, passed.reason)
        for application in logs.applications:
            run = (application.app_id, application.attempt, application.started_at_s)
            try:
                require_success(application, name=application.app_id or "the log", notes=[])
            except BadInputError as error:
                found.unused(file, error.message)
                continue
            if run in seen:
                found.unused(file, f"another file has the same run of {application.app_id}")
                continue
            seen.add(run)
            yield _run(file, application, stated)


def _run(file: str, application: Application, ran_on: Sequence[str]) -> FoundRun:
    made = FoundRun(
        file=file,
        app_id=application.app_id,
        name=application.name,
        started_at_s=application.started_at_s,
        duration_s=application.duration_s or 0.0,
        input_bytes=_known(application.sums.input_bytes),
        shuffle_write_bytes=_known(application.sums.shuffle_write_bytes),
    )
    try:
        request = Request(data_bytes=1)
        request = replace(request, catalogs=catalogs_of(application, request.catalogs, ran_on=ran_on))
        nodes = logged_nodes(application, request, ran_on=find_ran_on(application, ran_on)).nodes
    except BadInputError as error:
        return replace(made, machines_unknown=error.message)
    price, name = _known(nodes.machine.price_usd_per_hour), nodes.machine.instance_type
    return replace(made, instance_type=name, nodes=nodes.count, usd_per_node_hour=price)


def _known(amount: float) -> float | None:
    return None if math.isnan(amount) else amount


def _rows_of_plans(found: _Found) -> Iterator[ReceiptRow]:
    """Yield a row for each run report, and one for each plan that no run follows."""
    costs: dict[object, list[float]] = {}
    for _, _, report in found.reports:
        costs.setdefault(_work(report.plan), []).extend([report.cost.usd] if report.cost else [])
    held = set[str]()
    for file, day, report in found.reports:
        plan_file, plan = _plan_of(report, found)
        held.add(plan_file)
        of_job = costs[_work(report.plan)]
        best_usd = min(of_job) if report.cost and len(of_job) > 1 else None
        row = _row_of_report(file, day, report, best_usd=best_usd)
        if plan:
            row = replace(row, advice=plan_file or file, advised=_cluster(plan))
            if plan_file:
                row = replace(row, reason=f"the run of {Path(plan_file).name}, by data and model; {row.reason}")
        yield row
    for file, day, plan in found.plans:
        if file not in held:
            yield _row_of_plan(file, day, plan)


def _plan_of(report: RunReport, found: _Found) -> tuple[str, Plan | None]:
    """Return the plan file that a run follows, and its plan: of those with its data and model one with its cluster,
    else the newest; without any, the plan that the machines were rented for.
    """
    same = [each for each in found.plans if each[2].best and _work(each[2]) == _work(report.plan)]
    same.sort(key=lambda each: (_cluster(each[2]) == _cluster(report.first_plan or report.plan), *each[:2][::-1]))
    if same and (report.first_plan or _cluster(same[-1][2]) == _cluster(report.plan)):
        return same[-1][0], same[-1][2]
    return "", report.first_plan


def _row_of_report(file: str, day: str, report: RunReport, *, best_usd: float | None) -> ReceiptRow:
    """Return the row of a run: its time is that of its phases, as the plan's is; its cost is its machines' bill."""
    agreed = report.first_plan or report.plan
    return ReceiptRow(
        kind="run",
        file=file,
        reason="predicted by the plan in the report; the day is the file's" + ("" if report.cost else "; no bill"),
        day=day,
        job=_sort_name(agreed),
        ran_on=_cluster(report.plan),
        measured_s=sum(phase.measured_s for phase in report.phases),
        predicted_usd=report.cost.predicted_usd if report.cost else None,
        measured_usd=report.cost.usd if report.cost else None,
        best_usd=best_usd,
        **_predicted(agreed),
    )


def _row_of_plan(file: str, day: str, plan: Plan) -> ReceiptRow:
    if plan.best is None:
        return ReceiptRow(kind="unused", file=file, reason="the plan found no cluster")
    return ReceiptRow(
        kind="advice",
        file=file,
        reason="no run report has its data and model; the day is the file's",
        day=day,
        job=_sort_name(plan),
        advice=file,
        advised=_cluster(plan),
        predicted_usd=plan.best.cost_usd.total,
        **_predicted(plan),
    )


def _work(plan: Plan) -> tuple[int, str]:
    """Return the bytes and the model of a plan: runs with the same did the same work."""
    return plan.request.data_bytes, plan.best.model if plan.best else plan.request.model


def _sort_name(plan: Plan) -> str:
    data_bytes, model = _work(plan)
    return f"sort of {format_bytes(data_bytes)}, {model}"


def _cluster(plan: Plan) -> str:
    return f"{plan.best.nodes} x {plan.best.instance_type}" if plan.best else ""


def _predicted(plan: Plan) -> dict[str, Any]:
    """Return the expected time, and the 95th percentile as the range's end: a plan has no other."""
    if plan.best is None:
        return {}
    times = plan.best.time_s
    return {"predicted_s": times.expected, "high_s": times.p95, "range_share": _PLAN_RANGE_SHARE}
