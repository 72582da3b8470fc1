"""`planner explain-log`: what a Spark application did and what bound it; for Ray and Dask, when tasks ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.shell.console import columns, of_texts, show_json, show_text, table
from planner.cli.shell.console import show as show_rich
from planner.cli.shell.files import write_atomically
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.spark.application.application import Application
    from planner.spark.log import EventLogs
    from planner.spark.model.bounds import Explanation


def explain_log(
    path: Annotated[
        str,
        Argument(
            help="An event log of Spark, or many: a directory, an archive, s3://..., the address of a history server;"
            " or a Ray timeline, a Dask report."
        ),
    ],
    *,
    app: Annotated[str | None, Option(help="Of several applications, the one with this id.")] = None,
    show: Annotated[Literal["answer", "stages", "executors", "csv"], Option(help="What to print.")] = "answer",
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
    html: Annotated[
        Path | None, Option(dir_okay=False, help="Write a page to this file; it opens without a network.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that exists.")] = False,
    show_names: Annotated[
        bool, Option("--show-names", help="Of many logs: name jobs and files, which may tell of users and paths.")
    ] = False,
    ran_on: Annotated[
        list[str] | None, Option(help="Of many logs: the machines, such as 'm5.4xlarge x 4', where the logs lack them.")
    ] = None,
    processes: Annotated[int | None, Option(min=1, help="Of many logs: how many to read at once.")] = None,
) -> None:
    """Show where a Spark application's time went: the bottleneck of each stage, and what more resources would change.

    Example: planner explain-log app-20261101-0001.zstd

    Example: planner explain-log logs --html fleet.html
    """
    from planner.spark.fleet.places import holds_several, is_remote
    from planner.spark.task_trace.reading import looks_like_trace

    require_new([html], force=force)
    if not is_remote(path) and looks_like_trace(Path(path)):
        if html or app or show == "executors":
            raise BadInputError(
                "--html, --app and --show executors are for logs of Spark: leave them out", code="not-applicable"
            )
        _show_trace(Path(path), show, json=json)
    elif app is None and holds_several(path):
        from planner.cli.logs.explain_fleet import explain_fleet

        explain_fleet(path, show=show, json=json, html=html, show_names=show_names, ran_on=ran_on, processes=processes)
    else:
        if show_names or ran_on or processes:
            raise BadInputError(
                "--show-names, --ran-on and --processes are for many logs: leave them out", code="not-applicable"
            )
        _explain_one(path, app, show=show, json=json, html=html)


def _explain_one(place: str, app: str | None, *, show: str, json: bool, html: Path | None) -> None:
    from planner.spark.fleet.places import read_place
    from planner.spark.model.bounds import explain

    logs = read_place(place, app)
    application = logs.only(app)
    explained = explain(application)
    if html:
        from planner.cli.shell.pages import spark_html

        write_atomically(html, spark_html(application, explained), option="--html")
    if json:
        show_json(explanation_json(logs, application, explained))
    elif show == "answer":
        from planner.report.terminal.spark_explanation import explanation_lines

        show_text("\n".join(explanation_lines(application, explained, notes=_notes(logs), width=min(columns(), 100))))
    else:
        _show_table(application, explained, show)


def _show_trace(path: Path, which: str, *, json: bool) -> None:
    from planner.report.terminal.spark_explanation import trace_sentence, trace_table
    from planner.spark import task_trace

    trace = task_trace.read(path)
    if json:
        facts = {name: getattr(trace, name) for name in ("path", "system", "duration_s", "workers", "nodes")}
        show_json({**facts, "stages": trace.stage_rows()})
    elif which == "csv":
        show_text(trace.stage_frame().to_csv(index=False).rstrip("\n"))
    else:
        show_rich(of_texts(table(*trace_table(trace))))
        show_rich(trace_sentence(trace))


def _notes(logs: EventLogs) -> list[str]:
    passed = logs.passed_over
    return [f"Passed over: {passed[0].name} ({passed[0].reason}), {len(passed)} in all."] if passed else []


def _show_table(application: Application, explained: Explanation, which: str) -> None:
    from planner.report.terminal.spark_explanation import stage_rows, stage_table

    if which == "csv":
        import pandas as pd

        show_text(pd.DataFrame(stage_rows(application, explained)).to_csv(index=False).rstrip("\n"))
        return
    if which == "stages":
        show_rich(of_texts(table(*stage_table(explained))))
        return
    rows = _executor_cells(application)
    cells = ([*row.values()] for row in rows)
    show_rich(of_texts(table(list(rows[0]) if rows else ["no executor"], cells)))


def _executor_cells(application: Application) -> list[dict[str, str]]:
    from dataclasses import asdict

    return [{name: _cell(value) for name, value in asdict(executor).items()} for executor in application.executors]


def _cell(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def explanation_json(logs: EventLogs, application: Application, explained: Explanation) -> dict[str, Any]:
    """Return the output of `--json`."""
    from dataclasses import asdict

    from planner.report.terminal.spark_explanation import completeness_json, stage_rows
    from planner.spark.application.application import known_sums
    from planner.spark.model.configuration import first_changes

    line, cluster = explained.timeline, application.cluster
    return {
        "app_id": application.app_id,
        "attempt": application.attempt,
        "name": application.name,
        "spark_version": application.spark_version,
        "files": list(application.files),
        "ended": application.ended,
        "completeness": completeness_json(explained.completeness),
        "duration_s": application.duration_s,
        "startup_s": line.startup_s,
        "between_s": line.between_s,
        "after_s": line.after_s,
        "cluster": {**asdict(cluster), "unknown": list(cluster.unknown)},
        "sums": known_sums(application.sums),
        "task_time_s": asdict(explained.time),
        "bounds": [
            {"name": name, "seconds": seconds, "evidence": explained.evidence.get(name, "")}
            for name, seconds in explained.seconds_by_bound.items()
        ],
        "changes": [asdict(change) for change in explained.changes],
        "first_changes": list(first_changes(explained)),
        "stages": stage_rows(application, explained),
        "executors": [asdict(executor) for executor in application.executors],
        "losses": [asdict(loss) for loss in application.losses],
        "passed_over": [asdict(other) for other in logs.passed_over],
    }
