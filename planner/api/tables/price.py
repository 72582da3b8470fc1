"""The price of a sorted rewrite of a table, known before: here, on one rented machine, and on a cluster."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from planner.errors import BadInputError, PlannerError, nearest, some_of
from planner.tables.layout import Group, Snapshot
from planner.tables.price import Place, TablePrice
from planner.tables.queries import Query, Scanned, read_queries, scanned

if TYPE_CHECKING:
    from planner.config.paths import StrPath
    from planner.schemas.plan import Candidate

_PROBE_ROWS: Final = 400_000
_HERE_RANGE: Final = (0.5, 2.0)
"""The rows of a table may be this much quicker or slower to sort than those of the probe, by their types."""
_LONGEST_DAYS: Final = 365.0
"""A rewrite that has not paid after a year is not worth it: a table's queries change."""


def price_of(
    snapshot: Snapshot,
    groups: Sequence[Group],
    keys: Sequence[str],
    *,
    budget_usd: float | None,
    target_bytes: int,
    queries: StrPath | None,
    usd_per_tb: float,
    is_cut: bool,
) -> TablePrice:
    """Return the price of rewriting groups, or of as many as a budget pays; `is_cut` if further ones are left out.
    Raises BadInputError.
    """
    asked = read_queries(Path(queries)) if queries is not None else None
    if asked is not None:
        _require_columns(asked, snapshot, shown=f"--queries {queries}")
    places = _places(sum(group.bytes for group in groups))
    while budget_usd is not None and (usd := _rented_usd(places)) > budget_usd:
        groups, is_cut = _within_budget(groups, budget_usd / usd), True
        places = _places(sum(group.bytes for group in groups))
    touched = sum(group.bytes for group in groups)
    price = TablePrice(
        keys=tuple(keys),
        groups=len(groups),
        files=sum(len(group.files) for group in groups),
        depth=max((group.depth for group in groups), default=0),
        read_bytes=touched,
        written_bytes=touched,
        table_bytes=sum(file.bytes for file in snapshot.files),
        places=places,
    )
    if not groups and is_cut:
        return replace(price, verdict="unknown whether it pays: no group of files is within --max-bytes and --budget")
    if not groups:
        return replace(price, is_worth_it=False, verdict="not worth it: nothing overlaps and no files are small")
    if asked is None:
        return replace(price, verdict="unknown whether it pays: name the queries of a day with --queries")
    return _judged(
        price, scanned(snapshot.files, groups, keys, asked, target_bytes=target_bytes), usd_per_tb=usd_per_tb
    )


def _require_columns(queries: Sequence[Query], snapshot: Snapshot, *, shown: str) -> None:
    """Raise BadInputError for queries of columns that the table does not have."""
    names = [*snapshot.schema.names, *snapshot.partitioned_by]
    asked = dict.fromkeys(query.column for query in queries)
    if absent := [column for column in asked if column not in names and column.split(".")[0] not in names]:
        raise BadInputError(
            f"{shown}: the table has no column {some_of(absent)}.{nearest(absent[0], names)}",
            [f"its columns are {some_of(names)}"],
            code="unknown-column",
        )


def _rented_usd(places: Sequence[Place]) -> float:
    return next((place.usd for place in places if place.name == "one machine" and place.usd is not None), 0.0)


def _within_budget(groups: Sequence[Group], share: float) -> list[Group]:
    """Return the first groups whose bytes are within a share of all, at least one fewer."""
    left, kept = share * sum(group.bytes for group in groups), []
    for group in groups:
        left -= group.bytes
        if left >= 0:
            kept.append(group)
    return kept[: len(groups) - 1]


def _judged(price: TablePrice, found: Scanned, *, usd_per_tb: float) -> TablePrice:
    saved = found.saved_bytes / 1e12 * usd_per_tb
    costs = [place.usd for place in price.places if place.usd is not None]
    price = replace(price, scanned=found, saved_usd_per_day=saved)
    if not saved:
        return replace(price, is_worth_it=False, verdict="not worth it: the queries would read as much as before")
    if not costs:
        return replace(price, verdict="unknown whether it pays: no machine has a price")
    days = min(costs) / saved
    is_worth_it = days <= _LONGEST_DAYS
    verdict = f"pays after {days:.1f} days" if is_worth_it else f"not worth it: it would pay after {days:,.0f} days"
    return replace(price, days_to_pay=days, is_worth_it=is_worth_it, verdict=verdict)


def _places(size_bytes: int) -> tuple[Place, ...]:
    if not size_bytes:
        return ()
    rate = _rate_here()
    seconds, (quick, slow) = size_bytes / rate, _HERE_RANGE
    here = Place(name="here", machines="this machine", seconds=seconds, seconds_range=(quick * seconds, slow * seconds))
    return here, _rented("one machine", size_bytes, engine="local", nodes=1), _rented("cluster", size_bytes)


def _rented(name: Literal["one machine", "cluster"], size_bytes: int, **asked: Any) -> Place:
    from planner.api.recommend import recommend

    try:
        best = recommend(float(size_bytes), **asked).best
    except PlannerError as error:
        return Place(name=name, machines="", reason=error.message)
    if best is None:
        return Place(name=name, machines="", reason="no type fits")
    return _place(name, best)


def _place(name: Literal["one machine", "cluster"], best: Candidate) -> Place:
    seconds, cost = best.whole_run_s or best.time_s.expected, best.cost_usd
    early, late = (max(seconds + end - best.time_s.expected, 0.0) for end in (best.time_s.p50, best.time_s.p95))
    return Place(
        name=name,
        machines=f"{best.nodes} x {best.instance_type}",
        seconds=seconds,
        seconds_range=(early, late),
        usd=cost.total,
        usd_range=None if cost.total is None else (cost.total, max(cost.total_p95 or cost.total, cost.total)),
    )


def _rate_here() -> float:
    """Return the bytes of Parquet that this machine sorts and reads back in a second, of rows made for the purpose."""
    import numpy as np

    from planner.native import Progress
    from planner.sorting.tables.arrow_library import arrow
    from planner.tables.rewrite import probe

    random = np.random.default_rng(0)
    made = arrow().table(
        {
            "key": random.integers(0, 1 << 62, _PROBE_ROWS),
            "amount": random.random(_PROBE_ROWS),
            "name": arrow().array([f"{number:x}" for number in random.integers(0, 1 << 40, _PROBE_ROWS)]),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        arrow("pyarrow.parquet").write_table(made, path)
        size, began = path.stat().st_size, time.monotonic()
        probe(path, Path(folder), Progress())
        return float(size / (time.monotonic() - began))
