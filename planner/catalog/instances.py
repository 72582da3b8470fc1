"""All instance types of a catalog as aligned arrays, the limits of their block volumes, and bare metal.

Limits come from instances.csv, and from volume_limits.csv where that is blank: a row of instances.csv has one evidence,
that of the shape, and a limit may have stronger or weaker evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Final

import numpy as np

from planner.arrays import Days, Flags, Floats, Rows, Texts
from planner.catalog.tables import Table
from planner.errors import BadInputError, nearest


@dataclass(frozen=True, kw_only=True, eq=False)
class Instances:
    """The columns of instances.csv, row i of each being type i. Unknown numbers are NaN, unknown texts ''."""

    instance_type: Texts
    family: Texts
    arch: Texts
    vcpu: Floats
    cores: Floats
    memory_bytes: Floats
    local_disks: Floats
    local_disk_bytes: Floats
    local_disk_kind: Texts
    network_baseline_bytes_per_s: Floats
    network_peak_bytes_per_s: Floats
    volume_bytes_per_s: Floats
    volume_peak_bytes_per_s: Floats
    volume_iops: Floats
    volumes_max: Floats
    volume_link: Texts
    power_w: Floats
    machines: Floats
    placement_group: Flags
    current_generation: Flags
    evidence: Texts
    source: Texts
    as_of: Days
    where: str = field(default="the catalog", metadata={"column": False})
    """Name of the catalog in error messages."""

    @classmethod
    def from_table(cls, table: Table, *, where: str) -> Instances:
        """Return the instances of a table read with the INSTANCES schema."""
        names = (f.name for f in fields(cls) if f.metadata.get("column", True))
        return cls(**{name: table[name] for name in names}, where=where)

    def __len__(self) -> int:
        return len(self.instance_type)

    def index(self, instance_type: str) -> int:
        """Return the row of a type. Raises BadInputError with the nearest names if the catalog lacks it."""
        row = self.rows.get(instance_type)
        if row is None:
            hint = nearest(instance_type, list(self.rows))
            raise BadInputError(f"unknown instance type {instance_type!r} in {self.where}.{hint}", code="unknown-type")
        return row

    @cached_property
    def names(self) -> list[str]:
        """The types' names as Python strings."""
        return list(self.instance_type.tolist())

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """The row of each type."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def cloud_type(self) -> Texts:
        """The cloud's name of each type: with added disks (`n2-standard-32+8x375GB`), the part before the plus."""
        return np.array([name.partition("+")[0] for name in self.instance_type.tolist()], dtype=np.str_)

    @cached_property
    def offered_row(self) -> Rows:
        """The row of each type as its cloud offers it: its own except for types at a bandwidth weighting."""
        return np.array([self.rows[split_weighting(name)[0]] for name in self.names], dtype=np.intp)


FOR_VOLUMES: Final = "ebs-1"
WEIGHTINGS: Final = ("vpc-1", FOR_VOLUMES)
"""EC2's names of the options at launch: more bandwidth for the network, or for volumes."""


def split_weighting(name: str) -> tuple[str, str]:
    """Return a type's name without its bandwidth weighting, and the weighting: '' is the cloud's default."""
    offered, _, last = name.rpartition("+")
    return (offered, last) if last in WEIGHTINGS else (name, "")


def weighted_name(name: str, weighting: str) -> str:
    """Return the name of a type at a bandwidth weighting; `split_weighting` undoes it."""
    return f"{name}+{weighting}" if weighting else name


HANDICAP: Final = 1.005
"""Factor by which bare metal must be better than another type to be preferred: its launch time is hardly measured. The
launches of SpareCores' inspector behind the catalogs have 3 of bare metal, of two types of EC2.
"""


def is_bare_metal(instance_type: str) -> bool:
    """Return whether a type is a whole machine: i4i.metal, c6gd.metal-48xl, z3-highmem-192-metal, BM.DenseIO.E5.128."""
    return "metal" in instance_type.lower() or instance_type.startswith("BM.")


def handicap(instance_type: str) -> float:
    """Return the factor that a type's time and cost are multiplied by when clusters are ranked."""
    return HANDICAP if is_bare_metal(instance_type) else 1.0


FIELDS: Final = ("volume_bytes_per_s", "volume_peak_bytes_per_s", "volume_iops", "volumes_max")


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeLimits:
    """Limits of every type, each of shape (T,), NaN if no source states one; `evidence` is that of the rate."""

    volume_bytes_per_s: Floats
    volume_peak_bytes_per_s: Floats
    volume_iops: Floats
    volumes_max: Floats
    evidence: Texts


def volume_limits(instances: Table, limits: Table) -> VolumeLimits:
    """Return the limits of every row of instances.csv; a type with added disks has those of the cloud's type."""
    row_of = {name: row for row, name in enumerate(limits["instance_type"].tolist())}
    names = [name.partition("+")[0] for name in instances["instance_type"].tolist()]
    rows = np.array([row_of.get(name, -1) for name in names], dtype=int)
    listed = {name: instances[name] for name in FIELDS}
    further = {name: np.where(rows >= 0, np.append(limits[name], np.nan)[rows], np.nan) for name in FIELDS}
    blank = np.isnan(listed["volume_bytes_per_s"]) & (rows >= 0)
    stated = np.append(limits["evidence"], "")[rows]
    return VolumeLimits(
        **{name: np.where(np.isnan(listed[name]), further[name], listed[name]) for name in FIELDS},
        evidence=np.where(blank, stated, instances["evidence"]),
    )
