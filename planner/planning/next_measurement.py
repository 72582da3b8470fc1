"""What to measure next, so that the top of a ranking rests on measurements: which type, how many nodes, at what cost.

A plan is worth what the worst figure behind it is worth. For each of the best candidates that rest on little, one
small cluster answers both questions that matter: NetBench while doubling up to as many nodes as a curve needs points,
and DiskBench on every node, which makes many instances.
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


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One cluster to rent for measuring; `why` is the worst figure that it would replace."""

    instance_type: str
    nodes: int
    benches: tuple[str, ...]
    seconds: float
    cost_usd: float
    why: str

    @property
    def command(self) -> str:
        """What to run on the cluster's nodes."""
        return " && ".join(self.benches)

    @property
    def text(self) -> str:
        """The proposal in a sentence."""
        what = f"{self.nodes} x {self.instance_type} for {format_duration(self.seconds)}, {format_usd(self.cost_usd)}"
        return f"measure next: {what}: {' and '.join(self.benches)} ({self.why})"


def what_to_measure(candidates: Sequence[Candidate], catalog: Catalog, *, boot_s: float) -> list[Proposal]:
    """Return a proposal for each candidate whose worst figure scores below GOOD_SCORE, in the candidates' order."""
    proposals = []
    for candidate in candidates:
        scores = scores_behind(catalog, candidate.instance_type, _resources(candidate))
        weak = [score for score in scores if score.score < GOOD_SCORE]
        if weak:
            network = any(score.what.startswith("network") for score in weak)
            storage = any(not score.what.startswith("network") for score in weak)
            proposals.append(proposal(candidate, network=network, storage=storage, boot_s=boot_s, why=weak[0].text))
    return proposals


def _resources(candidate: Candidate) -> Iterable[str]:
    """Return the resources that take at least half as long as the one that decides their phase."""
    return dict.fromkeys(
        name for phase in candidate.phases for name, use in phase.resources.items() if use.time_s >= phase.time_s / 2
    )


def proposal(candidate: Candidate, *, network: bool, storage: bool, boot_s: float, why: str = "") -> Proposal:
    """Return the cluster that measures the network of a candidate's type, its storage, or both."""
    sizes = [2**power for power in range(1, ENOUGH_POINTS + 1)] if network else [MANY_INSTANCES]
    seconds = boot_s + REPEATS * RUN_S * (len(sizes) * network + _DISK_MODES * storage)
    nodes = max(sizes)
    benches = ("planner bench net --doubling",) * network + ("planner bench disk --mode all",) * storage
    return Proposal(
        instance_type=candidate.instance_type,
        nodes=nodes,
        benches=benches,
        seconds=seconds,
        cost_usd=nodes * candidate.price_usd_per_hour * seconds / 3600,
        why=why,
    )
