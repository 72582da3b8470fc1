"""Fees of platforms for running an application, on top of its machines' price or in place of it."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache

from planner.config.paths import catalogs_directory
from planner.spark.model.machines import Nodes

_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class PlatformFee:
    """A platform's rates, None if unknown; `on_top` is whether the machines are paid for as well. At least `minimum_s`
    are charged; a cluster takes work after `startup_s`, as `startup_source` states.
    """

    platform: str
    on_top: bool
    as_of: str
    source: str
    evidence: str
    share_of_on_demand: float | None = None
    most_usd_per_node_hour: float | None = None
    usd_per_vcpu_hour: float | None = None
    usd_per_gib_hour: float | None = None
    usd_per_dbu: float | None = None
    minimum_s: float = 0.0
    startup_s: float | None = None
    startup_source: str = ""

    def usd(self, nodes: Nodes, *, seconds: float) -> float:
        """Return the fee of nodes for `seconds`, NaN if unknown."""
        machine = nodes.machine
        usd_per_node_hour = self.usd_per_node_hour(
            vcpus=machine.vcpu, memory_bytes=machine.memory_bytes, on_demand_usd_per_hour=machine.on_demand_usd_per_hour
        )
        return nodes.count * usd_per_node_hour * max(seconds, self.minimum_s) / 3600

    def usd_per_node_hour(self, *, vcpus: int, memory_bytes: float, on_demand_usd_per_hour: float) -> float:
        """Return the fee of one node, NaN if unknown."""
        if self.share_of_on_demand is not None:
            return min(self.share_of_on_demand * on_demand_usd_per_hour, self.most_usd_per_node_hour or math.inf)
        if self.usd_per_vcpu_hour is None:
            return math.nan
        return vcpus * self.usd_per_vcpu_hour + memory_bytes / _GIB * (self.usd_per_gib_hour or 0.0)


@lru_cache(maxsize=1)
def shipped_fees() -> dict[str, PlatformFee]:
    """Return the shipped fees, by platform."""
    tables = tomllib.loads((catalogs_directory() / "platform_fees.toml").read_text(encoding="utf-8"))
    return {name: PlatformFee(platform=name, **table) for name, table in tables.items()}
