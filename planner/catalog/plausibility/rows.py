"""All doubted cells of a catalog, without those that were reviewed and accepted (reviews.csv).

Doubted are rates, virtual CPUs, memory and disks that contradict the type's name, the other sizes of its family or
other sources.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.arrays import Floats
from planner.catalog import region_prices
from planner.catalog.catalog import Catalog
from planner.catalog.columns import DERIVED_SOURCE
from planner.catalog.plausibility.prices import implausible_prices
from planner.catalog.plausibility.shapes import groups_of, most_common, rows_at, shapes
from planner.catalog.plausibility.suspicion import Suspicion
from planner.catalog.plausibility.votes import (
    FURTHER,
    agree,
    cell_of_rate,
    outvoted_networks,
    outvoted_shapes,
    stated_disks,
    unlike_twins,
)
from planner.catalog.tables import Table
from planner.units import format_rate

if TYPE_CHECKING:
    import pandas as pd


_ALIKE: Final = 0.1
"""Largest difference of a factor from the reviewed one: regions and rounding change it less, another error more."""


def implausible_rows(catalog: Catalog) -> list[Suspicion]:
    """Return the doubted cells of a catalog in the order of its files and lines, each once."""
    types = shapes(catalog)
    doubted = [
        *implausible_sizes(types, stated=stated_disks(catalog)),
        *outvoted_shapes(catalog),
        *unlike_twins(catalog, types),
        *implausible_prices(_prices(catalog), types),
        *implausible_rates(catalog, types),
        *outvoted_networks(catalog),
        *wrong_generations(catalog, types),
    ]
    open_ones = not_accepted(catalog, _once(doubted))
    return sorted(open_ones, key=lambda found: (found.file, found.line, found.column))


def _prices(catalog: Catalog) -> pd.DataFrame:
    """Return the prices of all regions."""
    import pandas as pd

    names = ("instance_type", "region", "pricing", "price_usd_per_hour")
    places = [(region, pricing) for pricing in region_prices.FILES for region in catalog.regions(pricing)]
    tables = [catalog.price_rows(region, pricing) for region, pricing in places]
    frames = [
        pd.DataFrame({name: table[name] for name in names}).assign(line=list(table.lines), file=table.path.stem)
        for table in tables
    ]
    return pd.concat(frames) if frames else pd.DataFrame(columns=[*names, "line", "file"])


def _once(doubted: list[Suspicion]) -> Iterator[Suspicion]:
    """Yield each cell once, with all reasons for doubt."""
    cells: dict[tuple[Any, ...], list[Suspicion]] = {}
    for found in doubted:
        key = (found.file, found.line, found.instance_type, found.column, found.region, found.pricing)
        cells.setdefault(key, []).append(found)
    for findings in cells.values():
        yield replace(findings[0], reason="; ".join(dict.fromkeys(found.reason for found in findings)))


def not_accepted(catalog: Catalog, doubted: Iterable[Suspicion]) -> list[Suspicion]:
    """Return the doubted cells that the catalog's reviews do not accept."""
    reviews = list(catalog.tables["reviews"].rows())
    return [found for found in doubted if not any(_is_accepted(found, review) for review in reviews)]


def _is_accepted(found: Suspicion, review: dict[str, Any]) -> bool:
    """Return whether a review accepted this cell with its present deviation."""
    same = found.file.endswith(review["file"]) and (found.column, found.instance_type) == (
        review["column"],
        review["instance_type"],
    )
    place = review["region"] in ("", found.region) and review["pricing"] in ("", found.pricing)
    factor = review["factor"]
    as_far = math.isnan(factor) or abs(found.factor / factor - 1) <= _ALIKE
    return review["verdict"] != "withheld" and same and place and as_far


