"""Times of a job and its cluster, read from the output of platforms: EMR, Dataproc and Databricks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from planner.errors import BadInputError
from planner.schemas.machine_lists import MachineList, lists_machines, read_document, read_machine_list


@dataclass(frozen=True, kw_only=True)
class PlatformRun:
    """A job that ended on a platform: `job_s` from its start to its end, `boot_s` from the order of the cluster until
    it was ready. None where no file has it.
    """

    platform: str
    job: str
    job_s: float | None = None
    boot_s: float | None = None
    machines: MachineList | None = None


def read_platform_run(texts: Mapping[str, str]) -> PlatformRun:
    """Return the run that files, by name, describe: files of a job, of its cluster, or of both.

    Raises BadInputError for an unknown format, two platforms, a job that did not succeed, and files without a job.
    """
    run: PlatformRun | None = None
    for where, text in texts.items():
        document = read_document(text, where=where)
        reader = next((read for recognises, read in _READERS if recognises(document)), None)
        if reader is None:
            raise BadInputError(
                f"{where}: no job or cluster in a known format; it can be the output of:", _KNOWN, code="unknown-format"
            )
        try:
            read = reader(document, where)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise BadInputError(
                f"{where}: an incomplete description ({reason}); print it again", code="incomplete-output"
            ) from error
        if lists_machines(text):
            read = replace(read, machines=read_machine_list(text, where=where))
        run = read if run is None else _joined(run, read, where=where)
    if run is None or run.job_s is None:
        raise BadInputError("--from-platform: no file describes the job; give one of:", _KNOWN[:3], code="no-job")
    return run


def _joined(run: PlatformRun, other: PlatformRun, *, where: str) -> PlatformRun:
    if run.platform != other.platform:
        raise BadInputError(
            f"{where}: of {other.platform}, and another file of {run.platform}: give files of one run",
            code="mixed-kinds",
        )
    if run.job_s is not None and other.job_s is not None:
        raise BadInputError(f"{where}: a second job; give the files of one", code="several-jobs")
    return PlatformRun(
        platform=run.platform,
        job=run.job or other.job,
        job_s=other.job_s if run.job_s is None else run.job_s,
        boot_s=other.boot_s if run.boot_s is None else run.boot_s,
        machines=run.machines or other.machines,
    )


def _seconds(moment: Any) -> float:
    """Return a moment in seconds since 1970: a number, a date with a time of day, or its text in ISO 8601."""
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment)
    at = moment if isinstance(moment, datetime) else datetime.fromisoformat(moment)
    if at.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return at.timestamp()


def _between(start: Any, end: Any) -> float:
    seconds = _seconds(end) - _seconds(start)
    if seconds <= 0:
        raise ValueError(f"it ends at {end}, not after its start at {start}")
    return seconds


def _require(state: str, *, wanted: str, where: str) -> None:
    if state != wanted:
        raise BadInputError(
            f"{where}: the job is {state or 'of no state'}, not {wanted}: its time cannot be compared",
            code="job-not-done",
        )


# -- EMR ---------------------------------------------------------------------------------------------------------------


def _emr_step(document: Any, where: str) -> PlatformRun:
    steps: Sequence[Any] = document["Steps"] if "Steps" in document else [document["Step"]]
    if len(steps) != 1:
        raise BadInputError(f"{where}: {len(steps)} steps; print one: `aws emr describe-step`", code="several-jobs")
    status = steps[0]["Status"]
    _require(status["State"], wanted="COMPLETED", where=where)
    times = status["Timeline"]
    return PlatformRun(
        platform="EMR", job=steps[0]["Name"], job_s=_between(times["StartDateTime"], times["EndDateTime"])
    )


def _emr_cluster(document: Any, _: str) -> PlatformRun:
    times = document["Cluster"]["Status"]["Timeline"]
    ready = "ReadyDateTime" in times
    boot_s = _between(times["CreationDateTime"], times["ReadyDateTime"]) if ready else None
    return PlatformRun(platform="EMR", job="", boot_s=boot_s)


# -- Dataproc ----------------------------------------------------------------------------------------------------------


def _began(document: Any, state: str) -> Any:
    """Return the time at which a job or cluster entered a state."""
    return next(
        each["stateStartTime"] for each in _states(document) if each["state"] == state and "stateStartTime" in each
    )


def _states(document: Any) -> Iterator[Any]:
    yield from document.get("statusHistory", ())
    yield document["status"]


def _dataproc_job(document: Any, where: str) -> PlatformRun:
    _require(document["status"]["state"], wanted="DONE", where=where)
    names = {each["state"] for each in _states(document)}
    if "RUNNING" not in names:
        raise BadInputError(
            f"{where}: says not when the job began to run; print it again by `describe`", code="no-start"
        )
    job_s = _between(_began(document, "RUNNING"), _began(document, "DONE"))
    return PlatformRun(platform="Dataproc", job=document["reference"]["jobId"], job_s=job_s)


def _dataproc_cluster(document: Any, _: str) -> PlatformRun:
    names = {each["state"] for each in _states(document)}
    known = {"CREATING", "RUNNING"} <= names
    boot_s = _between(_began(document, "CREATING"), _began(document, "RUNNING")) if known else None
    return PlatformRun(platform="Dataproc", job="", boot_s=boot_s)


# -- Databricks --------------------------------------------------------------------------------------------------------


def _databricks_run(document: Any, where: str) -> PlatformRun:
    """Read `jobs get-run`, whose durations are milliseconds; in a run with several tasks each task has its own."""
    tasks = document.get("tasks") or [document]
    if len(tasks) != 1:
        raise BadInputError(f"{where}: {len(tasks)} tasks; a plan is of one job", code="several-jobs")
    _require(document["state"].get("result_state", ""), wanted="SUCCESS", where=where)
    timed = tasks[0] if "execution_duration" in tasks[0] else document
    if not timed["execution_duration"] > 0:
        raise ValueError("execution_duration is not above 0")
    setup = timed.get("setup_duration")
    return PlatformRun(
        platform="Databricks",
        job=document.get("run_name") or str(document["run_id"]),
        job_s=timed["execution_duration"] / 1e3,
        boot_s=setup / 1e3 if setup else None,
        machines=_new_cluster(_cluster_of(tasks[0], document)),
    )


def _cluster_of(task: Any, document: Any) -> Any:
    """Return the description of a task's new cluster: its own, the job's by its key, or that of a run without tasks."""
    shared = {each["job_cluster_key"]: each.get("new_cluster") for each in document.get("job_clusters", ())}
    own = task.get("new_cluster") or shared.get(task.get("job_cluster_key"))
    return own or document.get("cluster_spec", {}).get("new_cluster")


def _new_cluster(spec: Any) -> MachineList | None:
    if not spec or "num_workers" not in spec or "node_type_id" not in spec:
        return None
    return MachineList(source="databricks jobs get-run", nodes=spec["num_workers"], instance_type=spec["node_type_id"])


def _databricks_cluster(_: Any, __: str) -> PlatformRun:
    return PlatformRun(platform="Databricks", job="")


def _has_fields(*names: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and all(name in document for name in names)


_READERS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any, str], PlatformRun]], ...]] = (
    (lambda document: _has_fields("Step")(document) or _has_fields("Steps")(document), _emr_step),
    (_has_fields("reference", "placement", "status"), _dataproc_job),
    (_has_fields("run_id", "state"), _databricks_run),
    (_has_fields("Cluster"), _emr_cluster),
    (_has_fields("clusterName", "config", "status"), _dataproc_cluster),
    (_has_fields("spark_version", "node_type_id"), _databricks_cluster),
)
_KNOWN: Final = (
    "aws emr describe-step",
    "gcloud dataproc jobs describe",
    "databricks jobs get-run",
    "aws emr describe-cluster",
    "gcloud dataproc clusters describe",
    "databricks clusters get",
)
