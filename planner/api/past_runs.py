"""Past runs for calibration: tables of runs, Spark event logs, and this program's own run reports."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.config.paths import StrPath
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.calibration import Profile
    from planner.schemas.run_report import RunReport
    from planner.spark.application.application import Application

Row = dict[str, Any]

_LOG: Final = "log"
"""Table column with the path of a run's event log, relative to the table's folder."""
_HEAD_BYTES: Final = 1 << 16
_GB: Final = 1e9
_NEGLIGIBLE: Final = 0.1
"""Kept data below this share of the input, such as broadcasts, is assumed to change little when read again."""


@dataclass(frozen=True, kw_only=True)
class PastRuns:
    """Rows as `planner.calibration.calibrate` takes them; `specs` are machines, by type, that reports or tables
    describe.

    `model` is the prior that fits if the caller names none; `notes` list what was left out and why.
    """

    rows: tuple[Row, ...]
    specs: Mapping[str, Row] = field(default_factory=dict)
    model: str = "framework"
    notes: tuple[str, ...] = ()


def read_past_runs(paths: Sequence[Path], *, ran_on: Sequence[str] = ()) -> PastRuns:
    """Return the runs of all files; content decides whether a file is a CSV, a run report, a log or a folder of logs.

    `ran_on` gives the machines, which logs lack, as `m5.4xlarge x 4`, or `app-1=m5.4xlarge x 4` for each. Raises
    BadInputError for other files, for a report whose output is wrong, and for logs together with reports.
    """
    rows: list[Row] = []
    seen: dict[str, list[Row]] = {}
    notes: list[str] = []
    kinds = [kind_of(path) for path in paths]
    if {"log", "report"} <= set(kinds):
        log, report = (paths[kinds.index(kind)] for kind in ("log", "report"))
        raise BadInputError(
            f"{log} is of Spark, {report} of planner's own sort: calibrate each into a profile of its own",
            code="mixed-kinds",
        )
    for path, kind in zip(paths, kinds, strict=True):
        if kind == "report":
            row, spec = _reported(path)
            rows.append(row)
            seen.setdefault(row["instance_type"], []).append(spec)
        elif kind == "log":
            rows += _logged(path, ran_on, notes)
        else:
            for row in _tabled(path, notes):
                name, spec = _split_spec(row)
                rows.append(row)
                if spec:
                    seen.setdefault(name, []).append(spec)
    if ran_on and "log" not in kinds:
        raise BadInputError(
            "--ran-on does not apply without a log: tables and reports say where they ran; leave it out",
            code="not-applicable",
        )
    model = {frozenset({"log"}): "spark", frozenset({"report"}): "own"}.get(frozenset(kinds), "framework")
    specs = {name: _median_spec(each) for name, each in seen.items()}
    return PastRuns(rows=tuple(rows), specs=specs, model=model, notes=tuple(dict.fromkeys(notes)))


def calibrate_files(
    paths: Sequence[Path],
    *,
    ran_on: Sequence[str] = (),
    model: str | None = None,
    name: str | None = None,
    instances: StrPath | None = None,
    catalog: StrPath | None = None,
) -> tuple[Profile, tuple[str, ...]]:
    """Return the profile of the runs in files (see `read_past_runs`), and notes on what was left out.

    Machines are those that reports and tables describe, else from the CSV `instances`, else from the catalog, `aws` by
    default. Raises BadInputError for a catalog that no file needs.
    """
    from planner.calibration.machines import read_specs
    from planner.stores import profiles

    past = read_past_runs(paths, ran_on=ran_on)
    prior = model or past.model
    if catalog is not None and (past.model == "own" or instances is not None):
        why = "`instances` describes the machines" if instances is not None else "reports describe their machines"
        raise BadInputError(f"`catalog` does not apply: {why}; leave it out", field="catalog", code="not-applicable")
    if instances is not None:
        specs = read_specs(profiles.instances_from(Path(instances)))
    else:
        specs = {} if past.model == "own" else profiles.specs_of(str(catalog or "aws"))
    stated = {
        name: {key: value for key, value in spec.items() if value is not None} for name, spec in past.specs.items()
    }
    specs = {**specs, **{name: {**specs.get(name, {}), **spec} for name, spec in stated.items()}}
    return profiles.calibrate(past.rows, instances=specs, model=prior, name=name or prior), past.notes


def _median_spec(specs: Sequence[Row]) -> Row:
    """Return one machine from several descriptions of one type: the median of the known values of each figure."""
    from statistics import median

    names = dict.fromkeys(name for each in specs for name in each)  # a table may have columns that a report does not
    known = {name: [value for each in specs if (value := each.get(name)) is not None] for name in names}
    return {name: median(values) if values else None for name, values in known.items()}


def kind_of(path: Path) -> str:
    """Return `table`, `report` or `log`; other files are refused by their reader."""
    if path.is_dir():
        return "log"
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return "table"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.decode("utf-16", "ignore").encode()
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b'{"Event"') or not _is_text(head):
        return "log"
    return "report" if text.startswith(b"{") else "table"


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3  # in the middle of a character
    return b"\0" not in head


def _reported(path: Path) -> tuple[Row, Row]:
    from planner.config.user_files import read_user_file
    from planner.schemas.run_report import RunReport

    try:
        report = RunReport.from_json(read_user_file(path))
    except BadInputError as error:
        raise BadInputError(
            f"{path} is no run's report, log or table of runs",
            [str(error), "`planner run --out FILE` writes a report"],
            code="unknown-format",
        ) from error
    if not report.passed:
        raise BadInputError(
            f"{path}: the output of this run is wrong, so its time teaches nothing: leave it out", code="wrong-output"
        )
    return report_row(report), report_spec(report)


def report_row(report: RunReport) -> Row:
    """Return a run of this program's own sort as a row: its time covers the phases, without staging."""
    from planner.planning.recommendation import require_best

    best = require_best(report.plan)
    return {
        "instance_type": best.instance_type,
        "nodes": best.nodes,
        "data_gb": report.plan.request.data_bytes / _GB,
        "runtime_s": sum(phase.measured_s for phase in report.phases),
        **({"replicas": len(report.checks)} if len(report.checks) > 1 else {}),
    }


