"""`planner sort`: a file of any size, sorted on this machine; or a dataset, on a Ray cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, CallbackParam, Context, Option

from planner.api.text_advice import records_expected
from planner.cli.shell.console import show_json, show_text, talk
from planner.cli.shell.files import Force
from planner.cli.shell.progress import watched
from planner.cli.shell.usage import UsageError
from planner.cli.sort.key_options import KeyOffset, KeyOptions, KeySize, RecordSize, Threads
from planner.cli.sort.sort_formats import refuse_formats, require_inputs, sort_text_or_tables
from planner.cli.sort.sort_on_ray import RayOptions, files_among, sort_on_ray
from planner.errors import BadInputError
from planner.units import format_bytes, format_duration, format_rate, parse_size

if TYPE_CHECKING:
    from planner.sorting.records.local import SortReport, StageReport, ThreadStats

_MoreOutput = Annotated[
    list[Path] | None, Option(help="Where the result goes on, perhaps on another disk: each file has an equal share.")
]
_TempDir = Annotated[list[Path] | None, Option(help="Disks for temporary files; beside the output otherwise.")]

_Spill = Annotated[
    Literal["auto", "lz4", "plain"],
    Option(help="How temporary files are written: packed with LZ4, plain, or packed while processors wait for disks."),
]


def _require_source(ctx: Context, parameter: CallbackParam, value: list[Path]) -> list[Path]:
    """With --check the only file is an input, and stands where the output does otherwise."""
    if not value and not ctx.params.get("check"):
        raise sys.modules[UsageError.__module__].MissingParameter(ctx=ctx, param=parameter)
    return value


_Sources = Annotated[
    list[Path] | None,
    Argument(
        metavar="INPUT", help="The files to sort; they are only read.", callback=_require_source, show_default=False
    ),
]


def sort(
    sources: _Sources = None,
    output: Annotated[
        Path, Argument(metavar="OUTPUT", help="Where the result goes; it appears whole or not at all.")
    ] = ...,  # type: ignore[assignment]  # typer's word for required
    *,
    more_output: _MoreOutput = None,
    memory: Annotated[str | None, Option(help="Memory in all: 2GB. Four fifths of what is free otherwise.")] = None,
    threads: Threads = None,
    temp_dir: _TempDir = None,
    record_size: RecordSize = 100,
    key_offset: KeyOffset = 0,
    key_size: KeySize = None,
    lines: Annotated[bool, Option("--lines", help="Sort newline-terminated text by its lines.")] = False,
    stable: Annotated[bool, Option("--stable", help="Keep the order of equal keys.")] = False,
    spill: _Spill = "auto",
    keys: KeyOptions,
    cluster: RayOptions,
    force: Force = False,
    explain: Annotated[bool, Option("--explain", help="Say what was chosen and why, and where the time went.")] = False,
    json: Annotated[bool, Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Sort fixed-size records by their key, text by its lines or CSV by its columns, in as much memory as it is given.

    Keys compare as bytes, which for text is the order of LC_ALL=C. Files and temporary directories on different disks
    are read and written at the same time.

    Example: planner sort input.dat output.dat --memory 2GB

    Example: planner sort input.dat more.dat first.dat --more-output second.dat

    Example: planner sort --lines --key-offset 5 --key-size 12 --stable app.log sorted.log

    Example: planner sort --separator , --key 3,3r --key 1,1n data.csv sorted.csv

    Example: planner sort --format csv --key time:desc --key amount:num sales.csv sorted.csv.zst

    Example: planner sort --check --format csv --key time:desc sorted.csv.zst

    Example: planner sort input.json output.json --ray 10.0.0.1:6379 --copies 2

    Example: planner sort --format parquet --key time:desc --key id events/ sorted.json --ray 10.0.0.1:6379
    """
    limits: dict[str, Any] = {"threads": threads, "stable": stable, "temp_dirs": temp_dir or ()}
    limits |= {"memory_bytes": None if memory is None else parse_size(memory), "spill": spill}
    sources, lines = sources or [], lines or keys.format == "lines"
    layout = {"record_size": record_size, "key_offset": key_offset, "key_size": key_size, "lines": lines}
    shared: dict[str, Any] = {"force": force, "explain": explain, "json": json, "limits": limits}
    is_text, on_ray = lines or keys.are_given, cluster.ray is not None
    if not on_ray and sort_text_or_tables(sources, output, keys, layout, others=bool(more_output), **shared):
        return
    outputs = [output, *(more_output or ())]
    inputs = files_among(sources) if on_ray and is_text else sources
    require_inputs(inputs, outputs, temp_dirs=limits["temp_dirs"], force=force)
    if on_ray:
        _refuse_on_ray(layout, limits, keys, more_output=more_output)
        sort_on_ray(sources, output, cluster, keys, lines=is_text, memory_bytes=limits["memory_bytes"], json=json)
    else:
        report = _sort_here(sources, outputs, **layout, **limits)
        _show(report, what="lines" if lines else "records", explain=explain, json=json)


