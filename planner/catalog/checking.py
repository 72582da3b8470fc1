"""Wrong, old and missing facts of a catalog, for its maintainers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from planner.catalog import region_prices
from planner.catalog.catalog import Catalog
from planner.catalog.cloud_regions import regions_of
from planner.catalog.loading import catalog_directory, scan_catalog
from planner.catalog.network_specs import Disagreement, disagreements
from planner.catalog.refreshed import refresh_command
from planner.catalog.tables import Problem
from planner.units import format_rate

if TYPE_CHECKING:
    from planner.catalog.plausibility import Suspicion

STALE_AFTER_DAYS: Final = 60
_MOST_NAMED: Final = 8


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding about a catalog; an `error` is an unreadable file or a cell that is probably wrong.

    An error has the place: file, line (None if it has none), row (the instance type), column and value. `next_step` is
    the recommended action. All are blank if a finding is not about a single cell.
    """

    severity: Literal["error", "warning", "note"]
    text: str
    file: str = ""
    line: int | None = None
    row: str = ""
    column: str = ""
    value: str = ""
    reason: str = ""
    next_step: str = ""


def check_catalog(name_or_path: str | Path, *, today: date) -> list[Finding]:
    """Return all errors of all files of a catalog or, if it can be read, the cells that contradict others, whether it
    is stale, and what it lacks.

    Raises BadInputError if there is no such catalog.
    """
    catalog, problems = scan_catalog(catalog_directory(name_or_path))
    if catalog is None:
        return [_unreadable(problem) for problem in problems]
    if damaged := region_prices.problems(catalog.path):
        return [_unreadable(problem) for problem in damaged]
    from planner.catalog.plausibility import implausible_rows

    doubted = [_doubted(suspicion) for suspicion in implausible_rows(catalog)]
    return [*doubted, *_staleness(catalog, today), *_gaps(catalog), *_network_disagreements(catalog)]


def _unreadable(problem: Problem) -> Finding:
    return Finding(
        severity="error",
        text=str(problem),
        file=problem.path.name,
        line=problem.line,
        column=problem.column,
        value=problem.value or "",
        reason=problem.expected,
        next_step="correct it in the file",
    )


def _doubted(suspicion: Suspicion) -> Finding:
    return Finding(
        severity="error",
        text=f"{suspicion}; next: {suspicion.advice}",
        file=f"{suspicion.file}.csv",
        line=suspicion.line or None,
        row=suspicion.instance_type,
        column=suspicion.column,
        value=suspicion.value,
        reason=suspicion.reason,
        next_step=suspicion.advice,
    )


def staleness_days(
    catalog: Catalog, *, today: date, region: str | None = None, pricing: str = "on-demand"
) -> int | None:
    """Return the age of a region's prices in days if it is over STALE_AFTER_DAYS, else None."""
    age = (today - catalog.priced_on(region or catalog.default_region, pricing)).days
    return age if age > STALE_AFTER_DAYS else None


def stale_prices(
    catalogs: Sequence[Catalog], regions: Sequence[str], *, today: date | None, pricing: str = "on-demand"
) -> Iterator[str]:
    """Yield warnings for prices of some regions (none: each catalog's default) that are old on a day, and how to renew
    them.
    """
    if today is None:
        return
    for catalog, names in zip(catalogs, regions_of(regions, catalogs), strict=True):
        for region in names:
            age = staleness_days(catalog, today=today, region=region, pricing=pricing)
            if age is not None:
                kind, place = "spot prices" if pricing == "spot" else "prices", f" in {region}" if regions else ""
                further = region if catalog.is_further(region, pricing) else ""
                command = refresh_command(catalog.name, pricing, region=further)
                advice = f"; {command} renews them" if command else ""
                yield f"{kind} of {catalog.name}{place}{_age_text(catalog, region, pricing, today)}{advice}"


def _age_text(catalog: Catalog, region: str, pricing: str, today: date) -> str:
    """Return the age of prices in words; spot prices computed from savings have two dates."""
    day = catalog.priced_on(region, pricing)
    if pricing != "spot" or "derived" not in catalog.price_rows(region, pricing)["evidence"].tolist():
        return f" are of {day}, {(today - day).days} days old"
    full = catalog.priced_on(region)
    return f": savings of {day} ({(today - day).days} days) off prices of {full} ({(today - full).days} days)"


def _staleness(catalog: Catalog, today: date) -> Iterator[Finding]:
    age = staleness_days(catalog, today=today)
    if age is not None:
        text = f"prices are of {catalog.prices_as_of}, {age} days old: refresh them, or take them for history"
        yield Finding(severity="warning", text=text)


def _gaps(catalog: Catalog) -> Iterator[Finding]:
    """Count missing facts; they are not errors, since an unknown excludes a type with a reason."""
    types = catalog.instances
    total = len(types)
    local = types.local_disks > 0
    prices = catalog.prices().price_usd_per_hour if catalog.regions() else np.full(total, np.nan)
    measured = np.zeros(total, dtype=bool)
    for mode in ("simultaneous", "read_only", "write_only"):
        measured |= np.isfinite(catalog.disk_rates(mode).bytes_per_s)
    unpriced = types.instance_type[np.isnan(prices)].tolist()
    if unpriced and not catalog.is_free:
        yield Finding(
            severity="warning",
            text=f"{len(unpriced)} of {total} types have no price in {catalog.default_region}: {_names(unpriced)}",
        )
    lacking = types.instance_type[local & ~measured].tolist()
    if lacking:
        yield Finding(
            severity="note",
            text=f"{len(lacking)} of {int(local.sum())} types with local disks have no disk rate: {_names(lacking)}",
        )
    silent = int(np.isnan(types.network_baseline_bytes_per_s).sum())
    if silent:
        yield Finding(severity="note", text=f"{silent} of {total} types state no network baseline")
    yield Finding(severity="note", text=f"{len(catalog.network_points)} types have a measured network rate")


def _network_disagreements(catalog: Catalog) -> Iterator[Finding]:
    """Yield the types with differing network sources: a warning if no majority settles it."""
    for quarrel in disagreements(catalog.tables["instances"], catalog.tables["network_specs"]):
        if "+" not in quarrel.instance_type:  # the same disagreement as without added disks
            yield Finding(severity="note" if quarrel.settled else "warning", text=_disagreement_text(quarrel))


def _disagreement_text(quarrel: Disagreement) -> str:
    stated = ", ".join(f"{format_rate(rate)} ({source})" for source, rate in quarrel.stated.items())
    counts = f"{format_rate(quarrel.counts_bytes_per_s)} counts, what most state"
    verdict = counts if quarrel.settled else "withheld, as no majority settles it"
    return f"sources disagree on the network of {quarrel.instance_type}: {stated}; {verdict}"


def _names(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
