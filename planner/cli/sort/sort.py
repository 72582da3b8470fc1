"""`planner sort`: a file of any size, sorted on this machine; or a dataset, on a Ray cluster."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from planner.api.files import STANDARD_OUTPUT
from planner.api.sort import find_disorder
from planner.api.sort import sort as sort_data
from planner.api.sort_on_ray import abandon_sort
from planner.cli.shell.console import ends_without_reader, show_json, show_text, talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.progress import shown_events, shown_progress
from planner.cli.shell.usage import UsageError
from planner.errors import BadInputError
from planner.units import count_of, count_text, format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    from planner.api.sort_result import SortResult
    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.local import SortReport, StageReport, ThreadStats

_DISORDER = 1


class SortOptions(DeclaredOptions, of=[sort_data]):
    """The arguments of `planner.sort`."""


def sort(
    sources: Annotated[
        list[str] | None, Argument(metavar="INPUT", help="The files to sort; they are only read.", show_default=False)
    ] = None,
    output: Annotated[
        str, Argument(metavar="OUTPUT", help="Where the result goes; it appears whole or not at all.")
    ] = ...,  # type: ignore[assignment]  # typer's word for required
    *,
    asked: SortOptions,
    check: Annotated[bool, Option("--check", help="Only check whether INPUT is sorted; ends with 1 if not.")] = False,
    abandon: Annotated[
        bool, Option("--abandon", help="Free what a killed sort to OUTPUT left on the cluster of --ray.")
    ] = False,
    explain: Annotated[
        bool, Option("--explain", help="Print what was chosen and why, and where the time went.")
    ] = False,
    json: Annotated[bool, Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Sort fixed-size records by their key, text by its lines or CSV by its columns, in as much memory as it is given.

    Keys compare as bytes, which for text is the order of LC_ALL=C. Files and temporary directories on different disks
    are read and written at the same time.

    Example: planner sort input.dat output.dat --memory 2GB

    Example: planner sort input.dat more.dat first.dat --more-output second.dat

    Example: planner sort --lines --key-offset 5 --key-size 12 --stable app.log sorted.log

    Example: planner sort --key 3:desc --key 1:num data.csv sorted.csv

    Example: planner sort --format csv --key time:desc --key amount:num sales.csv sorted.csv.zst

    Example: planner sort --check --format csv --key time:desc sorted.csv.zst

    Example: planner sort --consume-input big.dat sorted.dat

    Example: planner sort --resume sorted.dat

    Example: planner sort input.json output.json --ray 10.0.0.1:6379 --copies 2

    Example: planner sort --abandon output.json --ray 10.0.0.1:6379

    Example: planner sort --format parquet --key time:desc events/ sorted.json --ray auto --dir /mnt/nvme

    Example: planner sort --format parquet --key ts s3://lake/events s3://lake/sorted --ray auto --dir /mnt/nvme
    """
    if abandon:
        _abandon([*(sources or ()), output], asked, json=json)
        return
    if check and "ray" in asked:
        raise BadInputError("--check is for one machine: leave it out, or leave out --ray", code="contradiction")
    if check:
        _check([*(sources or ()), output], asked, json=json)
        return
    if not sources and not asked["resume"]:
        sources, output = [output], _standard_output(asked)
    result = _sort(sources or [], output, asked)
    _show(result, to_stdout=output in STANDARD_OUTPUT, explain=explain, json=json)


def _standard_output(asked: SortOptions) -> str:
    """Return the name of standard output, where a sort without OUTPUT writes. Raises UsageError for a terminal, and for
    a cluster.
    """
    if "ray" in asked or sys.stdout.isatty():
        raise UsageError("Missing argument 'OUTPUT'. Where the result goes: planner sort INPUT OUTPUT, or - to show it")
    return "-"


def _sort(sources: list[str], output: str, asked: SortOptions) -> SortResult:
    """Sort with progress shown."""
    if "ray" in asked:
        with shown_events() as on_event:
            return sort_data(sources, output, say=talk, on_event=on_event, **asked)
    with ends_without_reader(), shown_progress() as on_progress:
        return sort_data(sources, output, say=talk, on_progress=on_progress, **asked)


def _check(files: list[str], asked: SortOptions, *, json: bool) -> None:
    """Print the first out-of-order line, and end with 1 if there is one, as `gnusort -c` does."""
    asked.require_taken_by(find_disorder, "--check writes nothing")
    if len(files) > 1:
        raise BadInputError(f"--check takes one INPUT and no OUTPUT, not also {files[1]}", code="one-input")
    with shown_progress() as on_progress:
        found = find_disorder(files[0], say=talk, on_progress=on_progress, **asked.of(find_disorder))
    if json:
        show_json({"sorted": found is None, "first_unsorted": found and found.number, "text": found and found.text})
    else:
        talk(f"{files[0]}:{found.number}: disorder: {found.text}" if found else f"{files[0]} is in order")
    if found:
        raise Exit(_DISORDER)


