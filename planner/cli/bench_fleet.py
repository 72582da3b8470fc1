"""`planner bench fleet`: the instruments on every node of a cluster, several times in random order; and who is slow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from typer import Option

from planner.cli import emulation, renting
from planner.cli.console import show_json, talk
from planner.cli.files import Force
from planner.cli.interrupts import orderly_end
from planner.errors import BadInputError
from planner.units import parse_seconds, parse_size

_SEED = 1
_LOCAL_S: Final = "1s"
_LOCAL_SIZE: Final = "200MB"
_RENTED_S: Final = "5s"


def bench_fleet(
    *,
    local: Annotated[bool, Option("--local", help="On nodes emulated on this machine.")] = False,
    cloud: Annotated[str | None, Option(help="On rented machines: aws, gcp, azure.")] = None,
    instance: Annotated[str | None, Option(help="With --cloud: the type, such as i4i.4xlarge.")] = None,
    out: Annotated[Path, Option(help="Folder for the instruments' files.")] = Path("fleet"),
    nodes: emulation.Nodes = 3,
    rate: emulation.Rate = None,
    repeats: Annotated[int, Option(min=1, help="Rounds through all nodes.")] = 2,
    over: Annotated[str | None, Option(help="With --cloud: begin the rounds evenly over so long: 24h.")] = None,
    volume: Annotated[str | None, Option(help="With --cloud: measure volumes of this type, such as gp3.")] = None,
    count: Annotated[int, Option(min=1, help="How many volumes each machine has.")] = 1,
    volume_size: Annotated[str, Option(help="Size of each volume.")] = "500GB",
    max_cost: renting.MaxCost = None,
    max_hours: renting.MaxHours = None,
    region: renting.Regions = None,
    ssh_from: renting.SshFrom = None,
    image: renting.Image = None,
    wheelhouse: Annotated[Path | None, Option(help="Wheels for the machines, if theirs are other processors.")] = None,
    dry_run: renting.DryRun = False,
    verbose: renting.Verbose = False,
    yes: renting.Yes = False,
    seconds: Annotated[
        str | None, Option(help="Length of each run of DiskBench.", show_default="1s, of rented machines 5s")
    ] = None,
    size: Annotated[
        str | None,
        Option(help="File of the disk instruments.", show_default="200MB, of rented machines as they choose"),
    ] = None,
    seed: emulation.Seed = None,
    directory: Annotated[Path, Option("--dir", help="The disk for the nodes' files, removed at the end.")] = Path(),
    chart: Annotated[bool, Option("--chart", help="Show how nodes differ, and change from round to round.")] = False,
    force: Force = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Measure disks, small transfers and network of every node in random order, and say which nodes to drop.

    Nodes are judged by their rates. The files remain: `planner screen OUT/*.json` judges by latencies as well. With
    --cloud it rents the machines, adds what it measures to your measurements, and takes all down.

    Example: planner bench fleet --local --nodes 3 --rate 400Mbit
    """
    if local == bool(cloud):
        raise BadInputError(
            "say where: --local on emulated nodes, or --cloud aws --instance i4i.4xlarge on rented ones"
        )
    if not dry_run and out.exists() and any(out.iterdir()) and not force:
        raise BadInputError(f"{out} is not empty: name another folder with --out, or write into it with --force")
    from planner.cli.screen import plain, show_study, studied

    if cloud:
        from planner.cli.bench_fleet_rented import RentedFleet

        fleet = RentedFleet(
            rental=renting.RentalOptions(
                cloud=cloud,
                regions=tuple(region or ()),
                max_cost=max_cost,
                max_hours=max_hours,
                ssh_from=ssh_from,
                image=image,
            ),
            instance=instance,
            nodes=nodes,
            repeats=repeats,
            over=over,
            volume=volume,
            count=count,
            volume_size=volume_size,
            seconds=seconds or _RENTED_S,
            size=size,
            seed=_SEED if seed is None else seed,
        )
        if dry_run:
            fleet.show_dry_run(verbose=verbose, json=json)
            return
        out.mkdir(parents=True, exist_ok=True)
        files = fleet.measured(out, wheelhouse=wheelhouse, yes=yes)
    else:
        files = _emulated(
            out,
            nodes=nodes,
            rate=rate,
            repeats=repeats,
            seconds=seconds or _LOCAL_S,
            size=size or _LOCAL_SIZE,
            seed=_SEED if seed is None else seed,
            directory=directory,
        )
    study = studied(files, [], rates_only=True)
    if json:
        show_json({**plain(study, None), "files": [str(path) for path in files]})
        return
    show_study(study, chart=chart)
    talk(f"{len(files)} files in {out}")


def _emulated(
    out: Path, *, nodes: int, rate: str | None, repeats: int, seconds: str, size: str, seed: int, directory: Path
) -> list[Path]:
    from planner.emulation.cluster import emulated_cluster
    from planner.emulation.node_rounds import measure_rounds
    from planner.emulation.shaping import parse_shaping

    out.mkdir(parents=True, exist_ok=True)
    shaping = parse_shaping(rate=rate)
    with orderly_end(), emulated_cluster(workers=nodes, shaping=shaping, directory=directory, say=talk) as cluster:
        return measure_rounds(
            cluster,
            repeats=repeats,
            seconds=parse_seconds(seconds),
            file_bytes=parse_size(size),
            results=out,
            seed=seed,
            say=talk,
        )
