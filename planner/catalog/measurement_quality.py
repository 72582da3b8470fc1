"""Trust in a measurement: the six criteria of "Cloud Truth" (Scalyr 2013, "Thoughts on Benchmark Quality").

A criterion is met only if the catalog states it; omissions of a source count as not met. A figure that is not measured
(stated, recalled, assumed) meets none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, Final

import numpy as np

from planner.catalog import EVIDENCE, MODES, Catalog
from planner.catalog.tables import Table

CRITERIA: Final = (
    "a basic property",
    "many instances",
    "a substantial period",
    "a reproducible method",
    "what was measured",
    "how it was aggregated",
)
MANY_INSTANCES: Final = 10
"""Scalyr took 30 and more; with 10, one slow instance in nine shows in two studies of three."""
SUBSTANTIAL_DAYS: Final = 1.0
"""A day holds a cloud's busy and idle hours; Scalyr states that its own ten minutes "fall short"."""

_MEASURED: Final = ("measured", "derived")
_BASIS: Final = {"spec": "stated by the cloud", "extrapolated": "taken from a sibling type"}


@dataclass(frozen=True, kw_only=True)
class QualityScore:
    """The score of one figure: `what` it is, its evidence, and the criteria that it meets."""

    what: str
    evidence: str
    met: tuple[str, ...]

    @property
    def score(self) -> int:
        """Number of the six criteria that are met."""
        return len(self.met)

    @property
    def text(self) -> str:
        """The score in a sentence."""
        if self.evidence not in _MEASURED:
            basis = _BASIS.get(self.evidence, self.evidence or "unknown")
            return f"cloud truth 0 of {len(CRITERIA)}: {self.what} {basis}, not measured"
        lacking = [name for name in CRITERIA if name not in self.met]
        missing = f", lacks {', '.join(lacking)}" if lacking else ""
        return f"cloud truth {self.score} of {len(CRITERIA)}: {self.what}{missing}"


def score_of(what: str, row: Mapping[str, Any]) -> QualityScore:
    """Score a row of a catalog's disks, networks or volume rates."""
    evidence = str(row.get("evidence", ""))
    if evidence not in _MEASURED:
        return QualityScore(what=what, evidence=evidence, met=())
    holds = (
        row.get("mode") != "whole_job",
        _number_or_zero(row, "instances") >= MANY_INSTANCES,
        _number_or_zero(row, "period_days") >= SUBSTANTIAL_DAYS,
        evidence == "measured" and bool(row.get("method")),
        any(_number_or_zero(row, name) > 0 for name in ("disks", "nodes", "volumes_least")) and bool(row.get("method")),
        row.get("aggregate") in ("mean", "median", "slowest_of_n"),
    )
    return QualityScore(
        what=what, evidence=evidence, met=tuple(c for c, met in zip(CRITERIA, holds, strict=True) if met)
    )


def scores_behind(catalog: Catalog, instance_type: str, resources: Iterable[str]) -> list[QualityScore]:
    """Score the figures of a type that a plan uses for `resources` (as phases name them), worst first."""
    names = dict.fromkeys("disks" if name.endswith("disks") else name for name in resources)
    scores = [score for name in names for score in _scores_of(catalog, instance_type, name)]
    return sorted(scores, key=lambda score: score.score)


@lru_cache(maxsize=256)
def _scores_of(catalog: Catalog, instance_type: str, resource: str) -> tuple[QualityScore, ...]:
    finders = {"disks": _disks, "network": _network, "volumes": _volumes}
    return tuple(finders[resource](catalog, instance_type)) if resource in finders else ()


def _number_or_zero(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name, 0)
    return float(value) if isinstance(value, int | float) and isfinite(value) else 0.0


def _disks(catalog: Catalog, instance_type: str) -> Iterator[QualityScore]:
    """Yield the scores of the rates that a plan uses: the simultaneous one if there is one, else the other two."""
    best = {mode: _strongest_row(catalog.tables["disks"], instance_type, mode) for mode in MODES}
    used = ("simultaneous",) if best["simultaneous"] else ("read_only", "write_only")
    for mode in used:
        yield score_of(f"local disks ({mode.replace('_', ' ')})", best[mode] or {})


def _network(catalog: Catalog, instance_type: str) -> Iterator[QualityScore]:
    table = catalog.tables["networks"]
    rows = list(table.rows(np.flatnonzero(table["instance_type"] == instance_type).tolist()))
    if not rows:
        evidence = catalog.networks.evidence[catalog.instances.index(instance_type)]
        yield score_of("network", {"evidence": str(evidence)})
    for row in rows:
        size = f" at {row['nodes']:.0f} nodes" if isfinite(row["nodes"]) else ""
        yield score_of(f"network{size}", row)


def _volumes(catalog: Catalog, instance_type: str) -> Iterator[QualityScore]:
    table = catalog.tables["volume_rates"]
    rated = ~np.isnan(table["bytes_per_s"])
    rows = list(table.rows(np.flatnonzero(rated & (table["instance_type"] == instance_type)).tolist()))
    yield from (score_of(f"volumes ({row['mode'].replace('_', ' ')})", row) for row in rows)
    if not rows:
        yield QualityScore(what="volumes", evidence="spec", met=())


def _strongest_row(table: Table, instance_type: str, mode: str) -> dict[str, Any] | None:
    """Return the row that `Catalog.disk_rates` uses."""
    rated = ~np.isnan(table["bytes_per_s"])
    chosen = np.flatnonzero(rated & (table["instance_type"] == instance_type) & (table["mode"] == mode))
    rows = table.rows(chosen.tolist())
    return min(rows, key=lambda r: (r["aggregate"] == "slowest_of_n", EVIDENCE.index(r["evidence"])), default=None)