SLACK: Final = 0.05
"""Largest difference between rounded rates of one size."""
DISK_SLACK: Final = 0.2
"""Largest difference between measured disks of one size."""
SLOW_DISKS: Final = 0.75
FAST_DISKS: Final = 2.0
"""Largest ratio between the rates of one disk and of equal disks in other sizes of the family: disks of Azure's L
series were measured 1.4 times as fast in one size as in another.
"""
MOST_GROWTH: Final = 2.6
"""Largest ratio of a larger size's rate to one in proportion to its size: n1-standard-2 has 5 times the network of
n1-standard-1.
"""
_PAIRS: Final = {
    "instances": (
        ("network_baseline_bytes_per_s", "network_peak_bytes_per_s"),
        ("volume_bytes_per_s", "volume_peak_bytes_per_s"),
    ),
    "network_specs": (("baseline_bytes_per_s", "peak_bytes_per_s"),),
    "volume_limits": (("volume_bytes_per_s", "volume_peak_bytes_per_s"),),
}


def implausible_rates(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted rates of networks, volumes and local disks; `types` is that of `shapes`."""
    sized = types[types.by_vcpu]
    for rate, (file, column) in FURTHER.items():
        known = sized[sized[rate].notna()]
        for row, expected, reason in _off_sizes(known.assign(rate=known[rate], size=known.machine_vcpu), slack=SLACK):
            place = cell_of_rate(catalog, row, rate, file=file, column=column, value=row.rate)
            yield Suspicion(**place, value=_shown(rate, row.rate), reason=reason, factor=row.rate / expected)
    yield from _disk_rates(catalog, types)
    for file, pairs in _PAIRS.items():
        for pair in pairs:
            yield from _above_peak(catalog.tables[file], *pair)


def _off_sizes(rated: pd.DataFrame, *, slack: float) -> Iterator[tuple[Any, float, str]]:
    """Yield the rows out of order, the rate of the nearest size in order, and a description."""
    ordered = rated.sort_values("size", kind="stable").reset_index(drop=True)
    rates, sizes = ordered["rate"].to_numpy(), ordered["size"].to_numpy()
    for rows in groups_of(ordered["shape"]):
        kept = rows[_in_order(rates[rows], sizes=sizes[rows], slack=slack)]
        odd = np.setdiff1d(rows, kept)
        for row in rows_at(ordered, odd):
            near = next(ordered.iloc[[kept[np.abs(kept - row.Index).argmin()]]].itertuples())
            yield row, float(near.rate), _order_text(row, near)


def _in_order(rates: Floats, *, sizes: Floats, slack: float) -> Any:
    """Return the positions of the longest subsequence in which no larger size is slower, nor much faster than its size
    explains; of two, the one that begins with smaller sizes.
    """
    length, before = np.ones(len(rates), int), np.full(len(rates), -1)
    for here in range(len(rates)):
        earlier = np.arange(here)
        growth, room = rates[here] / rates[:here], sizes[here] / sizes[:here]
        fits = earlier[(growth >= 1 - slack) & (growth <= MOST_GROWTH * room)]
        if len(fits):
            best = fits[length[fits].argmax()]
            length[here], before[here] = length[best] + 1, best
    chain = [int(length.argmax())]
    while before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return np.array(chain[::-1])


def _order_text(row: Any, near: Any) -> str:
    larger, slower = row.size > near.size, row.rate < near.rate
    if larger == slower:
        return (
            f"{'slower' if slower else 'faster'} than {near.instance_type}, a {'smaller' if larger else 'larger'} size"
        )
    times, size = row.rate / near.rate, row.size / near.size
    return f"{times:.3g} times the rate of {near.instance_type}, which is {1 / size:.3g} times as large"


def _disk_rates(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the doubted disk rates: more local disk of one family is at least as fast in each mode, equal disks equally
    fast.

    The user's own measurements, which have no line in the file, and computed rates are not doubted.
    """
    import pandas as pd

    table = catalog.tables["disks"]
    names = ("instance_type", "mode", "aggregate", "source", "bytes_per_s", "operations_per_s")
    rows = pd.DataFrame({name: table[name] for name in names}).assign(disk_line=list(table.lines))
    specs = catalog.tables["disk_specs"]
    stated_of = {"read_only": "read_operations_per_s", "write_only": "write_operations_per_s"}
    operations = [
        pd.DataFrame({"instance_type": specs["instance_type"], "mode": mode, "stated_operations": specs[column]})
        for mode, column in stated_of.items()
    ]
    known = rows.merge(types, on="instance_type").merge(pd.concat(operations), on=["instance_type", "mode"], how="left")
    known = known[(known.local_disks > 0) & (known.disk_line > 0)]
    kind = known.family + "/" + known["mode"] + "/" + known["aggregate"]
    known = known.assign(shape=kind, size=known.local_disks * known.local_disk_bytes)
    for column in ("bytes_per_s", "operations_per_s"):
        stated = known[known[column].notna()]
        stated = stated.assign(rate=stated[column])
        odd = (*_off_sizes(stated, slack=DISK_SLACK), *_unequal_disks(stated), *_unlike_specs(stated))
        for row, expected, reason in (found for found in odd if found[0].source != DERIVED_SOURCE):
            yield Suspicion(
                file="disks",
                line=row.disk_line,
                instance_type=row.instance_type,
                column=column,
                value=_shown(column, row.rate),
                reason=f"{row.mode}: {reason}",
                factor=row.rate / expected,
            )


def _unequal_disks(stated: pd.DataFrame) -> Iterator[tuple[Any, float, str]]:
    """Yield the rows whose rate per disk is far from that of equal disks, the rate at theirs, and a description."""
    per_disk = (stated["rate"] / stated.local_disks).to_numpy()
    for rows in groups_of(stated["shape"] + "/" + stated.local_disk_bytes.astype(str)):
        usual = most_common(per_disk[rows], within=1 + DISK_SLACK)
        odd = rows[(per_disk[rows] < usual * SLOW_DISKS) | (per_disk[rows] > usual * FAST_DISKS)]
        for row in rows_at(stated, odd if len(rows) > 2 else odd[:0]):
            expected = usual * row.local_disks
            yield row, expected, f"{row.rate / expected:.3g} times what as many equal disks do in other sizes"


_SPECS_ALIKE: Final = 1.1
_UNLIKE_SPECS: Final = 1.5
"""Least ratio that is doubted of rates per stated operation: of what was measured, none is as far from its family."""


def _unlike_specs(stated: pd.DataFrame) -> Iterator[tuple[Any, float, str]]:
    """Yield the rows whose rate for each operation that the cloud states is far from their family's, the rate at
    theirs, and a description.
    """
    stated = stated[stated.stated_operations.notna()].reset_index(drop=True)
    per = (stated["rate"] / stated.stated_operations).to_numpy()
    for rows in groups_of(stated["shape"]):
        usual = most_common(per[rows], within=_SPECS_ALIKE)
        off = np.abs(np.log(per[rows] / usual))
        if (off <= np.log(_SPECS_ALIKE)).sum() >= max(3, _MOST_ALIKE * len(rows)):
            for row in rows_at(stated, rows[off > np.log(_UNLIKE_SPECS)]):
                expected = usual * row.stated_operations
                yield row, expected, f"{row.rate / expected:.3g} times what its stated operations give in its family"


def _above_peak(table: Table, baseline: str, peak: str) -> Iterator[Suspicion]:
    with np.errstate(invalid="ignore"):
        above = np.flatnonzero(table[baseline] > table[peak] * (1 + SLACK))
    for row in above.tolist():
        yield Suspicion(
            file=table.schema.name,
            line=table.lines[row],
            instance_type=str(table["instance_type"][row]),
            column=baseline,
            value=format_rate(table[baseline][row]),
            reason=f"above what the vendor advertises, {format_rate(table[peak][row])} ({peak})",
            factor=float(table[baseline][row] / table[peak][row]),
        )


def _shown(rate: str, value: float) -> str:
    return format_rate(value) if rate.endswith("bytes_per_s") else f"{value:.0f}"


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
_OTHER_MEMORY: Final = 3.9
"""Least ratio of memory that is doubted if only two types, or types with accelerators, show what is usual."""
_DISKS_ALIKE: Final = 1.2
_MOST_ALIKE: Final = 0.6
_OTHER_DISKS: Final = 1.35
"""Disks come whole: sizes of a family differ by up to 1.2 times, and of those that most agree on, none by 1.35."""


def implausible_sizes(types: pd.DataFrame, *, stated: Mapping[str, float]) -> Iterator[Suspicion]:
    """Yield the doubted cells of instances.csv on a type's size; `types` is that of `shapes`, and `stated` has the
    bytes of all local disks by further sources.
    """
    miscounted = [*_vcpu_by_cores(types), *_vcpu_by_name(types)]
    yield from miscounted
    yield from _memory(types[~types.instance_type.isin([found.instance_type for found in miscounted])])
    yield from _missing_disks(types)
    yield from _disk_units(types)
    yield from _disks_of_family(types, stated)


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
    for row, usual in _off_series(known):
        text = f"{row.per / 1e9:.2f} GB per virtual CPU, other sizes of its series have {usual / 1e9:.2f} GB"
        yield _suspicion(row, "memory_bytes", text + _slip(row.per / usual), factor=row.per / usual)


def _off_series(known: pd.DataFrame) -> Iterator[tuple[Any, float]]:
    """Yield the rows with about twice or half the memory of their series, or just off it by the ratio of two units."""
    per = known.per.to_numpy()
    for rows in groups_of(known.series):
        usual = most_common(per[rows], within=1 + _EXACT)
        alike = np.isclose(per[rows], usual, rtol=_EXACT)
        most = alike.sum() >= max(2, _MOST_ALIKE * len(rows))
        for row in rows_at(known, rows[~alike] if most else rows[:0]):
            ratio, is_sized = row.per / usual, alike.sum() > 2 and row.by_vcpu and row.vcpu > 1
            rounded = abs(row.memory_bytes - usual * row.machine_vcpu) <= _WHOLE_BYTES
            far = max(ratio, 1 / ratio) > (_MEMORY_RATIO if is_sized else _OTHER_MEMORY)
            if not rounded and (far or (is_sized and _slip(ratio))):
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


def _disks_of_family(types: pd.DataFrame, stated: Mapping[str, float]) -> Iterator[Suspicion]:
    """Yield types with other local disks for each virtual CPU than their family, which no further source confirms."""
    known = types[types.by_vcpu & (types.local_disks > 0) & types.local_disk_bytes.notna()]
    known = known.assign(total=known.local_disks * known.local_disk_bytes)
    per, sizes = (known.total / known.machine_vcpu).to_numpy(), known.local_disk_bytes.to_numpy()
    for rows in groups_of(known.family):
        usual = most_common(per[rows], within=_DISKS_ALIKE)
        alike = rows[np.abs(np.log(per[rows] / usual)) <= np.log(_DISKS_ALIKE)]
        if len(alike) >= max(3, _MOST_ALIKE * len(rows)):
            for row in rows_at(known, np.setdiff1d(rows, alike)):
                factor = row.total / row.machine_vcpu / usual
                if max(factor, 1 / factor) > _OTHER_DISKS and not agree(row.total, stated.get(row.instance_type)):
                    column = "local_disks" if row.local_disk_bytes in sizes[alike] else "local_disk_bytes"
                    text = f"{factor:.3g} times the local disks for each virtual CPU of its family"
                    yield _suspicion(row, column, text, factor=factor)


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


def wrong_generations(catalog: Catalog, types: pd.DataFrame) -> Iterator[Suspicion]:
    """Yield the types whose current_generation differs from the vendor's list; none without a list."""
    listed = set(catalog.tables["previous_generations"]["family"].tolist())
    if not listed:
        return
    for row in types[types.previous != types.family.isin(listed)].itertuples():
        text = "is on" if row.family in listed else "is not on"
        yield Suspicion(
            file="instances",
            line=row.line,
            instance_type=row.instance_type,
            column="current_generation",
            value="no" if row.previous else "yes",
            reason=f"family {row.family} {text} the vendor's list of previous generations (previous_generations.csv)",
            advice="correct the cell, or the list with its source and day",
        )