def _abandon(files: list[str], asked: SortOptions, *, json: bool) -> None:
    """Put a killed cluster sort away, and say what was freed."""
    if "ray" not in asked:
        raise BadInputError("--abandon is for a sort on a cluster: say --ray too", code="needs-cluster")
    asked.require_taken_by(abandon_sort, "with --abandon the sort's journal says the rest")
    if len(files) > 1:
        raise BadInputError(f"--abandon takes the OUTPUT of the sort alone, not also {files[0]}", code="one-output")
    with shown_events() as on_event:
        done = abandon_sort(files[0], on_event=on_event, **asked.of(abandon_sort))
    if json:
        show_json(asdict(done))
        return
    talk(f"freed {format_bytes(done.freed_bytes)} of job {done.job} on {count_text(len(done.nodes), 'node')}")
    if done.is_published:
        talk("note: its result was published, or that is unknown, so the result's files stay")
    if done.absent_nodes:
        talk(f"note: {', '.join(done.absent_nodes)}: absent, so the job's files stay there")
    if done.uploads is None:
        talk("note: unfinished uploads stay: only S3's own client, boto3, lists them; let the store end them by a rule")
    elif done.uploads:
        talk(f"ended {count_text(done.uploads, 'unfinished upload')}")


def _show(result: SortResult, *, to_stdout: bool, explain: bool, json: bool) -> None:
    if json and not to_stdout:
        show_json(result.to_dict())
        return
    report = result.report
    if isinstance(report, dict):
        seconds = max(stretch["end_s"] for stretch in report["timeline"])
        phases = ", ".join(f"{name} {format_duration(phase_s)}" for name, phase_s in report["phases_s"].items())
        where = f"on {count_text(len(report['nodes']), 'node')} in {format_duration(seconds)} ({phases})"
        talk(f"{count_of(result.count, result.counted)} {where}, checksum {report['checksum']}")
        return
    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.local import SortReport

    if isinstance(report, SortReport):
        rate = format_rate(report.input_bytes / report.seconds) if report.seconds else "-"
        how, explanation = f" ({rate}), {report.mode}", _explained(report)
    elif isinstance(report, TextReport):
        how = f", {count_text(report.runs, 'run')} merged" if report.runs else ", in memory"
        explanation = _spill_explained(report)
    else:
        spilled = format_bytes(report.spilled_bytes)
        how = f", {count_text(report.runs, 'run')} merged, {spilled} spilled" if report.runs else ", in memory"
        explanation = ""
    talk(f"{count_of(result.count, result.counted)} in {format_duration(result.seconds or 0)}{how}")
    if explain and explanation and not to_stdout:
        show_text(explanation)


def _spill_explained(report: TextReport) -> str:
    spilled = format_bytes(report.spilled_bytes)
    if report.packed_bytes:
        spilled += f", of which {format_bytes(report.packed_bytes)} packed to {format_bytes(report.packed_to_bytes)}"
    return f"spilled: {spilled} ({report.spill_reason})"


def _explained(report: SortReport) -> str:
    chosen = [f"{choice.name}: {choice.value} ({choice.reason})" for choice in report.choices]
    moved = [
        f"read {format_bytes(report.input_bytes_read)} of input and {format_bytes(report.sample_bytes_read)} of sample",
        f"temporary {format_bytes(report.temporary_bytes_written)} written, "
        f"{format_bytes(report.temporary_bytes_read)} read, for {format_bytes(report.spilled_bytes)}; "
        f"{format_bytes(report.kept_bytes)} kept in memory",
        f"output {format_bytes(report.output_bytes_written)} written",
    ]
    phases = []
    for phase in report.phases:
        slowest = f", the bottleneck: {phase.bottleneck}" if phase.bottleneck else ""
        phases.append(f"{phase.name}: {phase.seconds:.3f} s{slowest}")
        phases += [
            f"  {stage.name}: {count_text(stage.threads, 'thread')}, {stage.working_s:.3f} s at work, "
            f"{stage.waiting_s:.3f} s waiting, {format_bytes(stage.bytes)}{_rate(stage)}"
            for stage in phase.stages
        ]
        phases.append(f"  {_met(phase.meetings, gigabytes=report.input_bytes / 1e9)}")
    return "\n".join([*chosen, *moved, *phases])


def _met(meetings: ThreadStats, *, gigabytes: float) -> str:
    counts = {
        "hand-overs": meetings.hand_overs, "waits for the lock": meetings.lock_waits, "sleeps": meetings.sleeps,
        "needless wakes": meetings.idle_wakes,
    }  # fmt: skip
    rates = ", ".join(f"{count / gigabytes:.0f} {what}" for what, count in counts.items()) if gigabytes else "nothing"
    return f"per GB: {rates}; {count_text(meetings.threads_started, 'thread')} started"


def _rate(stage: StageReport) -> str:
    return f", {format_rate(stage.bytes_per_s)} if it never waited" if stage.bytes_per_s else ""
