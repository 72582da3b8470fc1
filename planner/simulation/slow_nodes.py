"""What slow nodes cost that stay in the cluster: with their disks, processors and links, or one of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from planner.errors import BadInputError
from planner.simulation.machines import NodeGroup
from planner.units import parse_count, parse_number, parse_share

_RESOURCES: Final = ("network", "cpu", "disks")
_HOW: Final = "write 10%@2 for a tenth of the nodes that take twice as long, or network:1@3 for the link of one"


@dataclass(frozen=True, kw_only=True)
class Slow:
    """So many `nodes`, or this `share` of them, take `factor` times as long for `resource`, or for everything."""

    nodes: int = 0
    share: float = 0.0
    factor: float
    resource: str = ""

    @classmethod
    def parse(cls, text: str) -> Slow:
        """Return what `10%@2`, `18@2` or `network:1@3` says. Raises BadInputError for anything else."""
        before, _, what = text.rpartition(":")
        who, _, times = what.partition("@")
        try:
            factor = parse_number(times)
            nodes, share = (0, parse_share(who)) if who.endswith("%") else (parse_count(who), 0.0)
        except BadInputError as error:
            raise BadInputError(f"--slow {text}: {_HOW}") from error
        if before not in ("", *_RESOURCES) or (":" in text and not before):
            raise BadInputError(f"--slow {text}: what is slow is one of {', '.join(_RESOURCES)}; {_HOW}")
        if not 1 < factor < 1000 or not (nodes or 0 < share <= 1):
            raise BadInputError(f"--slow {text}: at least one node, more than once and less than 1,000 times as long")
        return cls(nodes=nodes, share=share, factor=factor, resource=before)

    def count(self, nodes: int) -> int:
        """Return how many of so many nodes are slow. Raises BadInputError where there are not as many."""
        if self.nodes > nodes:
            raise BadInputError(f"--slow {self.nodes}: there are only {nodes} nodes")
        return self.nodes or ceil(self.share * nodes - 1e-9)

    def of(self, groups: Sequence[NodeGroup], devices: Sequence[str]) -> list[NodeGroup]:
        """Return groups of which some nodes are slow, taken from the largest: it has nothing to do with their speed."""
        left, made = self.count(sum(group.nodes for group in groups)), list[NodeGroup]()
        names = {"": ("network", "cpu", *devices), "disks": tuple(devices)}.get(self.resource, (self.resource,))
        for group in sorted(groups, key=lambda group: -group.nodes):
            slow = min(left, group.nodes)
            left -= slow
            slowness = {**group.slowness} | {name: group.slow(name) * self.factor for name in names}
            made += [NodeGroup(nodes=slow, slowness=slowness)] if slow else []
            made += [replace(group, nodes=group.nodes - slow)] if group.nodes > slow else []
        return made
