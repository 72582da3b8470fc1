"""Types grouped by their resources per virtual CPU: the sizes of one shape differ in size only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.arrays import Floats, Rows
from planner.catalog.catalog import Catalog

if TYPE_CHECKING:
    import pandas as pd

MEMORY_STEP: Final = 1.15
"""Ratio below which memory per virtual CPU is equal: large sizes keep some of it for the hypervisor."""
DISK_STEP: Final = 1.5
"""Ratio below which local disk per virtual CPU is equal: disks come whole, cores do not."""

_NOT_BY_VCPU: Final = re.compile(
    r"(g|gr|p|inf|trn|dl|vt|f|t)\d|mac|Standard_[NB]|(a\d|g\d|ct\d\w*|tpu\w*)-|e2-(micro|small|medium)|[fg]1-"
)
"""Types whose price and rates do not follow their virtual CPUs: they include accelerators or share a core."""

_CONSTRAINED: Final = re.compile(r"Standard_[A-Z]+(\d+)-\d+")
"""Azure's sizes with fewer virtual CPUs than the machine; memory and price are the machine's."""

_SIZE: Final = re.compile(r"\.metal-(\d+)xl|\.(\d+)xlarge|(?<=[A-Z])(\d+)(?:-\d+)?(?=[a-z]*(?:_|$))|-(\d+)(?=-|$)")
_UNIT_SIZES: Final = re.compile(r"\.(xlarge|large|medium|small|micro|nano|metal)$")


def shapes(catalog: Catalog) -> pd.DataFrame:
    """Return a row for each type of instances.csv: its resources, line, `shape`, and `series`.

    Types with added disks are left out, since they are computed from checked rows. `by_vcpu` is False if neither price
    nor rates follow the virtual CPUs. `named_size` is the number in the type's name, NaN without one.
    """
    import pandas as pd

    table = catalog.tables["instances"]
    names = ("instance_type", "family", "vcpu", "cores", "memory_bytes", "local_disks", "local_disk_bytes")
    merged = ("network_baseline_bytes_per_s", "volume_bytes_per_s", "volume_iops")
    types = pd.DataFrame({name: table[name] for name in names})
    types["previous"] = ~table["current_generation"]
    types["line"] = list(table.lines)
    types = types.assign(**{name: getattr(catalog.instances, name) for name in merged})
    if catalog.manifest.network_ceilings:  # sizes are compared as the cloud states them
        types[merged[0]] = catalog.instances.network_peak_bytes_per_s
    types = types[~types.instance_type.str.contains("+", regex=False)].reset_index(drop=True)
    machine = types.instance_type.str.extract(_CONSTRAINED, expand=False).astype(float)
    types["machine_vcpu"] = machine.fillna(types.vcpu)
    types["by_vcpu"] = ~types.instance_type.str.match(_NOT_BY_VCPU)
    disk_bytes = (types.local_disks * types.local_disk_bytes).fillna(0) / types.machine_vcpu
    memory = _steps(types.memory_bytes / types.machine_vcpu, MEMORY_STEP)
    types["shape"] = types.family + "/" + memory + "/" + _steps(disk_bytes, DISK_STEP)
    types["series"] = types.instance_type.str.replace(_UNIT_SIZES, "#", regex=True).str.replace(_SIZE, "#", regex=True)
    types["shape"] = types["shape"].fillna(types.family + "/" + types.series)  # memory is unknown
    found = [_SIZE.search(name) for name in types.instance_type]
    types["named_size"] = [float(next(filter(None, match.groups()))) if match else np.nan for match in found]
    return types


def _steps(values: pd.Series, ratio: float) -> pd.Series:
    """Return each value's step on a geometric ladder, as text; values within a step count as equal."""
    with np.errstate(divide="ignore"):
        return (np.log(values) / np.log(ratio)).round().astype(str)


def groups_of(keys: pd.Series) -> Iterator[Rows]:
    """Yield the positions of the rows of each key."""
    yield from (np.asarray(rows) for rows in keys.groupby(keys.to_numpy()).indices.values())


def rows_at(table: pd.DataFrame, positions: Rows) -> Iterator[Any]:
    """Yield the rows at some positions; pandas takes milliseconds even if there are none."""
    if len(positions):
        yield from table.iloc[positions].itertuples()


def most_common(values: Floats, *, within: float = 1.05) -> float:
    """Return the value that most values lie within 5% of; of two, the lower; NaN if all are unknown."""
    known = np.sort(values[np.isfinite(values)])
    if not len(known):
        return np.nan
    steps = np.log(known)
    near = (np.abs(steps[:, None] - steps[None, :]) <= np.log(within)).sum(axis=1)
    return float(known[near.argmax()])