def _sort_here(sources: list[Path], outputs: list[Path], **options: Any) -> SortReport:
    from planner.sorting.records.local import sort_file
    from planner.sorting.records.memory import left_for_sorting

    advice = "--lines sorts its lines, --separator , --key 2,2 by the second column"
    options["memory_bytes"] = options["memory_bytes"] and left_for_sorting(options["memory_bytes"])
    with records_expected(sources, advice=advice), watched(["read", "distribute", "write"]) as progress:
        return sort_file(sources, outputs, progress=progress, **options)


def _refuse_on_ray(
    layout: dict[str, Any], limits: dict[str, Any], keys: KeyOptions, *, more_output: list[Path] | None
) -> None:
    refuse_formats(keys, lines=layout["lines"])
    if more_output:
        raise BadInputError("with --ray there is one OUTPUT: a manifest, which names many partitions")
    if limits["stable"]:
        raise BadInputError("--stable is for one machine: leave it out, or leave out --ray")
    if limits["threads"] or limits["temp_dirs"]:
        raise BadInputError("--threads and --temp-dir are for one machine: Ray and the nodes' environment say both")
    if limits["spill"] != "auto":
        raise BadInputError("--spill is for one machine: leave it out, or leave out --ray")
    if (layout["record_size"], layout["key_offset"], layout["key_size"]) != (100, 0, None):
        raise BadInputError(
            "with --ray the manifest says --record-size, --key-offset and --key-size; of text say --key 1.6,1.17"
        )


def _show(report: SortReport, *, what: str, explain: bool, json: bool) -> None:
    if json:
        show_json(report.to_dict())
        return
    rate = format_rate(report.input_bytes / report.seconds) if report.seconds else "-"
    talk(f"{report.records} {what} in {format_duration(report.seconds)} ({rate}), {report.mode}")
    if explain:
        show_text(_explained(report))


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
            f"  {stage.name}: {stage.threads} threads, {stage.working_s:.3f} s at work, "
            f"{stage.waiting_s:.3f} s waiting, {format_bytes(stage.bytes)}{_rate(stage)}"
            for stage in phase.stages
        ]
        phases.append(f"  {_met(phase.meetings, gigabytes=report.input_bytes / 1e9)}")
    return "\n".join([*chosen, *moved, *phases])


def _met(meetings: ThreadStats, *, gigabytes: float) -> str:
    counts = {
        "hand-overs": meetings.hand_overs, "waits for the lock": meetings.lock_waits, "sleeps": meetings.sleeps,
        "wakes in vain": meetings.idle_wakes,
    }  # fmt: skip
    rates = ", ".join(f"{count / gigabytes:.0f} {what}" for what, count in counts.items()) if gigabytes else "nothing"
    return f"per GB: {rates}; {meetings.threads_started} threads started"


def _rate(stage: StageReport) -> str:
    return f", {format_rate(stage.bytes_per_s)} if it never waited" if stage.bytes_per_s else ""
