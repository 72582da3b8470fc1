"""Observed memory use of runs, which replaces the prior belief."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from planner.calibration.history import JobRow
from planner.calibration.machines import NodeSpec
from planner.calibration.physics import FITS, WorkingSet
from planner.calibration.priors import Family

Odds = dict[float, float]
"""Odds by GB for each GB of data, or by GB for each core."""

_FULL: Final = 0.9
"""Share of usable memory above which kept data may have been cut by lack of room: execution takes some of it."""
_MOST_VALUES: Final = 5
"""Limit on runs with logs, evenly spaced: the number of explanations is proportional to it."""


def with_observed_memory(
    families: tuple[Family, ...], runs: Sequence[JobRow], machines: Mapping[str, NodeSpec]
) -> tuple[Family, ...]:
    """Return the families with the working sets that runs showed in place of believed ones; the total odds of each
    family stay the same.

    All runs count equally. Data that filled the memory gives only a lower bound, so that larger beliefs stay.
    """
    cached = [(run, run.memory.cached_gb / run.data_gb) for run in runs if run.memory.cached_gb is not None]
    whole = [share for run, share in cached if not _is_full(run, machines[run.instance_type])]
    least = max((share for _, share in cached), default=0.0)
    by_core = [run.memory.task_memory_gb for run in runs if run.memory.task_memory_gb is not None]
    if not cached and not by_core:
        return families
    believed: dict[Family, list[Family]] = defaultdict(list)
    for family in families:
        believed[replace(family, working_set=FITS, odds=1.0)].append(family)
    return tuple(
        replace(family, working_set=WorkingSet(gb, core), odds=of_data * of_core)
        for alike in believed.values()
        for family in alike[:1]
        for gb, of_data in _by_data(alike, whole=whole, least=least if cached else None).items()
        for core, of_core in _by_core(alike, by_core).items()
    )


def _is_full(run: JobRow, machine: NodeSpec) -> bool:
    usable_gb = run.memory.usable_gb or run.nodes * machine.usable_gb
    return (run.memory.cached_gb or 0.0) > _FULL * usable_gb


def _by_data(alike: Sequence[Family], *, whole: Sequence[float], least: float | None) -> Odds:
    """Return odds of the memory for each GB of data, with the same sum as the families' odds."""
    total, believed = sum(family.odds for family in alike), _marginal(alike, by_core=False)
    if len(alike) == 1 or least is None:
        return believed
    if whole:
        return {share: total * odds for share, odds in _alike(whole).items()}
    larger = {gb: odds for gb, odds in believed.items() if gb >= least} or {least: 1.0}
    return {gb: total * odds / sum(larger.values()) for gb, odds in larger.items()}


def _by_core(alike: Sequence[Family], seen: Sequence[float]) -> Odds:
    """Return shares of the memory for each core, which sum to 1."""
    if len(alike) > 1 and seen:
        return _alike(seen)
    believed = _marginal(alike, by_core=True)
    return {core: odds / sum(believed.values()) for core, odds in believed.items()}


def _marginal(alike: Sequence[Family], *, by_core: bool) -> Odds:
    odds: Odds = defaultdict(float)
    for family in alike:
        odds[family.working_set.gb_per_core if by_core else family.working_set.gb_per_gb] += family.odds
    return dict(odds)


def _alike(values: Sequence[float]) -> Odds:
    """Return the values, or an evenly spaced choice of many, with equal shares."""
    ordered = sorted(values)
    count = min(len(ordered), _MOST_VALUES)
    chosen = [ordered[round(k * (len(ordered) - 1) / max(count - 1, 1))] for k in range(count)]
    return {value: chosen.count(value) / count for value in chosen}
