"""`planner bench fleet --cloud`: rent machines, measure them, and store the results as the user's measurements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.api import clusters
from planner.api.rental_options import RentalOptions
from planner.api.run import effort_of, session_with_ssh
from planner.api.software import architecture_of, wheels
from planner.cli.measure.bench_fleet_options import FleetOptions
from planner.cli.rent import renting
from planner.cli.shell.console import talk
from planner.cli.shell.interrupts import orderly_end
from planner.cli.shell.option_values import amount
from planner.errors import BadInputError, PlannerError, nearest
from planner.units import parse_duration, parse_size

if TYPE_CHECKING:
    from planner.catalog import Catalog
    from planner.clouds.order import ClusterOffer, Order, VolumeOrder
    from planner.clouds.protocol import Place
    from planner.clusters.runs.instrument_rounds import FleetTask


_RUN_S: Final = "5s"


@dataclass(frozen=True)
class RentedMachines:
    """The machines to measure and the method, as the command's options give them; `cloud` must be given."""

    options: FleetOptions
    asked: renting.MeasuredRental

    def show_dry_run(self) -> None:
        """Print what would be rented and its cost, without asking a cloud."""
        rental, order = self._rental, self._order(is_dry_run=True)
        provider = clusters.session_on(rental.cloud, say=talk).provider
        renting.show_dry_run(order, rental, provider, verbose=self.options.verbose, json=self.options.json)

    def measured(self) -> list[Path]:
        """Ask, rent, measure into `--out`, take down, store the measurements, and return the instruments' files."""
        from planner.clusters.provisioning.cluster_lifecycle import begin
        from planner.clusters.runs.instrument_rounds import measure_fleet

        out, session = self.options.out, session_with_ssh(self._rental, say=talk)
        order = self._order(is_dry_run=False)
        architecture = architecture_of(self._rental.cloud, str(self.options.instance))
        limits = self._rental.limits
        order, places = clusters.confirm_order(
            order, session.provider, limits, confirm=renting.asking(yes=self.options.yes), say=talk
        )
        with wheels(self.options.wheelhouse, architecture=architecture, say=talk) as packed:
            out.mkdir(parents=True, exist_ok=True)
            with orderly_end():
                keyed, directory = begin(order, places, month_usd=limits.month_usd)
                with directory.lock():
                    paths, place = measure_fleet(
                        self._task, keyed, places, directory, session, wheelhouse=packed, results=out
                    )
        self._remember(paths, place, order.run)
        return paths

    @cached_property
    def _rental(self) -> RentalOptions:
        return renting.rental_of(self.asked | {"cloud": self.options.cloud})

    @property
    def _task(self) -> FleetTask:
        from planner.clusters.runs.instrument_rounds import FleetTask

        options = self.options
        return FleetTask(
            effort=effort_of(options.seconds or _RUN_S, options.size),
            nodes=options.nodes,
            rounds=options.repeats,
            over_s=amount("--over", parse_duration, options.over) if options.over else 0.0,
            seed=options.seed,
        )

    def _order(self, *, is_dry_run: bool) -> Order:
        return clusters.ordered_choices([self._choice()], self._rental, is_dry_run=is_dry_run)

    def _choice(self) -> ClusterOffer:
        from planner.catalog import load_catalog
        from planner.clusters.provisioning.smoke import choice_of_type

        instance = self.options.instance
        if instance is None:
            raise BadInputError("say what to rent: --instance i4i.4xlarge", code="missing-argument")
        catalog = load_catalog(self._rental.cloud)
        self._check_disks(catalog, instance)
        volumes, usd_per_hour = self._volumes(catalog)
        return choice_of_type(
            catalog,
            instance,
            regions=self._rental.regions or (catalog.default_region,),
            nodes=self.options.nodes,
            seconds=self._task.expected_s,
            volumes=volumes,
            volume_usd_per_hour=usd_per_hour,
        )

    def _check_disks(self, catalog: Catalog, instance: str) -> None:
        row, volume = catalog.instances.rows.get(instance), self.options.volume
        if row is None:
            return
        disks = catalog.instances.local_disks[row]
        if volume and disks >= 1:
            raise BadInputError(
                f"--volume {volume}: {instance} has local disks",
                ["they would be measured with the volumes: name a type without"],
                code="not-applicable",
            )
        if not volume and disks == 0:
            raise BadInputError(
                f"--instance {instance}: it has no local disks; say --volume gp3 to measure volumes",
                code="no-local-disks",
            )

    def _volumes(self, catalog: Catalog) -> tuple[VolumeOrder | None, float]:
        """Return each machine's volumes, with the performance that comes with their size, and their price per hour."""
        from planner.clouds.order import VolumeOrder
        from planner.cost_model.volumes.volume_sizes import Unsuitable, sized

        volume, count, size = self.options.volume, self.options.count, self.options.volume_size
        if volume is None:
            return None, 0.0
        types = catalog.volume_types
        if volume not in types:
            raise BadInputError(
                f"--volume {volume}: not among {', '.join(types)}.{nearest(volume, list(types))}", code="unknown-word"
            )
        of_one = sized(
            types[volume], iops=0.0, bytes_per_s=0.0, data_bytes=float(amount("--volume-size", parse_size, size))
        )
        if isinstance(of_one, Unsuitable):
            raise BadInputError(f"--volume {volume} of {size}: {of_one.reason}", code="out-of-range")
        order = VolumeOrder(volume_type=volume, count=count, size_gib=of_one.size_gib, mibps_each=1)
        return order, count * of_one.usd_per_month / catalog.hours_per_month

    def _remember(self, paths: list[Path], place: Place, run: str) -> None:
        from planner.clusters.runs.instrument_rounds import fleet_measurements
        from planner.stores.measurements import store

        try:
            rows = fleet_measurements(
                paths,
                place,
                run=run,
                instance_type=str(self.options.instance),
                volume_type=self.options.volume,
                volumes=self.options.count if self.options.volume else None,
            )
            stored = store(rows, catalog=self._rental.cloud)
        except PlannerError as error:
            talk(f"measurements not stored: {error.message}")
            return
        talk(f"{len(rows)} measurements stored in {stored.path}; they override the shipped figures of the next plan")
