"""Virtual CPUs, memory and local disks that contradict the type's name or the other sizes of its series."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.catalog.plausibility.shapes import groups_of, most_common, rows_at
from planner.catalog.plausibility.suspicion import Suspicion

if TYPE_CHECKING:
    import pandas as pd

_DISKS_BY_NAME: Final = re.compile(
    r".*(?<!no)lssd|.*DenseIO|[a-z]+\d+[a-z]*d[a-z]*\.|Standard_[A-Z]+\d+(-\d+)?[a-z]*d[a-z]*(_|$)"
)
"""Names that mean local disks: Google's -lssd, Oracle's DenseIO and the small d of EC2 and Azure (m5d.large,
Standard_D2ds_v5).
"""

_NAMES_ALIKE: Final = 0.8
"""Share of a family whose names must state its virtual CPUs alike for the others to be doubted."""

_SLIPS: Final = {1.048576: "MB and MiB are mixed up", 1.073741824: "GB and GiB are mixed up"}
_EXACT: Final = 0.002
"""Relative difference within which a ratio is that of two units, not of two sizes."""

LEAST_MEMORY_BYTES_PER_VCPU: Final = 100e6
MOST_MEMORY_BYTES_PER_VCPU: Final = 200e9
"""Upper limit; four clouds range from t3.nano's 268 MB to Standard_M128-32ms with 131 GB."""
_MEMORY_RATIO: Final = 1.9
_WHOLE_BYTES: Final = 2**30
"""Vendors round memory to whole GiB."""


def implausible_sizes(types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted cells of instances.csv on a type's size; `types` is that of `shapes`."""
    miscounted = [*_vcpu_by_cores(types), *_vcpu_by_name(types)]
    yield from miscounted
    yield from _memory(types[~types.instance_type.isin([found.instance_type for found in miscounted])])
    yield from _missing_disks(types)
    yield from _disk_units(types)


def _vcpu_by_cores(types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield types whose virtual CPUs per core, 1 or 2, differ from their family's; a single one may be half a core."""
    known = types[types.cores.notna() & (types.vcpu > 1)]
    threads = (known.vcpu / known.cores).to_numpy()
    for rows in groups_of(known.family):
        usual = most_common(threads[rows])
        limits = (usual, usual) if len(rows) > 2 else (1, 2)
        odd = rows[(threads[rows] < limits[0]) | (threads[rows] > limits[1])]
        for row, ratio in zip(rows_at(known, odd), threads[odd], strict=True):
            text = f"{ratio:g} per core, its family has {usual:g}"
            yield _suspicion(row, "vcpu", text, factor=ratio / usual)


def _vcpu_by_name(types: pd.DataFrame) -> Iterator[Suspicion]:
    known = types[types.named_size.notna()]
    ratio = (known.machine_vcpu / known.named_size).to_numpy()
    for rows in groups_of(known.family):
        usual = most_common(ratio[rows], within=1.001)
        alike = np.isclose(ratio[rows], usual)
        if len(rows) > 2 and alike.mean() >= _NAMES_ALIKE:
            for row in rows_at(known, rows[~alike]):
                text = f"by its name, and as in the rest of its family, {usual * row.named_size:g}"
                yield _suspicion(row, "vcpu", text, factor=row.machine_vcpu / row.named_size / usual)


def _memory(types: pd.DataFrame) -> Iterator[Suspicion]:
    known = types[types.memory_bytes.notna()]
    known = known.assign(per=known.memory_bytes / known.machine_vcpu)
    for row in known[~known.per.between(LEAST_MEMORY_BYTES_PER_VCPU, MOST_MEMORY_BYTES_PER_VCPU)].itertuples():
        text = f"{row.per:.3g} bytes per virtual CPU are no memory: another unit than bytes?"
        yield _suspicion(row, "memory_bytes", text)
    for row, usual in _off_series(known[known.by_vcpu]):
        text = f"{row.per / 1e9:.2f} GB per virtual CPU, other sizes of its series have {usual / 1e9:.2f} GB"
        yield _suspicion(row, "memory_bytes", text + _slip(row.per / usual), factor=row.per / usual)


def _off_series(known: pd.DataFrame) -> Iterator[tuple[Any, float]]:
    """Yield the rows with about twice or half the memory of their series, or just off it by the ratio of two units."""
    per = known.per.to_numpy()
    for rows in groups_of(known.series):
        usual = most_common(per[rows], within=1 + _EXACT)
        alike = np.isclose(per[rows], usual, rtol=_EXACT)
        if alike.sum() >= max(3, 0.6 * len(rows)):
            for row in rows_at(known, rows[~alike]):
                ratio = row.per / usual
                rounded = abs(row.memory_bytes - usual * row.machine_vcpu) <= _WHOLE_BYTES
                far = not 1 / _MEMORY_RATIO < ratio < _MEMORY_RATIO
                if row.vcpu > 1 and not rounded and (far or _slip(ratio)):
                    yield row, usual


def _slip(ratio: float) -> str:
    text = [f": {slip}" for size, slip in _SLIPS.items() if abs(max(ratio, 1 / ratio) / size - 1) <= _EXACT]
    return text[0] if text else ""


def _missing_disks(types: pd.DataFrame) -> Iterator[Suspicion]:
    none = types[types.instance_type.str.match(_DISKS_BY_NAME) & (types.local_disks == 0)]
    for row in none.itertuples():
        yield _suspicion(row, "local_disks", "by its name it has local disks")


def _disk_units(types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield types whose disks differ from their family's by the ratio of two units, and so are of the same size."""
    known = types[types.local_disk_bytes.notna()]
    disk_bytes = known.local_disk_bytes.to_numpy()
    for rows in groups_of(known.family):
        sizes, counts = np.unique(disk_bytes[rows], return_counts=True)
        for rare, usual in [(a, b) for a in range(len(sizes)) for b in range(len(sizes)) if counts[b] > 2 * counts[a]]:
            slip = _slip(sizes[rare] / sizes[usual])
            for row in known.iloc[rows[disk_bytes[rows] == sizes[rare]]].itertuples() if slip else ():
                text = f"{counts[usual]} other types of its family have disks of {sizes[usual]:g} bytes{slip}"
                yield _suspicion(row, "local_disk_bytes", text, factor=sizes[rare] / sizes[usual])


def _suspicion(row: Any, column: str, reason: str, *, factor: float = float("nan")) -> Suspicion:
    value = getattr(row, column)
    return Suspicion(
        file="instances",
        line=row.line,
        instance_type=row.instance_type,
        column=column,
        value=f"{value:.12g}",
        reason=reason,
        factor=float(factor),
    )