def report_spec(report: RunReport) -> Row:
    """Return a run's machine in calibration form: rates as measured on it, the rest as planned with."""
    from planner.planning.recommendation import require_best

    best, seen = require_best(report.plan), report.machine
    planned, network = best.machine, seen.get("network_bytes_per_s")
    read, write = seen.get("read_bytes_per_s"), seen.get("write_bytes_per_s")
    memory_bytes = planned.memory_bytes or seen.get("memory_bytes")
    return {
        "vcpu": planned.vcpus or seen.get("vcpu"),
        "mem_gib": memory_bytes and memory_bytes / 2**30,
        "nvme_r_MBps": read and read / 1e6,
        "nvme_w_MBps": write and write / 1e6,
        "net_base_gbps": network and network * 8e-9,
        "price_usd_h": best.price_usd_per_hour,
    }


def _tabled(path: Path, notes: list[str]) -> Iterator[Row]:
    """Yield the rows of a table; a row with a log takes its blank columns and its memory from the log."""
    from planner.stores import profiles

    for number, row in enumerate(profiles.read_rows(path), start=1):
        named = row.pop(_LOG, "")
        if not named.strip():
            yield row
            continue
        try:
            stated_machines = _only_row(path.parent / named.strip(), row, notes)
        except BadInputError as error:
            raise error.reworded(f"{path}, row {number}, column {_LOG}: {error.message}") from error
        yield {
            **stated_machines,
            **{name: cell for name, cell in row.items() if cell.strip() or name not in stated_machines},
        }


def _split_spec(row: Row) -> tuple[str, Row]:
    """Remove the machine's columns from a row, and return its type and these columns; nothing without a `vcpu`."""
    from planner.calibration.history import as_number
    from planner.calibration.machines import SPEC_COLUMNS

    name = str(row.get("instance_type") or row.get("type") or "")
    stated = {column: as_number(row.pop(column)) for column in SPEC_COLUMNS if column in row} if "vcpu" in row else {}
    return name, dict.fromkeys(SPEC_COLUMNS) | stated if stated.get("vcpu") else {}


def _only_row(log: Path, row: Mapping[str, str], notes: list[str]) -> Row:
    from planner.spark import log as spark_log

    application = spark_log.read(log).only()
    given = row.get("instance_type") or row.get("type") or ""
    nodes = row.get("nodes") or row.get("n") or ""
    where = [f"{given} x {nodes}" if nodes.isdecimal() else given] if given.strip() else []
    stated_machines = log_row(application, ran_on=where, notes=notes, data_gb=row.get("data_gb") or None)
    aliases = {"instance_type": "type", "nodes": "n"}
    return {
        aliases.get(name, name) if aliases.get(name) in row else name: cell for name, cell in stated_machines.items()
    }


