"""A trial with two small machines for some minutes, to check that a cloud answers every request needed for renting."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

import numpy as np

from planner.catalog import Catalog, load_catalog
from planner.clouds.cloud_errors import NoCapacityError, QuotaExceededError
from planner.clouds.order import ClusterOffer, Order, VolumeOrder, added_disks
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import BadInputError, InfeasibleError, LeftBehindError, PlannerError, nearest
from planner.schemas.plan import ADDRESS_LINE, ROOTS_LINE, BillLine
from planner.units import count_text


def choice_of_type(
    catalog: Catalog,
    instance: str,
    *,
    regions: Sequence[str],
    nodes: int,
    seconds: float,
    volumes: VolumeOrder | None = None,
    volume_usd_per_hour: float = 0.0,
) -> ClusterOffer:
    """Return `nodes` machines for `seconds`, at the first region's price, each with `volumes` at that price a node.

    Raises BadInputError for an unknown type or region, and for one without a price.
    """
    instances = catalog.instances
    if instance not in instances.rows:
        hint = nearest(instance, list(instances.rows))
        raise BadInputError(
            f"--instance {instance}: the catalog {catalog.name} has no such type.{hint}", code="unknown-type"
        )
    row = instances.rows[instance]
    usd = float(catalog.prices(regions[0]).price_usd_per_hour[row])
    if math.isnan(usd):
        raise BadInputError(
            f"--instance {instance}: its price in {regions[0]} is unknown; name another --region", code="no-price"
        )
    of_all = nodes * (usd + volume_usd_per_hour)
    return ClusterOffer(
        instance_type=str(instances.cloud_type[row]),
        regions=tuple(regions),
        nodes=nodes,
        spares=0,
        placement_group=bool(instances.placement_group[row]),
        price_usd_per_hour=usd,
        usd_per_hour=of_all,
        expected_s=seconds,
        bill=_bill(catalog, of_all, nodes=nodes, seconds=seconds),
        volumes=volumes,
        local_disks=added_disks(instance),
        head_usd_per_hour=usd,
    )


def _bill(catalog: Catalog, usd_per_hour: float, *, nodes: int, seconds: float) -> tuple[BillLine, ...]:
    """Return the lines of machines without a plan: themselves, and what a launch pays for beside them."""
    lines = [BillLine(name="job", time_s=seconds, usd=usd_per_hour * seconds / 3600)]
    if launched := catalog.manifest.launched:
        root, address = launched.usd_per_hour(catalog.manifest.hours_per_month)
        for name, usd in ((ROOTS_LINE, nodes * root), (ADDRESS_LINE, address)):
            lines.append(BillLine(name=name, time_s=None, usd=None if math.isnan(usd) else usd * seconds / 3600))
    return tuple(lines)


MINUTES: Final = 15.0
MOST_USD: Final = 1.0
_MACHINES: Final = 2
_LEAST_MEMORY_BYTES: Final = 8 * 2**30
_SPOT_ROUND: Final = 1000
Answer = TypeVar("Answer")


def small_choice(cloud: str, *, region: str | None, instance: str | None) -> ClusterOffer:
    """Return two machines of the cheapest type with local disks, or of `instance`, for a quarter of an hour.

    Raises BadInputError for an unknown type or region, InfeasibleError when the machines cost more than MOST_USD.
    """
    catalog = load_catalog(cloud)
    region = region or catalog.default_region
    if instance is None:
        prices, instances = catalog.prices(region).price_usd_per_hour, catalog.instances
        fits = (instances.local_disks >= 1) & (instances.memory_bytes >= _LEAST_MEMORY_BYTES) & np.isfinite(prices)
        instance = str(instances.instance_type[int(np.argmin(np.where(fits, prices, np.inf)))])
    choice = choice_of_type(catalog, instance, regions=(region,), nodes=_MACHINES, seconds=60 * MINUTES)
    if not choice.total_usd <= MOST_USD:
        raise InfeasibleError(
            f"{_MACHINES} x {instance} cost ${choice.total_usd:.2f}, over ${MOST_USD:.2f}", code="over-budget"
        )
    return replace(choice, expected_s=choice.expected_s / 2)  # the other half is for other zones


@dataclass(frozen=True, kw_only=True)
class Step:
    """A kind of request: whether all went well, its result, and its duration."""

    name: str
    ok: bool
    text: str
    seconds: float


@dataclass(kw_only=True)
class Smoke:
    """One trial; `steps` grows with each request tried, and `usd` is the cost of its machines."""

    session: ProviderSession
    steps: list[Step]
    usd: float = 0.0

    def run(self, order: Order, places: Sequence[Place], *, month_usd: float | None = None) -> None:
        """Launch, look at the machines, end one, request a spot one, and take all down. Raises LeftBehindError."""
        keyed, directory = begin(order, places, month_usd=month_usd)
        with directory.lock():
            cluster = self.try_step("launch", lambda: up(keyed, places, directory, self.session), _launched_text)
            if cluster is None:
                return
            try:
                self._list_leftovers(keyed, cluster, directory)
            finally:
                removed = self.try_step("take down", lambda: down(directory, self.session), "{} resources".format)
                self.try_step(
                    "find nothing",
                    lambda: self._check_nothing_left(order, cluster.place.region),
                    lambda _: "nothing is left",
                )
                self.usd = bill_of(directory.events(), now=datetime.now(UTC)).usd
            if removed is None:
                raise LeftBehindError(f"run {order.run}: something may be left; planner cluster down {order.run}")

    def _list_leftovers(self, order: Order, cluster: Cluster, directory: RunDirectory) -> None:
        provider, worker = self.session.provider, cluster.nodes[-1]
        self.try_step("read consoles", lambda: self._console(cluster), "{} host keys".format)
        self.try_step("end a machine", lambda: provider.terminate([worker]), lambda _: worker.id)
        directory.note("ended", nodes=[worker.id])
        self.try_step("launch a spot machine", lambda: self._spot(order, cluster, directory), str)
        self.try_step("list regions", provider.regions, lambda names: count_text(len(names), "region"))

    def _console(self, cluster: Cluster) -> int:
        """Return the number of host keys on the head's console, as soon as it shows any."""
        keys: tuple[str, ...] = ()
        for _ in self.session.policy.polls(min(120.0, self.session.policy.join_s / 10)):
            if keys := self.session.provider.host_keys(cluster.head):
                break
        return len(keys)

    def _spot(self, order: Order, cluster: Cluster, directory: RunDirectory) -> str:
        """Request a spot machine; a lack of capacity or quota is a valid answer, too."""
        place = replace(cluster.place, choice=replace(cluster.place.choice, pricing="spot"))
        try:
            self.session.provider.launch(order, place, directory, machines=1, head=False, round=_SPOT_ROUND)
        except (NoCapacityError, QuotaExceededError) as refusal:
            return f"none to be had: {refusal.message}"
        return "asked for"

    def _check_nothing_left(self, order: Order, region: str) -> None:
        provider = self.session.provider
        kinds = [resource_kind for stage in provider.stages for resource_kind in stage]
        account = Reconciliation(provider=provider, run=order.run, policy=self.session.policy)
        if left := account.list_existing(kinds, region=region):
            raise LeftBehindError("left behind", [resource.text for resource in left])

    def try_step(self, name: str, call: Callable[[], Answer], text: Callable[[Answer], str]) -> Answer | None:
        """Do a step, record it, and return its result; None if it failed."""
        began, outcome = time.monotonic(), None
        try:
            outcome = call()
            ok, told = True, text(outcome)
        except PlannerError as error:
            ok, told = False, "; ".join([error.message, *error.details])
        self.steps.append(Step(name=name, ok=ok, text=told, seconds=time.monotonic() - began))
        self.session.say(f"{'ok' if ok else 'NO':<3} {name}: {told}")
        return outcome


def _launched_text(cluster: Cluster) -> str:
    return f"{count_text(len(cluster.nodes), 'machine')} in {cluster.place.zone or cluster.place.region}"
