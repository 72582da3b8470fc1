"""Platforms that run Spark: their charge, their cloud, and the memory that they leave executors on a node."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.config.paths import catalogs_directory
from planner.spark.model.machines import Nodes

_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class SparkPlatform:
    """A platform's rates, None if unknown; `on_top` is whether the machines are paid for as well. At least `minimum_s`
    are charged; a cluster takes work after `startup_s`, as `startup_source` states. `cloud` is '' for several.

    Of a node's memory it keeps `kept_mib`, and of the memory up to each number of GiB in `kept_shares` a share; an
    application master takes `master_mib` of the rest. `overhead` is an executor's memory beside its heap, as a share of
    the heap. `types` are patterns of the machine types that it documents, none where only an account can list them. A
    cluster has at least `nodes_min` workers, as `nodes_source` states.
    """

    platform: str
    on_top: bool = True
    as_of: str = ""
    source: str = ""
    evidence: str = ""
    share_of_on_demand: float | None = None
    most_usd_per_node_hour: float | None = None
    usd_per_vcpu_hour: float | None = None
    usd_per_gib_hour: float | None = None
    usd_per_dbu: float | None = None
    minimum_s: float = 0.0
    startup_s: float | None = None
    startup_source: str = ""
    cloud: str = ""
    kept_mib: float = 0.0
    kept_shares: tuple[tuple[float, float], ...] = ((math.inf, 0.2),)
    master_mib: float = 0.0
    overhead: float = 0.1
    types: tuple[str, ...] = ()
    types_source: str = ""
    nodes_min: int = 1
    nodes_source: str = ""
    memory_source: str = "assumed: the system and the daemons take a fifth"

    @property
    def charges(self) -> bool:
        """Whether the platform has a charge of its own, at a known rate or not."""
        return self.has_rates or self.usd_per_dbu is not None

    def cost_usd(self, nodes: Nodes, *, seconds: float) -> float:
        """Return what nodes cost for `seconds`: their price with the fee, or the fee where that is all one pays; NaN
        if this type's fee is unknown. A fee that is unknown for all types is left out, as on machines of another cloud.
        """
        rent_usd = nodes.usd_per_hour * seconds / 3600
        if not self.has_rates or not self.is_in(nodes.machine.cloud):
            return rent_usd
        return self.usd(nodes, seconds=seconds) + (rent_usd if self.on_top else 0.0)

    def is_in(self, cloud: str) -> bool:
        """Return whether the platform runs on a cloud's machines."""
        return self.cloud in ("", cloud)

    @property
    def has_rates(self) -> bool:
        """Whether the rates of its charge are known."""
        return self.share_of_on_demand is not None or self.usd_per_vcpu_hour is not None

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

    def accepts(self, machine_type: str, *, cloud: str) -> bool:
        """Return whether the platform documents the type, or documents no list of this cloud."""
        pattern = "|".join(self.types if cloud == self.cloud else ()) or ".*"
        return re.fullmatch(pattern, machine_type.partition("+")[0]) is not None

    def free_mib(self, memory_bytes: float) -> float:
        """Return the memory that executors may ask for on a node with an application master; NaN if it is unknown."""
        kept, below = self.kept_mib + self.master_mib, 0.0
        for up_to_gib, share in self.kept_shares:
            kept += share * max(0.0, min(memory_bytes / _MIB, up_to_gib * 1024) - below)
            below = up_to_gib * 1024
        return memory_bytes / _MIB - kept


@lru_cache(maxsize=1)
def shipped_platforms() -> dict[str, SparkPlatform]:
    """Return the shipped platforms, by name."""
    tables, lists = (
        tomllib.loads((catalogs_directory() / file).read_text(encoding="utf-8"))
        for file in ("platforms.toml", "platform_types.toml")
    )
    documented = {name: {"types": tuple(of["types"]), "types_source": of["source"]} for name, of in lists.items()}
    return {name: SparkPlatform(platform=name, **table, **documented.get(name, {})) for name, table in tables.items()}


def platform_called(name: str) -> SparkPlatform:
    """Return a shipped platform; for any other name one with the usual memory and an unknown fee."""
    return shipped_platforms().get(name) or SparkPlatform(platform=name)
