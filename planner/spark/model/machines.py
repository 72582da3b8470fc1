"""Machine types as an application sees them: speed of a core, memory, network, disk and price."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import Catalog
from planner.catalog.shipped_tables import measured_clocks_ghz
from planner.cost_model.prices import Offer
from planner.errors import BadInputError

_RAN_ON: Final = re.compile(
    r"\s*([\w.+-]+?)(?:\s*[x*×]\s*(\d+))?\s*|\s*(\d+)(?:\s*[x*×]\s*|\s+(?=\S*[\d._-]))([\w.+-]+?)\s*"
)


@dataclass(frozen=True, kw_only=True)
class NodeType:
    """One node of a type. NaN is unknown. `siblings` share a core; `clock_ghz` is the measured speed of one core alone
    (`planner.catalog.shipped_tables`). `cpu_share` is the share of each virtual CPU's time within a container's limit,
    None without a limit. `disk_bytes_per_s` is of its local disks, else of volumes at the rates included in their
    price, within the link; `disk_ops_per_s` is of these volumes.
    """

    cloud: str
    instance_type: str
    arch: str
    vcpu: int
    siblings: bool
    clock_ghz: float
    memory_bytes: float
    network_bytes_per_s: float
    disk_bytes_per_s: float
    price_usd_per_hour: float
    on_demand_usd_per_hour: float = math.nan
    local_disks: int = 0
    disk_ops_per_s: float = math.nan
    cpu_share: float | None = None
    region: str = ""

    def speed(self, busy: Floats, *, sibling_share: float) -> Floats:
        """Return the speed of a slot in GHz when a share `busy` of all slots computes: siblings slow each other once
        there are more tasks than cores. The speed of all slots together scales with a core's speed to a power that
        depends on the work, from 0.4 for copies in memory to 0.9 for sorting (benchmarks/results/spark.toml).
        """
        crowded = np.clip(2 * busy - 1, 0.0, 1.0) if self.siblings else np.zeros_like(busy)
        return np.asarray(self.clock_ghz * (1 - sibling_share * crowded))


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """A number of nodes of one type: how a cluster is given."""

    machine: NodeType
    count: int

    @property
    def name(self) -> str:
        """Return `4 x m5.4xlarge`."""
        return f"{self.count} x {self.machine.instance_type}"

    @property
    def usd_per_hour(self) -> float:
        """The price of all nodes."""
        return self.count * self.machine.price_usd_per_hour

    def same_as(self, other: Nodes) -> bool:
        """Return whether both are equally many of the same machines. `==` does not work: an unknown figure is NaN,
        which equals nothing.
        """
        return self._identity == other._identity

    @property
    def _identity(self) -> tuple[object, ...]:
        machine = self.machine
        return self.count, machine.cloud, machine.instance_type, machine.cpu_share


def parse_ran_on(text: str) -> tuple[str, int | None]:
    """Return type and number of nodes in `m5.4xlarge x 4`, `4 x m5.4xlarge` or `4 m5.4xlarge`; the number is optional.

    Raises BadInputError for any other text.
    """
    match = _RAN_ON.fullmatch(text)
    if match is None:
        raise BadInputError(f"--ran-on {text!r}: write it as 'm5.4xlarge x 4'", code="malformed")
    name, count = (match[1], match[2]) if match[1] else (match[4], match[3])
    if count is not None and int(count) < 1:
        raise BadInputError(f"--ran-on {text!r}: a cluster has one node at least", code="out-of-range")
    return name, None if count is None else int(count)


def machines(catalog: Catalog, offer: Offer) -> list[NodeType]:
    """Return every type of a catalog at the prices of a region."""
    instances, clocks = catalog.instances, measured_clocks_ghz(catalog.cloud)
    disks = catalog.disk_rates("write_only").bytes_per_s
    listed = offer.region in catalog.regions("on-demand")
    on_demand = catalog.prices(offer.region, "on-demand").price_usd_per_hour if listed else None
    volume_bytes_per_s, volume_ops_per_s = _volume_rates(catalog)
    made = []
    for row, name in enumerate(instances.names):
        cores, vcpu = instances.cores[row], instances.vcpu[row]
        local = instances.local_disks[row] > 0
        made.append(
            NodeType(
                cloud=catalog.cloud,
                instance_type=name,
                arch=str(instances.arch[row]),
                vcpu=int(vcpu),
                siblings=bool(cores < vcpu) if not np.isnan(cores) else str(instances.arch[row]) != "arm64",
                clock_ghz=clocks.get(name.partition("+")[0], math.nan),
                memory_bytes=float(instances.memory_bytes[row]),
                network_bytes_per_s=float(instances.network_baseline_bytes_per_s[row]),
                disk_bytes_per_s=float(disks[row] if local else volume_bytes_per_s[row]),
                disk_ops_per_s=math.nan if local else float(volume_ops_per_s[row]),
                price_usd_per_hour=float(offer.price_usd_per_hour[row]),
                on_demand_usd_per_hour=math.nan if on_demand is None else float(on_demand[row]),
                local_disks=int(instances.local_disks[row]) if local else 0,
                region=offer.region,
            )
        )
    return made


_EMR_VOLUMES: Final = {"medium": 1, "large": 1, "xlarge": 2}
"""Volumes that EMR gives a node without local disks, by the size of its type; larger ones get four (Amazon EMR
Management Guide, "Default Amazon EBS storage for instances", releases from 5.22.0 on).
"""


def _volume_rates(catalog: Catalog) -> tuple[Floats, Floats]:
    """Return bytes and operations/s of a node's volumes at each type, within the limits of the type; NaN is unknown.

    Logs do not name the volumes. On EC2 they are EMR's; elsewhere there is one, with the rates included in the price,
    if the cloud sells such volumes.
    """
    instances = catalog.instances
    included = [(v.free_bytes_per_s, v.free_iops) for v in catalog.volume_types.values() if v.free_bytes_per_s > 0]
    bytes_per_s, ops_per_s = included[0] if included else (math.nan, math.nan)
    sizes = [name.partition("+")[0].rpartition(".")[2] for name in instances.names]
    count = np.array([_EMR_VOLUMES.get(size, 4) if catalog.cloud == "aws" else 1 for size in sizes])
    return np.fmin(instances.volume_bytes_per_s, bytes_per_s * count), np.fmin(instances.volume_iops, ops_per_s * count)
