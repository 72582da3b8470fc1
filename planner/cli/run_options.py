"""The options of `planner run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from planner.cli import emulation, renting
from planner.cli.files import Force
from planner.units import parse_size


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What to run, where, and what to do with the report; each field is an option."""

    data: Annotated[str | None, Option(help="How much to sort: 1GB; what --input holds otherwise.")] = None
    model: Annotated[str, Option(help="Cost model: a name that `planner models` lists, or a TOML file.")]
    directory: Annotated[Path, Option("--dir", help="The disk to work on; everything written there is removed.")] = (
        Path()
    )
    memory: Annotated[str | None, Option(help="Memory for the sort: 2GB. Four fifths of what is free otherwise.")] = (
        None
    )
    threads: Annotated[int | None, Option(help="Threads; all cores otherwise.")] = None
    cloud: Annotated[
        str | None, Option(help="Where: `aws` rents machines, `emulated` nodes; this machine as it is otherwise.")
    ] = None
    nodes: Annotated[int | None, Option(help="Nodes; as planned, or 4 emulated ones.", min=1)] = None
    rate: emulation.Rate = None
    distribution: emulation.Distribution = None
    rate_factor: emulation.RateFactor = 1.0
    bucket: emulation.BucketSize = None
    burst_rate: emulation.BurstRate = None
    redraw: emulation.Redraw = None
    seed: emulation.Seed = None
    input: Annotated[
        str | None, Option(help="Where the data is: s3://bucket/path.", show_default="generated on the nodes")
    ] = None
    output: Annotated[
        str | None,
        Option(help="Where the result goes: s3://bucket/path.", show_default="nowhere: it ends with the nodes"),
    ] = None
    node_identity: renting.NodeIdentity = None
    lend_credentials: Annotated[
        bool,
        Option("--lend-credentials", help="Hand the machines this environment's keys to the object store, by SSH."),
    ] = False
    skew: Annotated[bool, Option("--skew", help="Generate skewed keys; on a cluster.")] = False
    region: renting.Regions = None
    instance: renting.Instances = None
    pricing: renting.Pricing = "on-demand"
    max_cost: renting.MaxCost = None
    max_hours: renting.MaxHours = None
    ssh_from: renting.SshFrom = None
    subnet: renting.Subnet = None
    no_public_address: renting.NoPublicAddress = False
    image: renting.Image = None
    wheelhouse: Annotated[
        Path | None, Option(help="Wheels for rented machines, made by `planner cluster wheelhouse`.")
    ] = None
    screen_seconds: Annotated[float, Option(help="Length of each measurement of rented machines.", min=0.1)] = 5.0
    screen_size: Annotated[str | None, Option(help="File on each disk for it; as DiskBench chooses otherwise.")] = None
    keep: Annotated[bool, Option("--keep", help="Leave the rented machines there in the end.")] = False
    detach: Annotated[
        bool, Option("--detach", help="Return as soon as the sort has begun; `planner cluster attach` has its result.")
    ] = False
    dry_run: renting.DryRun = False
    verbose: renting.Verbose = False
    yes: renting.Yes = False
    profile: Annotated[str | None, Option(help="Calibrated profile to learn from this run; begun if new.")] = None
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False
    out: Annotated[
        Path | None, Option(help="Also write the report as JSON to this file; `planner report` reads it.")
    ] = None
    force: Force = False

    @property
    def memory_bytes(self) -> int | None:
        """The memory for the sort. Raises BadInputError for what is no size."""
        return None if self.memory is None else parse_size(self.memory)
