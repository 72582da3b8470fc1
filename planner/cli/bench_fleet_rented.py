"""`planner bench fleet --cloud`: what to rent, asking, measuring, and adding it to the user's measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli import renting
from planner.cli.console import talk
from planner.cli.interrupts import orderly_end
from planner.cli.run_rented import effort_of, session_with_ssh, wheels
from planner.errors import BadInputError, PlannerError, nearest
from planner.units import parse_duration, parse_size

if TYPE_CHECKING:
    from planner.catalog import Catalog
    from planner.providers.order import Choice, Order, VolumeOrder
    from planner.providers.protocol import Place
    from planner.runs.fleet import FleetTask


@dataclass(frozen=True, kw_only=True)
class RentedFleet:
    """The machines to measure and how, in the words of the command's options."""

    rental: renting.RentalOptions
    instance: str | None
    nodes: int
    repeats: int
    over: str | None
    volume: str | None
    count: int
    volume_size: str
    seconds: str
    size: str | None
    seed: int

    def show_dry_run(self, *, verbose: bool, json: bool) -> None:
        """Print what would be rented and what it would cost; no cloud is asked."""
        session = session_with_ssh(self.rental)
        renting.show_dry_run(self._order(is_dry_run=True), self.rental, session.provider, verbose=verbose, json=json)

    def measured(self, out: Path, *, wheelhouse: Path | None, yes: bool) -> list[Path]:
        """Ask, rent, measure into `out`, take down, remember, and return the instruments' files."""
        from planner.provisioning.cluster_lifecycle import begin
        from planner.runs.fleet import measure_fleet

        session, order = session_with_ssh(self.rental), self._order(is_dry_run=False)
        with wheels(wheelhouse) as packed:
            order, places = renting.agreed(order, session.provider, self.rental.limits, yes=yes)
            with orderly_end():
                keyed, directory = begin(order)
                with directory.held():
                    paths, place = measure_fleet(
                        self._task, keyed, places, directory, session, wheelhouse=packed, results=out
                    )
        self._remember(paths, place, order.run)
        return paths

    @property
    def _task(self) -> FleetTask:
        from planner.runs.fleet import FleetTask

        over_s = parse_duration(self.over) if self.over else 0.0
        effort = effort_of(self.seconds, self.size)
        return FleetTask(effort=effort, nodes=self.nodes, rounds=self.repeats, over_s=over_s, seed=self.seed)

    def _order(self, *, is_dry_run: bool) -> Order:
        return renting.ordered_choices([self._choice()], self.rental, is_dry_run=is_dry_run)

    def _choice(self) -> Choice:
        from planner.catalog import load_catalog
        from planner.provisioning.choice_of_type import choice_of_type

        if self.instance is None:
            raise BadInputError("say what to rent: --instance i4i.4xlarge")
        if self.nodes < 1:
            raise BadInputError(f"--nodes {self.nodes}: must be 1 at least")
        catalog = load_catalog(self.rental.cloud)
        self._check_disks(catalog, self.instance)
        volumes, usd_per_hour = self._volumes(catalog)
        return choice_of_type(
            catalog,
            self.instance,
            regions=self.rental.regions or (catalog.default_region,),
            nodes=self.nodes,
            seconds=self._task.expected_s,
            volumes=volumes,
            volume_usd_per_hour=usd_per_hour,
        )

    def _check_disks(self, catalog: Catalog, instance: str) -> None:
        row = catalog.instances.rows.get(instance)
        if row is None:
            return
        disks = catalog.instances.local_disks[row]
        if self.volume and disks >= 1:
            raise BadInputError(
                f"--volume {self.volume}: {instance} has local disks, which would be measured with the volumes; name "
                "a type without"
            )
        if not self.volume and disks == 0:
            raise BadInputError(f"--instance {instance}: it has no local disks; say --volume gp3 to measure volumes")

    def _volumes(self, catalog: Catalog) -> tuple[VolumeOrder | None, float]:
        from planner.cost_model.volume_sizes import Unsuitable, sized
        from planner.providers.order import VolumeOrder

        if self.volume is None:
            return None, 0.0
        if self.volume not in catalog.volume_types:
            types = ", ".join(catalog.volume_types)
            hint = nearest(self.volume, list(catalog.volume_types))
            raise BadInputError(f"--volume {self.volume}: not among {types}.{hint}")
        of_one = sized(
            catalog.volume_types[self.volume], iops=0.0, bytes_per_s=0.0, data_bytes=float(parse_size(self.volume_size))
        )
        if isinstance(of_one, Unsuitable):
            raise BadInputError(f"--volume {self.volume} of {self.volume_size}: {of_one.reason}")
        order = VolumeOrder(volume_type=self.volume, count=self.count, size_gib=of_one.size_gib, mibps_each=1)
        return order, self.count * of_one.usd_per_month / catalog.hours_per_month

    def _remember(self, paths: list[Path], place: Place, run: str) -> None:
        from planner.runs.fleet import fleet_measurements
        from planner.stores.measurements import store

        try:
            rows = fleet_measurements(
                paths,
                place,
                run=run,
                instance_type=str(self.instance),
                volume_type=self.volume,
                volumes=self.count if self.volume else None,
            )
            stored = store(rows, catalog=self.rental.cloud)
        except PlannerError as error:
            talk(f"measurements not stored: {error.message}")
            return
        talk(f"{len(rows)} measurements stored in {stored.path}; they override the shipped figures of the next plan")
