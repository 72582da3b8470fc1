"""`planner bench fleet`: benchmarks on every node of a cluster, repeated in random order, that find slow nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from planner.cli.measure.bench_fleet_options import FleetOptions
from planner.cli.rent.renting import MeasuredRental
from planner.cli.shell.console import show_json, talk
from planner.cli.shell.interrupts import orderly_end
from planner.cli.shell.option_values import amount
from planner.units import count_text, parse_seconds, parse_size

_LOCAL_S: Final = "1s"
_LOCAL_SIZE: Final = "200MB"


def bench_fleet(*, options: FleetOptions, rental: MeasuredRental) -> None:
    """Measure disks, small transfers and network of every node in random order, and name the nodes to drop.

    Nodes are judged by their rates. The files remain: `planner screen OUT/*.json` judges by latencies as well. With
    --cloud it rents the machines, adds what it measures to your measurements, and takes all down.

    Example: planner bench fleet --local --nodes 3 --rate 400Mbit
    """
    options.require_a_place(rental.given)
    if options.cloud:
        from planner.cli.measure.bench_fleet_rented import RentedMachines

        rented = RentedMachines(options, rental)
        if options.dry_run:
            rented.show_dry_run()
            return
        files = rented.measured()
    else:
        files = _emulated(options)
    _show(files, options)


def _show(files: list[Path], options: FleetOptions) -> None:
    from planner.cli.measure.screen import show_study, studied, study_json

    study = studied(files, [], rates_only=True)
    if options.json:
        show_json({**study_json(study, None), "files": [str(path) for path in files]})
        return
    show_study(study, chart=options.chart)
    talk(f"{count_text(len(files), 'file')} in {options.out}")


def _emulated(options: FleetOptions) -> list[Path]:
    from planner.clusters.emulated.cluster import emulated_cluster
    from planner.clusters.emulated.node_rounds import measure_rounds
    from planner.clusters.emulated.shaping import parse_shaping

    options.out.mkdir(parents=True, exist_ok=True)
    shaping, directory = parse_shaping(rate=options.rate), options.directory
    with (
        orderly_end(),
        emulated_cluster(workers=options.nodes, shaping=shaping, directory=directory, say=talk) as cluster,
    ):
        return measure_rounds(
            cluster,
            repeats=options.repeats,
            seconds=amount("--seconds", parse_seconds, options.seconds or _LOCAL_S),
            file_bytes=amount("--size", parse_size, options.size or _LOCAL_SIZE),
            results=options.out,
            seed=options.seed,
            say=talk,
        )
