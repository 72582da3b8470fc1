"""A type's network as stated by several sources, and the choice among them.

instances.csv is one source, every row of network_specs.csv another. The majority counts; in a tie the network is
withheld, that is unknown. Rates within `AGREEING` of each other are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from planner.arrays import Flags, Floats, Rows, Texts
from planner.catalog.columns import EVIDENCE
from planner.catalog.tables import Table

AGREEING: Final = 0.05
"""Sources round: 28.12 and 28.125 Gbit/s are equal."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StatedNetworks:
    """The chosen network of each type, all of shape (T,): bytes/s, NaN if no source states it or they disagree without
    a majority, and its evidence.

    `evidence` is the strongest of the sources that agree. A derived row of instances.csv is derived in its shape; its
    network is still stated.
    """

    baseline_bytes_per_s: Floats
    peak_bytes_per_s: Floats
    evidence: Texts
    source: Texts

    def below_ceilings(self, instances: Table) -> StatedNetworks:
        """Return the networks if what is stated are limits: a type keeps the share of its memory in the limit of the
        largest type of its family, and its own limit is its peak. Types with some processors switched off have all of
        their machine's memory.
        """
        family, memory, ceiling = instances["family"], instances["memory_bytes"], self.baseline_bytes_per_s
        order = np.lexsort((np.nan_to_num(ceiling), np.where(np.isnan(ceiling), 0.0, np.nan_to_num(memory)), family))
        largest = order[np.append(family[order][1:] != family[order][:-1], True)]
        of_family = largest[np.searchsorted(family[largest], family)]
        kept = np.minimum(ceiling, np.nan_to_num(ceiling[of_family] / memory[of_family] * memory, nan=np.inf))
        return replace(
            self,
            baseline_bytes_per_s=kept,
            peak_bytes_per_s=np.fmax(self.peak_bytes_per_s, ceiling),
            evidence=np.where(kept < ceiling, "derived", self.evidence),
        )


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A type whose network sources state different baselines, in bytes/s by source; `settled` if most agree.

    `counts_bytes_per_s` is what most state, or if nothing is settled the lowest, which then does not count either.
    """

    instance_type: str
    stated: dict[str, float]
    counts_bytes_per_s: float
    settled: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class _Statements:
    """Statements of each of S sources on each of T types, all of shape (S, T); the first source is instances.csv."""

    baseline: Floats
    peak: Floats
    evidence: Texts
    source: Texts

    @property
    def votes(self) -> Floats:
        """Number of sources that agree with each statement, including itself; 0 without a statement."""
        with np.errstate(invalid="ignore"):
            ratio = self.baseline[:, None, :] / self.baseline[None, :, :]
            return np.asarray((np.abs(np.log(ratio)) <= np.log1p(AGREEING)).sum(axis=1), float)

    @property
    def settled(self) -> Flags:
        """Whether no other group of sources is as large as the largest, shape (T,)."""
        most = self.votes.max(axis=0)
        return np.asarray((self.votes == most).sum(axis=0) <= np.maximum(most, (most == 0) * len(self.votes)))

    @property
    def counting(self) -> Rows:
        """The source that counts, shape (T,): one of the lowest of the largest group, preferably instances.csv."""
        votes = self.votes
        leading = np.where(votes == votes.max(axis=0), self.baseline, np.nan)
        lowest = np.fmin.reduce(leading, axis=0)
        with np.errstate(invalid="ignore"):
            of_the_lowest = leading <= lowest * (1 + AGREEING)
        return np.asarray(np.argmax(of_the_lowest, axis=0))


def stated_networks(instances: Table, specs: Table) -> StatedNetworks:
    """Return the network of every row of instances.csv, as stated by its own cells and network_specs.csv.

    A type with added disks (`n2-standard-8+2x375GB`) has the network of the cloud's type.
    """
    statements = _statements(instances, specs)
    chosen = statements.counting[None, :]
    baseline, peak = (
        np.where(statements.settled, np.take_along_axis(values, chosen, axis=0)[0], np.nan)
        for values in (statements.baseline, statements.peak)
    )
    agreeing = np.abs(statements.baseline - baseline) <= AGREEING * baseline
    agreed_peak = np.fmin.reduce(np.where(agreeing, statements.peak, np.nan), axis=0)
    ranks = [
        np.where(agreeing & (statements.evidence == word), rank, len(EVIDENCE)) for rank, word in enumerate(EVIDENCE)
    ]
    strongest = np.argmin(np.minimum.reduce(ranks), axis=0)[None, :]
    return StatedNetworks(
        baseline_bytes_per_s=baseline,
        peak_bytes_per_s=np.where(np.isnan(peak), agreed_peak, peak),
        evidence=np.take_along_axis(statements.evidence, strongest, axis=0)[0],
        source=np.take_along_axis(statements.source, strongest, axis=0)[0],
    )


def disagreements(instances: Table, specs: Table) -> Iterator[Disagreement]:
    """Yield the types whose stated network baselines differ by more than `AGREEING`."""
    statements = _statements(instances, specs)
    votes, counting, settled = statements.votes, statements.counting, statements.settled
    stated = ~np.isnan(statements.baseline)
    for row in np.flatnonzero((stated & (votes < stated.sum(axis=0))).any(axis=0)).tolist():
        sources = np.flatnonzero(stated[:, row]).tolist()
        yield Disagreement(
            instance_type=str(instances["instance_type"][row]),
            stated={str(statements.source[place, row]): float(statements.baseline[place, row]) for place in sources},
            counts_bytes_per_s=float(statements.baseline[counting[row], row]),
            settled=bool(settled[row]),
        )


def _statements(instances: Table, specs: Table) -> _Statements:
    parts = [_statements_of_instances(instances)]
    if len(specs):
        names = np.array([name.partition("+")[0] for name in instances["instance_type"].tolist()])
        sources = specs["source"]
        parts += [
            _of_source(specs, np.flatnonzero(sources == source), names) for source in sorted(set(sources.tolist()))
        ]
    return _Statements(**{f.name: np.stack([getattr(part, f.name) for part in parts]) for f in fields(_Statements)})


def _statements_of_instances(instances: Table) -> _Statements:
    computed = instances["evidence"] == "derived"
    return _Statements(
        baseline=instances["network_baseline_bytes_per_s"],
        peak=instances["network_peak_bytes_per_s"],
        evidence=np.where(computed, "spec", instances["evidence"]),
        source=instances["source"],
    )


def _of_source(specs: Table, chosen: Rows, names: Texts) -> _Statements:
    """Arrange one source's rows by type; its statement on the cloud's type also holds with added disks."""
    listed = specs["instance_type"][chosen]
    order = np.argsort(listed)
    place = order[np.searchsorted(listed, names, sorter=order).clip(max=len(listed) - 1)]
    there, rows = listed[place] == names, chosen[place]
    return _Statements(
        baseline=np.where(there, specs["baseline_bytes_per_s"][rows], np.nan),
        peak=np.where(there, specs["peak_bytes_per_s"][rows], np.nan),
        evidence=np.where(there, specs["evidence"][rows], ""),
        source=np.where(there, specs["source"][rows], ""),
    )