def _logged(path: Path, ran_on: Sequence[str], notes: list[str]) -> Iterator[Row]:
    from planner.spark import log as spark_log

    logs = spark_log.read(path)
    notes += [f"{other.name} was passed over: {other.reason}" for other in logs.passed_over]
    if len(names := {application.name for application in logs.applications}) > 1:
        notes.append(f"{path} has logs of {', '.join(sorted(names))}: a profile is of one job")
    yield from (log_row(application, ran_on=ran_on, notes=notes) for application in logs.applications)


def log_row(
    application: Application, *, ran_on: Sequence[str], notes: list[str], data_gb: str | float | None = None
) -> Row:
    """Return a logged run as a row, with its observed memory; exclusions are added to `notes`.

    Raises BadInputError if the log has no end, ends with a failed stage, lacks tasks, or does not record its machines
    or the amount it read.
    """
    from planner.spark.application.completeness import LEAST_SHARE, completeness
    from planner.spark.model.from_log import find_ran_on
    from planner.spark.model.machines import parse_ran_on

    name, stated_machines = application.app_id or application.files[0], find_ran_on(application, ran_on)
    require_success(application, name=name, notes=notes)
    instance_type, count = (
        parse_ran_on(stated_machines) if stated_machines else (application.cluster.instance_type, None)
    )
    nodes = count or application.cluster.hosts_at_once
    if not instance_type or not nodes:
        raise BadInputError(
            f"{name}: the log does not say on what it ran",
            ["add --ran-on 'TYPE x NODES', such as 'm5.4xlarge x 4'"],
            code="machines-unknown",
        )
    memory, read_gb = _memory_columns(application), float(application.sums.input_bytes) / _GB
    if data_gb is None and memory.get("cached_gb", 0.0) > _NEGLIGIBLE * read_gb:
        raise BadInputError(
            f"{name}: it reads data that it keeps again, so the log does not say how much there is",
            ["give it a row in a CSV, with its size in the column data_gb and the log's name in the column log"],
            code="data-unknown",
        )
    found = completeness(application)
    if data_gb is None and found.share < LEAST_SHARE:
        raise BadInputError(
            f"{name}: the log has {found.tasks_seen} of {found.tasks_planned} tasks, so how much it read is unknown",
            [*found.gaps, "give all of its files, or its data_gb in a CSV with the log's name in the column log"],
            code="incomplete-log",
        )
    if data_gb is None and not read_gb > 0:
        raise BadInputError(
            f"{name}: the log does not say how much it read: give its data_gb in a CSV with a column log",
            code="data-unknown",
        )
    if "cached_gb" not in memory:
        notes.append(f"{name}: what it keeps in memory is not in the log; Spark 3 writes it where tasks take 10 s")
    return {
        "instance_type": instance_type,
        "nodes": nodes,
        "data_gb": read_gb if data_gb is None else data_gb,
        "runtime_s": application.duration_s,
        **memory,
    }


def require_success(application: Application, *, name: str, notes: list[str]) -> None:
    """Raise BadInputError unless all jobs of an application completed successfully. Platforms that take machines away
    cut the end of a log; its last job then counts as the end.
    """
    failed = [job.job_id for job in application.jobs if job.result not in ("", "JobSucceeded")]
    if failed:
        raise BadInputError(
            f"{name}: job {failed[0]} failed, so the run's time teaches nothing: leave it out", code="job-failed"
        )
    open_jobs = [job.job_id for job in application.jobs if not job.result]
    if application.duration_s is None or not application.jobs or (open_jobs and not application.ended):
        raise BadInputError(
            f"{name}: the log is cut, so how long the run took is unknown: leave it out", code="log-cut"
        )
    if not application.ended:
        notes.append(f"{name}: the log has no end; the end of its last job was taken")


def _memory_columns(application: Application) -> Row:
    """Return the columns of `planner.calibration.history.ObservedMemory` that a log fills."""
    from math import isfinite

    stages = [stage for stage in application.stages if stage.tasks]
    needed = [s.peak_execution_memory_bytes + s.complete_sums.spill_memory_bytes / max(s.all_tasks, 1) for s in stages]
    rooms = [executor.storage_memory_bytes for executor in application.executors if executor.removed_at_s is None]
    figures = {
        "cached_gb": application.cached_bytes / _GB,
        "task_memory_gb": max(needed, default=float("nan")) / _GB,
        "usable_gb": sum(room or float("nan") for room in rooms) / _GB if rooms else float("nan"),
    }
    return {name: gb for name, gb in figures.items() if isfinite(gb)}
