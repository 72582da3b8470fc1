"""The options of `planner bench fleet`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Final

from typer import Option

from planner.cli.rent import renting
from planner.cli.shell.files import Force
from planner.errors import BadInputError

PANELS: Final = {
    heading: tuple(options.split())
    for heading, options in {
        "Where": "local cloud instance nodes region",
        "How": "repeats over seconds size volume count volume_size seed",
        "Limits, and before it rents": "max_cost max_cost_per_month max_hours dry_run verbose yes",
        "Rented machines": "ssh_from subnet no_public_address jump reservation tag image wheelhouse",
        "Emulated nodes": "rate directory",
        "Result": "out chart force json",
    }.items()
}
"""Options under the headings of the help, in its order."""
_RENTED_ONLY: Final = (
    "instance", "over", "volume", "max_cost", "max_cost_per_month", "tag", "max_hours", "region", "ssh_from", "image",
    "subnet", "no_public_address", "jump", "reservation", "wheelhouse", "dry_run",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FleetOptions:
    """Measurements, their place and the use of the files; each field is an option."""

    local: Annotated[bool, Option("--local", help="On nodes emulated on this machine.")] = False
    cloud: Annotated[str | None, Option(help="On rented machines: aws, gcp, azure.")] = None
    instance: Annotated[str | None, Option(help="With --cloud: the type, such as i4i.4xlarge.")] = None
    out: Annotated[Path, Option(help="Folder for the instruments' files.")] = Path("fleet")
    nodes: Annotated[int, Option(help="How many nodes; emulated ones besides the head.", min=1)] = 3
    rate: Annotated[
        str | None, Option(help="Cap on each node's link, both ways: 400Mbit, or a list with one rate per node.")
    ] = None
    repeats: Annotated[int, Option(min=1, help="Rounds through all nodes.")] = 2
    over: Annotated[str | None, Option(help="With --cloud: begin the rounds evenly over so long: 24h.")] = None
    volume: Annotated[str | None, Option(help="With --cloud: measure volumes of this type, such as gp3.")] = None
    count: Annotated[int, Option(min=1, help="How many volumes each machine has.")] = 1
    volume_size: Annotated[str, Option(help="Size of each volume.")] = "500GB"
    wheelhouse: renting.Wheelhouse = None
    dry_run: renting.DryRun = False
    verbose: renting.Verbose = False
    yes: renting.Yes = False
    seconds: Annotated[
        str | None, Option(help="Length of each run of DiskBench.", show_default="1s, of rented machines 5s")
    ] = None
    size: Annotated[
        str | None, Option(help="File of the disk instruments.", show_default="200MB, of rented machines larger")
    ] = None
    seed: Annotated[int, Option(help="Seed of the order.")] = 1
    directory: Annotated[Path, Option("--dir", help="The disk for the nodes' files, removed at the end.")] = Path()
    chart: Annotated[bool, Option("--chart", help="Show how nodes differ, and change from round to round.")] = False
    force: Force = False
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False

    def require_a_place(self, rental: Collection[str]) -> None:
        """Raise BadInputError where no place is given, for options that it ignores, or for existing files in --out;
        `rental` names those of renting that are given.
        """
        if self.local == bool(self.cloud):
            raise BadInputError(
                "say where: --local on emulated nodes, or --cloud aws --instance i4i.4xlarge on rented ones",
                code="missing-argument",
            )
        usual = {field.name: field.default for field in fields(self)}
        ignored = _RENTED_ONLY if self.local else ("rate",)
        given = [*rental, *(name for name in usual if getattr(self, name) != usual[name])]
        for name in (name for name in ignored if name in given):
            where = "emulated nodes" if self.local else "rented machines"
            raise BadInputError(
                f"--{name.replace('_', '-')} says nothing about {where}: leave it out", code="not-applicable"
            )
        if not (self.dry_run or self.force) and self.out.exists() and any(self.out.iterdir()):
            raise BadInputError(
                f"{self.out} is not empty: name another folder with --out, or write into it with --force",
                code="not-empty",
            )
