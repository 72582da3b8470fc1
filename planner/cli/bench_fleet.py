"""`planner bench fleet`: the instruments on every node of a cluster, several times in random order; and who is slow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from planner.cli import emulation
from planner.cli.console import show_json, talk
from planner.cli.files import Force
from planner.cli.interrupts import orderly_end
from planner.errors import BadInputError
from planner.units import parse_seconds, parse_size

_SEED = 1


def bench_fleet(
    *,
    local: Annotated[bool, Option("--local", help="On nodes emulated on this machine.")] = False,
    out: Annotated[Path, Option(help="Folder for the instruments' files.")] = Path("fleet"),
    nodes: emulation.Nodes = 3,
    rate: emulation.Rate = None,
    repeats: Annotated[int, Option(min=1, help="Rounds through all nodes.")] = 2,
    seconds: Annotated[str, Option(help="Length of each run of DiskBench.")] = "1s",
    size: Annotated[str, Option(help="File of the disk instruments.")] = "200MB",
    seed: emulation.Seed = None,
    directory: Annotated[Path, Option("--dir", help="The disk for the nodes' files, removed at the end.")] = Path(),
    chart: Annotated[bool, Option("--chart", help="Show how nodes differ, and change from round to round.")] = False,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Measure disks, small transfers and network of every node in random order, and say which nodes to drop.

    Nodes are judged by their rates. The files remain: `planner screen OUT/*.json` judges by latencies as well.

    Example: planner bench fleet --local --nodes 3 --rate 400Mbit
    """
    if not local:
        raise BadInputError(
            "only emulated nodes can be measured this way: --local. For a cloud's, `planner run --cloud` measures and "
            "screens what it rents"
        )
    if out.exists() and any(out.iterdir()) and not force:
        raise BadInputError(f"{out} is not empty: name another folder with --out, or write into it with --force")
    from planner.cli.screen import plain, show_study, studied
    from planner.emulation.cluster import emulated_cluster
    from planner.emulation.node_rounds import measure_rounds
    from planner.emulation.shaping import parse_shaping

    out.mkdir(parents=True, exist_ok=True)
    shaping = parse_shaping(rate=rate)
    with orderly_end(), emulated_cluster(workers=nodes, shaping=shaping, directory=directory, say=talk) as cluster:
        files = measure_rounds(
            cluster,
            repeats=repeats,
            seconds=parse_seconds(seconds),
            file_bytes=parse_size(size),
            results=out,
            seed=_SEED if seed is None else seed,
            say=talk,
        )
    study = studied(files, [], rates_only=True)
    if json:
        show_json({**plain(study, None), "files": [str(path) for path in files]})
        return
    show_study(study, chart=chart)
    talk(f"{len(files)} files in {out}")
