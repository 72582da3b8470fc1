"""What a type's block volumes do together at most: instances.csv says it, and volume_limits.csv where that is blank.

The two are apart because a row of instances.csv has one kind of evidence, that of the shape; a limit may be surer, or
less sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Floats, Texts
from planner.catalog.tables import Table

FIELDS: Final = ("volume_bytes_per_s", "volume_peak_bytes_per_s", "volume_iops", "volumes_max")


@dataclass(frozen=True, kw_only=True, eq=False)
class VolumeLimits:
    """Limits of every type, each of shape (T,), NaN where nobody states one; `evidence` is that of the rate."""

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
