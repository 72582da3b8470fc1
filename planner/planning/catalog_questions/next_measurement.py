"""Choice of the next measurement, so that the top of a ranking rests on measurements: type, number of nodes, cost.

A plan is only as good as its worst figure. For each of the best candidates with weak evidence, one small cluster
answers both important questions: NetBench, doubling up to as many nodes as a curve needs points, and DiskBench on every
node, which covers many instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from planner.catalog import Catalog
from planner.catalog.measurement_quality import CRITERIA, MANY_INSTANCES, scores_behind
from planner.schemas.plan import Candidate
from planner.statistics.scaling_curve import ENOUGH_POINTS
from planner.units import format_duration, format_usd

GOOD_SCORE: Final = len(CRITERIA) - 1
RUN_S: Final = 60.0
REPEATS: Final = 3
_DISK_MODES: Final = 3
RENTED: Final = ("aws", "gcp", "azure")
"""Catalogs of clouds where `bench fleet` rents."""
_FLEET_S: Final = 1140.0
"""Seconds that `bench fleet` needs for ten or sixteen machines by default; `runs.instrument_rounds` uses the same."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One cluster to rent for measuring; `why` is the worst figure it would replace."""

    instance_type: str
    nodes: int
    benches: tuple[str, ...]
    seconds: float
    cost_usd: float
    why: str
    renting: str = ""

    @property
    def command(self) -> str:
        """Command that rents such a cluster and measures it, or the one to run on its nodes if none can rent it."""
        return self.renting or " && ".join(self.benches)

    @property
    def text(self) -> str:
        """The proposal in a sentence."""
        what = f"{self.nodes} x {self.instance_type} for {format_duration(self.seconds)}, {format_usd(self.cost_usd)}"
        return f"measure next: {what}: {self.renting or ' and '.join(self.benches)} ({self.why})"


def what_to_measure(candidates: Sequence[Candidate], catalog: Catalog, *, boot_s: float) -> list[Proposal]:
    """Return a proposal for each candidate whose worst figure scores below GOOD_SCORE, in the candidates' order."""
    proposals = []
    for candidate in candidates:
        scores = scores_behind(catalog, candidate.instance_type, _resources(candidate))
        weak = [score for score in scores if score.score < GOOD_SCORE]
        if weak:
            network = any(score.what.startswith("network") for score in weak)
            storage = any(not score.what.startswith("network") for score in weak)
            wanted = proposal(candidate, catalog, network=network, storage=storage, boot_s=boot_s, why=weak[0].text)
            proposals.append(wanted)
    return proposals


def _resources(candidate: Candidate) -> Iterable[str]:
    """Return the resources that take at least half as long as the deciding one of their phase."""
    return dict.fromkeys(
        name for phase in candidate.phases for name, use in phase.resources.items() if use.time_s >= phase.time_s / 2
    )


def proposal(
    candidate: Candidate, catalog: Catalog, *, network: bool, storage: bool, boot_s: float, why: str = ""
) -> Proposal:
    """Return the cluster that measures the network of a candidate's type, its storage, or both."""
    sizes = [2**power for power in range(1, ENOUGH_POINTS + 1)] if network else [MANY_INSTANCES]
    seconds = boot_s + REPEATS * RUN_S * (len(sizes) * network + _DISK_MODES * storage)
    nodes = max(sizes)
    cost_usd = nodes * candidate.price_usd_per_hour * seconds / 3600
    if renting := _renting(candidate, catalog, nodes):
        seconds, cost_usd = _FLEET_S, nodes * candidate.usd_per_hour / candidate.nodes * _FLEET_S / 3600
    benches = ("planner bench net --doubling",) * network + ("planner bench disk --mode all",) * storage
    return Proposal(
        instance_type=candidate.instance_type,
        nodes=nodes,
        benches=benches,
        seconds=seconds,
        cost_usd=cost_usd,
        why=why,
        renting=renting,
    )


def _renting(candidate: Candidate, catalog: Catalog, nodes: int) -> str:
    """Return the command that rents and measures `nodes` nodes of a candidate's type, '' if there is none: on other
    clouds, in catalogs of other years, and for volumes added to local disks.
    """
    volumes = candidate.volumes
    has_disks = catalog.instances.local_disks[catalog.instances.index(candidate.instance_type)] >= 1
    if catalog.name not in RENTED or bool(volumes) == bool(has_disks):
        return ""
    words = f"planner bench fleet --cloud {catalog.name} --instance {candidate.instance_type} --nodes {nodes}"
    return words + (f" --volume {volumes.volume_type} --count {volumes.count}" if volumes else "")
