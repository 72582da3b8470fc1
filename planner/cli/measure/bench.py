"""`planner bench`: actual rates of this machine's disks and processors, and of the network between machines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from planner.api.measure import INSTRUMENTS, measure
from planner.cli.shell.console import show, show_json, table, talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.progress import shown_progress, shown_time
from planner.config.user_files import read_user_file
from planner.errors import BadInputError
from planner.units import count_text, format_bytes, format_rate

if TYPE_CHECKING:
    from planner.measurement.instruments.disk import DiskBench
    from planner.measurement.instruments.net import NetBench
    from planner.measurement.instruments.small_io import SmallIo

TOKEN_VARIABLE = "PLANNER_BENCH_TOKEN"


_JSON = Annotated[bool, Option("--json", help="Print the result as JSON.")]


class DiskOptions(DeclaredOptions, of=[INSTRUMENTS["disk"]], needs=["directories"]):
    """The arguments of `planner.measure("disk")`."""


class NetOptions(DeclaredOptions, of=[INSTRUMENTS["net"]]):
    """The arguments of `planner.measure("net")`."""


class SortOptions(DeclaredOptions, of=[INSTRUMENTS["sort"]]):
    """The arguments of `planner.measure("sort")`."""


def bench_disk(
    *,
    asked: DiskOptions,
    suite: Annotated[
        Literal["diskbench", "small-io"], Option(help="small-io: Scalyr's five operations, 42 runs.")
    ] = "diskbench",
    json: _JSON = False,
) -> None:
    """Measure disks as a sort uses them: large blocks, past the page cache, reading and writing at once.

    Example: planner bench disk --dir /mnt/disk0 --dir /mnt/disk1 --mode all
    """
    from planner.measurement.instruments.small_io import SmallIo

    result: DiskBench | SmallIo
    with shown_time() as on_progress:
        if suite == "small-io":
            small = asked.of(INSTRUMENTS["small-io"]) | {"directory": _only_directory(asked)}
            result = measure("small-io", on_progress=on_progress, **small)
        else:
            result = measure("disk", on_progress=on_progress, **asked)
    if json:
        show_json(result.to_dict())
    elif isinstance(result, SmallIo):
        _show_small_io(result)
    else:
        _show_disk(result)


def bench_net(
    *,
    asked: NetOptions,
    agent: Annotated[bool, Option("--agent", help="Be an agent: wait for calls until Ctrl-C.")] = False,
    listen: Annotated[str, Option(help="Where an agent listens, host:port.")] = "0.0.0.0:7070",
    token_file: Annotated[
        Path | None, Option(help=f"File with the shared token; else the variable {TOKEN_VARIABLE}.")
    ] = None,
    json: _JSON = False,
) -> None:
    """Measure the network all-to-all between agents; the slowest node's rate is the cluster's.

    Example: planner bench net --node 10.0.0.4:7070 --node 10.0.0.5:7070 --token-file token
    """
    token = _token(token_file)
    if agent:
        _be_agent(listen, token=token)
        return
    length_s = asked["warm_up_s"] + asked["seconds"]
    result = measure(
        "net", token=token, on_run=lambda nodes: talk(f"{count_text(nodes, 'node')}, {length_s:g} s ..."), **asked
    )
    if json:
        show_json(result.to_dict())
    else:
        _show_net(result)


def bench_sort(*, asked: SortOptions, json: _JSON = False) -> None:
    """Measure how fast the processors sort in memory, per vCPU.

    Example: planner bench sort --size 2GB
    """
    with shown_progress() as on_progress:
        result = measure("sort", on_progress=on_progress, **asked)
    if json:
        show_json(result.to_dict())
        return
    rates = result.rates_bytes_per_s
    show(
        f"{format_rate(result.bytes_per_s_per_vcpu)} per vCPU: {format_bytes(result.data_bytes)} on {result.threads} "
        f"threads at {format_rate(result.bytes_per_s)} (median of {len(rates)}, {format_rate(min(rates))} to "
        f"{format_rate(max(rates))})"
    )


def _only_directory(asked: DiskOptions) -> Path:
    if asked["layout"] != "jbod":
        raise BadInputError(
            "--suite small-io measures one directory; stripe disks with mdadm and name the array's", code="one-folder"
        )
    if "queue_depth" in asked:
        raise BadInputError("--suite small-io has depths of its own; leave out --queue-depth", code="not-applicable")
    if len(asked["directories"]) != 1:
        raise BadInputError("--suite small-io measures one --dir at a time", code="one-folder")
    directory: Path = asked["directories"][0]
    return directory


def _token(path: Path | None) -> str:
    if path is None:
        token = os.environ.get(TOKEN_VARIABLE, "")
        if not token:
            raise BadInputError(
                f"no shared token: give --token-file, or set {TOKEN_VARIABLE}, the same on every node", code="no-token"
            )
        return token
    return read_user_file(path).strip()


def _be_agent(listen: str, *, token: str) -> None:
    from planner.measurement.instruments.agent import Agent, serve_until_interrupted
    from planner.measurement.instruments.net_wire import split_address

    host, port = split_address(listen)
    serve_until_interrupted(Agent(host=host, port=port, token=token), on_message=talk)


def _rate(bytes_per_s: float | None) -> str:
    return "-" if bytes_per_s is None else format_rate(bytes_per_s)


def _show_disk(result: DiskBench) -> None:
    columns = ("mode", "layout", "read", "write", "lowest in all", "highest in all", "runs", "depth", "within a run")
    rows = []
    for rate in result.rates:
        depth = next(run.queue_depth for run in result.runs if (run.mode, run.layout) == (rate.mode, rate.layout))
        single = _rate(rate.read_bytes_per_s), _rate(rate.write_bytes_per_s)
        extremes = _rate(rate.lowest_total_bytes_per_s), _rate(rate.highest_total_bytes_per_s)
        scatter = "-" if rate.within_run_sigma is None else f"±{rate.within_run_sigma:.1%}"
        layout = {"jbod": "JBOD", "raid0": "RAID-0"}[rate.layout]
        rows.append((rate.mode, layout, *single, *extremes, str(rate.repeats), str(depth), scatter))
    show(table(columns, rows, numbers=True), drop_first=("depth", "runs"))
    for system in result.file_systems:
        talk(
            f"{system.directory}: {system.kind or 'unknown file system'} on {system.device or 'an unknown device'}, "
            f"{format_bytes(system.free_bytes)} of {format_bytes(system.total_bytes)} free"
        )
    for note in result.notes:
        talk(f"note: {note}")


def _show_small_io(result: SmallIo) -> None:
    columns = ("operation", "threads", "operations/s", "rate", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms")
    rows = []
    recommended = result.recommended_threads
    for run in sorted(result.runs, key=lambda run: (run.operation, run.threads)):
        latencies = (run.latency_p50_s, run.latency_p90_s, run.latency_p99_s, run.latency_p999_s)
        chosen = "*" if recommended[run.operation] == run.threads else ""
        rates = f"{run.operations_per_s:,.0f}", format_rate(run.bytes_per_s)
        shown = ("-" if latency is None else f"{latency * 1000:.3g}" for latency in latencies)
        rows.append((run.operation, f"{run.threads}{chosen}", *rates, *shown))
    show(table(columns, rows, numbers=True))
    talk("* the smallest thread count within 5% of the best")


def _show_net(result: NetBench) -> None:
    rows = []
    for run in (run.to_dict() for run in result.runs):
        rates = format_rate(run["slowest_bytes_per_s"]), format_rate(run["median_bytes_per_s"])
        rows.append((str(run["nodes"]), *rates, run["slowest_node"]))
    show(table(("nodes", "slowest", "median", "slowest node"), rows, numbers=True))
