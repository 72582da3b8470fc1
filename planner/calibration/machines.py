"""Machine types by their specifications; names are only keys. Usual figures replace missing ones, which are counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.calibration.history import Records, as_number, records
from planner.errors import BadInputError

BURST_SHARE: Final = 0.2
"""Sustained network rate = baseline^0.8 burst^0.2: CloudSort 2022 held 1.2 times its baseline for 90 minutes (arXiv
2301.03734).
"""

USUAL_CLOCK_GHZ: Final = 2.5
USUAL_MEMORY_GB_PER_CORE: Final = 4.0
USUAL_DISK_GB_PER_S: Final = 0.125
"""Volume rate of c4.2xlarge and m4.2xlarge, 1000 Mbit/s; most cloud volumes are sized by order, not by cores."""
USUAL_NETWORK_GB_PER_S_PER_CORE: Final = 0.03
"""Mean of c4 and m4 per core, 2.5 and 1 Gbit/s for 8 cores, rounded."""


_USUAL_CORES: Final = 8


def usual_stream_rate(stream: str) -> float:
    """Return the limit of one stream on a usual machine of eight cores.

    GHz for `core`, core GHz for `node`, GB/s for a device, else 1.
    """
    rates = {
        "core": USUAL_CLOCK_GHZ,
        "node": USUAL_CLOCK_GHZ * _USUAL_CORES,
        "disk": USUAL_DISK_GB_PER_S,
        "network": USUAL_NETWORK_GB_PER_S_PER_CORE * _USUAL_CORES,
    }
    return rates.get(stream, 1.0)


@dataclass(frozen=True, kw_only=True)
class NodeSpec:
    """One node of a type. `filled_in` names the figures missing from its specification; an unknown price is NaN. A
    machine that costs nothing is not rented, and its number is limited to those that ran.
    """

    cores: float
    clock_ghz: float
    memory_gb: float
    disk_gb_per_s: float
    network_gb_per_s: float
    price_usd_per_hour: float
    filled_in: tuple[str, ...] = ()
    is_rented: bool = True

    @property
    def usable_gb(self) -> float:
        """Memory for cached blocks and tasks by Spark's rule: 60% of the heap less 300 MB, where the heap is the 80% of
        a node that YARN allocates, less a tenth of overhead.
        """
        return max(0.6 * (0.9 * 0.8 * self.memory_gb - 0.3), 0.0)

    @property
    def unknown_specs(self) -> float:
        """Number of figures filled in; a clock counts a quarter, since rented cores run at 2.3-3.6 GHz."""
        return sum(0.25 if figure == "clock_ghz" else 1.0 for figure in self.filled_in)


def read_specs(instances: Mapping[str, Mapping[str, Any]] | Records) -> dict[str, dict[str, Any]]:
    """Return the rows of a specification table by type.

    `instances` is a mapping of type to columns, or a table with a column `type` (or `instance_type`). Raises
    BadInputError without such a column, and for a repeated type.
    """
    if isinstance(instances, Mapping):
        return {str(name): dict(row) for name, row in instances.items()}
    rows = records(instances)
    names = [row.get("type", row.get("instance_type")) for row in rows]
    if None in names:
        raise BadInputError(
            f"machine specifications: row {names.index(None) + 1} lacks the column type", code="missing-column"
        )
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise BadInputError(f"machine specifications: more than one row for {', '.join(twice)}", code="repeated")
    return {str(name): row for name, row in zip(names, rows, strict=True)}


SPEC_COLUMNS: Final = (
    "vcpu", "ghz", "mem_gib", "nvme_r_MBps", "nvme_w_MBps", "ebs_mbps", "net_base_gbps", "net_burst_gbps",
    "price_usd_h",
)  # fmt: skip
"""Columns of a specification; a table of runs with `vcpu` may have them in each row."""


def machine(name: str, spec: Mapping[str, Any]) -> NodeSpec:
    """Return the machine of a row of specifications.

    Columns: `vcpu` (required); `ghz`, `mem_gib`; `nvme_r_MBps` and `nvme_w_MBps` of all local disks, or `ebs_mbps`
    (Mbit/s) of the volume link; `net_base_gbps`, `net_burst_gbps`; `price_usd_h`. A blank or 0 is unknown. Raises
    BadInputError without a positive `vcpu`.
    """
    cores = _figure(spec, "vcpu")
    if cores is None:
        raise BadInputError(
            f"machine type {name!r}: its specification needs a positive vcpu, not {spec.get('vcpu')!r}",
            code="out-of-range",
        )
    figures = {
        "clock_ghz": (_figure(spec, "ghz"), USUAL_CLOCK_GHZ),
        "memory_gb": (_figure(spec, "mem_gib"), USUAL_MEMORY_GB_PER_CORE * cores),
        "disk_gb_per_s": (_disk_rate(spec), USUAL_DISK_GB_PER_S),
        "network_gb_per_s": (_network_rate(spec), USUAL_NETWORK_GB_PER_S_PER_CORE * cores),
    }
    price = _figure(spec, "price_usd_h")
    return NodeSpec(
        cores=cores,
        price_usd_per_hour=float("nan") if price is None else price,
        is_rented=as_number(spec.get("price_usd_h")) != 0,
        filled_in=tuple(key for key, (stated, _) in figures.items() if stated is None),
        **{key: default if stated is None else stated for key, (stated, default) in figures.items()},
    )


def _figure(spec: Mapping[str, Any], column: str) -> float | None:
    number = as_number(spec.get(column))
    return number if number is not None and 0 < number < math.inf else None


def _disk_rate(spec: Mapping[str, Any]) -> float | None:
    """Return the alternating read and write rate: of local disks if there are any, else of the volume link."""
    read, write, link = (_figure(spec, column) for column in ("nvme_r_MBps", "nvme_w_MBps", "ebs_mbps"))
    if read and write:
        return 2 / (1000 / read + 1000 / write)
    return link / 8000 if link else None


def _network_rate(spec: Mapping[str, Any]) -> float | None:
    base, burst = _figure(spec, "net_base_gbps"), _figure(spec, "net_burst_gbps")
    if base is None:
        return None
    return base / 8 * math.pow(max(1.0, (burst or base) / base), BURST_SHARE)
