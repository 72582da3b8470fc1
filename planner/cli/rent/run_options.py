"""The options of `planner run`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Final

from typer import Option

from planner.api.rental_options import RentalOptions
from planner.api.run import EMULATED as EMULATED  # noqa: PLC0414  # the command finds it here
from planner.api.run import OF_A_CLUSTER, OF_RENTED, require_place
from planner.api.run_arguments import EffortArguments, LinkArguments
from planner.cli.plan.request_options import Architecture, Instances, Nodes, OneModel, OneSize
from planner.cli.rent import emulation, renting
from planner.cli.shell.completion import profiles, rented_clouds
from planner.cli.shell.files import Force
from planner.cli.shell.option_values import amount
from planner.cli.sort.key_options import Threads
from planner.errors import BadInputError
from planner.schemas.plan import Request
from planner.units import parse_size

_OF_MACHINES_THERE: Final = ("lend_credentials", "wheelhouse", "detach", "skew", "input", "output")
"""Options on rented machines or a cluster that also apply to existing machines."""


PANELS: Final = {
    heading: tuple(options.split())
    for heading, options in {
        "What to sort": "data model input format key separator no_header zero_terminated unique output",
        "Where": "cloud on region instance nodes pricing directory memory",
        "Limits, and before it rents": "max_cost max_hours dry_run verbose yes",
        "Rented machines": "keep take_down detach ssh_from subnet no_public_address jump reservation tag"
        " node_identity lend_credentials wheelhouse",
        "Emulated nodes": "rate",
        "Settings": "skew threads arch or_next max_cost_per_month image screen_seconds screen_size distribution"
        " rate_factor bucket burst_rate redraw seed",
        "Report": "out json force profile",
    }.items()
}
"""Options under the headings of the help, in its order."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The run, its place, and the use of its report; each field is an option."""

    data: OneSize = None
    model: OneModel = Request.model
    directory: Annotated[Path, Option("--dir", help="The disk to work on; everything written there is removed.")] = (
        Path()
    )
    memory: Annotated[str | None, Option(help="Memory for the sort: 2GB. Four fifths of what is free otherwise.")] = (
        None
    )
    threads: Threads = None
    cloud: Annotated[
        str | None,
        Option(
            help="Where: `aws` rents machines, `emulated` nodes; this machine as it is otherwise.",
            autocompletion=rented_clouds,
        ),
    ] = None
    on: Annotated[
        str | None, Option(help="Run whose machines are there and stay: sort on them, as `planner cluster run` does.")
    ] = None
    nodes: Nodes = None
    rate: emulation.Rate = None
    distribution: emulation.Distribution = None
    rate_factor: emulation.RateFactor = 1.0
    bucket: emulation.BucketSize = None
    burst_rate: emulation.BurstRate = None
    redraw: emulation.Redraw = None
    seed: emulation.Seed = None
    input: Annotated[
        str | None,
        Option(
            help="What to sort: s3://bucket/path; for emulated nodes also a file, a directory or a manifest here.",
            show_default="generated on the nodes",
        ),
    ] = None
    output: Annotated[
        str | None,
        Option(
            help="Where it goes: s3://bucket/path; for emulated nodes also an empty directory here.",
            show_default="stays on the nodes",
        ),
    ] = None
    node_identity: renting.NodeIdentity = None
    lend_credentials: Annotated[
        bool,
        Option("--lend-credentials", help="Hand the machines this environment's keys to the object store, by SSH."),
    ] = False
    skew: Annotated[bool, Option("--skew", help="Generate skewed keys; on a cluster.")] = False
    region: renting.Regions = None
    instance: Instances = None
    arch: Architecture = None
    pricing: renting.Pricing = "on-demand"
    max_cost: renting.MaxCost = None
    max_hours: renting.MaxHours = None
    ssh_from: renting.SshFrom = None
    subnet: renting.Subnet = None
    no_public_address: renting.NoPublicAddress = False
    jump: renting.Jump = None
    reservation: renting.Reservation = None
    or_next: renting.OrNext = RentalOptions.or_next
    max_cost_per_month: renting.MaxCostPerMonth = None
    tag: renting.Tags = None
    image: renting.Image = None
    wheelhouse: renting.Wheelhouse = None
    screen_seconds: Annotated[str, Option(help="Length of each measurement of rented machines.")] = "5s"
    screen_size: Annotated[str | None, Option(help="File on each disk for it; as DiskBench chooses otherwise.")] = None
    keep: Annotated[bool, Option("--keep", help="Leave the rented machines there in the end.")] = False
    detach: Annotated[
        bool, Option("--detach", help="Return as soon as the sort has begun; `planner cluster attach` has its result.")
    ] = False
    dry_run: renting.DryRun = False
    verbose: renting.Verbose = False
    yes: renting.Yes = False
    profile: Annotated[
        str | None, Option(help="Calibrated profile to learn from this run; begun if new.", autocompletion=profiles)
    ] = None
    json: Annotated[bool, Option("--json", help="Print the report as one JSON object.")] = False
    out: Annotated[
        Path | None,
        Option(dir_okay=False, help="Also write the report as JSON to this file; `planner report` reads it."),
    ] = None
    force: Force = False

    def require_its_place(self) -> None:
        """Raise BadInputError for options that do not apply to this run's place: they would be ignored."""
        if self.on is not None:
            self._require_others_machines()
            return
        require_place(self._given, self.cloud)

    def _require_others_machines(self) -> None:
        elsewhere = {"cloud", "threads", "directory", *LinkArguments.__annotations__, *OF_RENTED, *OF_A_CLUSTER}
        for name in self._given:
            if name in elsewhere - {*_OF_MACHINES_THERE, *EffortArguments.__annotations__}:
                raise BadInputError(
                    f"`{name}` says nothing about the machines of run {self.on}: leave it out", field=name
                )

    @property
    def _given(self) -> list[str]:
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    @property
    def memory_bytes(self) -> int | None:
        """The memory for the sort. Raises BadInputError for an invalid size."""
        return None if self.memory is None else amount("--memory", parse_size, self.memory)
