"""Account of what a run ordered, what the cloud lists, and what is proven gone, that launch, replacement,
teardown, sweep and status read.

A listing may be late or short, and may still show what is gone. So a listing only adds to what is known; whether a
resource exists is asked by its id. It is proven gone when its id was unknown at two looks, `settle_s` apart, and known
at none between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, Self

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.protocol import Node, NodeState, Provider, Resource, require_named
from planner.clusters.provisioning.run_directory import RunDirectory

Key = tuple[str, str]
UNSEEN: Final = "no listing shows it yet"
"""Why a machine that was ordered counts as starting."""
_UNSURE: Final = 6
"""So many times as long as after an answer a listing may be late after none; assumed."""


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """The resources of one run. `ordered` returns those that its journal names and that are not proven gone.

    Raises BadInputError for a run without a name.
    """

    provider: Provider
    run: str
    policy: RetryPolicy
    ordered: Callable[[], Iterable[Resource]] = tuple
    has_public_head: bool = True
    _known: dict[Key, Resource] = field(default_factory=dict)
    _ended: set[Key] = field(default_factory=set)
    _shown: set[Key] = field(default_factory=set)
    _unlisted_since_s: dict[str, float] = field(default_factory=dict)
    _absent_since_s: dict[Key, float] = field(default_factory=dict)
    _gone: set[Key] = field(default_factory=set)

    @classmethod
    def of(cls, directory: RunDirectory, *, provider: Provider, policy: RetryPolicy) -> Self:
        """Return what is known of a run that has a journal. What was ordered without an answer shows in listings alone:
        they get longer to show it.
        """
        if directory.unsure():
            policy = replace(policy, settle_s=_UNSURE * policy.settle_s, looks=2 * policy.looks)
        has_public_head = not directory.order().is_private
        run, ordered = directory.path.name, directory.ordered
        return cls(provider=provider, run=run, policy=policy, ordered=ordered, has_public_head=has_public_head)

    def __post_init__(self) -> None:
        require_named(self.run)

    def look(self, kinds: Collection[str], *, region: str) -> tuple[Resource, ...]:
        """Return what of some kinds exists. A listing is believed where it shows what nobody asked to end."""
        listed = {item.key: item for item in self.provider.find(sorted(kinds), region=region, run=self.run)}
        believed = {key: item for key, item in listed.items() if key not in self._ended or item.ending}
        self._gone.difference_update(believed)
        self._known.update({resource.key: resource for resource in self.ordered()} | listed)
        doubtful = [item for item in self._of(kinds, region) if item.key not in believed]
        there = (*believed.values(), *self.confirm(doubtful))
        self._shown.update(resource.key for resource in there)
        return there

    def may_yet_show(self, kinds: Collection[str], *, region: str) -> bool:
        """Say whether something that was ordered and never showed is not proven gone: it may only be late."""
        return any(item.key not in self._shown | self._gone for item in self._of(kinds, region))

    def unasked(self, kinds: Collection[str], *, region: str) -> tuple[Resource, ...]:
        """Return what is known of some kinds that nobody has asked to end."""
        return tuple(item for item in self._of(kinds, region) if item.key not in self._ended)

    def not_gone(self, kinds: Collection[str], *, region: str) -> tuple[Resource, ...]:
        """Return what was ordered or listed of some kinds and is not proven gone, without asking the cloud."""
        self._known.update({item.key: item for item in self.ordered() if item.key not in self._known})
        return tuple(item for item in self._of(kinds, region) if item.key not in self._gone)

    def _of(self, kinds: Collection[str], region: str) -> list[Resource]:
        return [item for item in self._known.values() if item.region == region and item.kind in kinds]

    def confirm(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return those of some resources that exist, each asked for by its id unless it is proven gone, and remember
        which do not.
        """
        doubtful = [resource for resource in resources if resource.key not in self._gone]
        alike = groupby(sorted(doubtful, key=_kind_and_region), _kind_and_region)
        found = tuple(item for _, group in alike for item in self.provider.look_up(list(group)))
        now_s, there = time.monotonic(), {item.key for item in found}
        for resource in doubtful:
            if resource.key in there:
                self._absent_since_s.pop(resource.key, None)
            elif self._absent_since_s.setdefault(resource.key, now_s) <= now_s - self.policy.settle_s:
                self._gone.add(resource.key)
        return found

    def proven_gone(self, ids: Iterable[str], *, region: str) -> set[str]:
        """Look at some machines by id, and return those that are proven gone by now."""
        asked = [Resource(kind="instance", id=id_, region=region, run=self.run) for id_ in sorted(ids)]
        self.confirm(asked)
        return {item.id for item in asked if item.key in self._gone}

    def end(self, resources: Iterable[Resource]) -> None:
        """Remember that some resources were asked to end: a listing that shows them on is stale."""
        self._ended.update(resource.key for resource in resources)

    def nodes(self, *, region: str, unlisted_s: float = 0.0) -> tuple[Node, ...]:
        """Return the run's machines in a region as one look shows them. One that was ordered and does not show is
        starting, or ended when that is proven; one that runs without the addresses that it is to have is starting.
        Machines are asked for by their ids, a call each on some clouds, once no listing has shown them for so long.
        """
        listed = {node.id: self._with_state(node) for node in self.provider.nodes(self.run, region=region)}
        ordered = {item.id for item in self.ordered() if item.kind == "instance" and item.region == region}
        unseen = ordered - set(listed)
        gone = self.proven_gone(self._unlisted(unseen, listed, for_s=unlisted_s), region=region)
        return (*listed.values(), *(_unseen(id_, region, is_gone=id_ in gone) for id_ in sorted(unseen)))

    def _unlisted(self, unseen: Iterable[str], listed: Iterable[str], *, for_s: float) -> list[str]:
        """Return which machines no listing has shown for so long."""
        now_s = time.monotonic()
        for id_ in listed:
            self._unlisted_since_s.pop(id_, None)
        return [id_ for id_ in unseen if self._unlisted_since_s.setdefault(id_, now_s) <= now_s - for_s]

    def settled_nodes(self, *, region: str) -> tuple[Node, ...]:
        """Return the machines in a region when each shows or is proven gone, or once a listing had time to show."""
        nodes: tuple[Node, ...] = ()
        for _ in self.policy.settling():
            nodes = self.nodes(region=region)
            if not any(node.state == "starting" for node in nodes):
                break
        return nodes

    def observe(self, directory: RunDirectory) -> tuple[Resource, ...]:
        """Return all that the run has now, and note in its journal which machines live and which are proven gone."""
        kinds = [resource_kind for stage in self.provider.stages for resource_kind in stage]
        there: dict[Key, Resource] = {}
        nodes: dict[str, Node] = {}
        for _ in self.policy.settling():
            for region in directory.regions():
                there.update({item.key: item for item in self.look(kinds, region=region)})
                nodes.update({node.id: node for node in self.nodes(region=region)})
        live = [node.id for node in nodes.values() if node.state != "ended" and node.reason != UNSEEN]
        ended = [node.id for node in nodes.values() if node.state == "ended"]
        stopped = [node.id for node in nodes.values() if node.state == "stopped"]
        for what, named in (("seen", live), ("ended", ended), ("stopped", stopped)):
            if named:
                directory.note(what, nodes=named)
        return tuple(there.values())

    def _with_state(self, node: Node) -> Node:
        has_addresses = node.private_address and (node.public_address or not (node.head and self.has_public_head))
        return node if has_addresses or node.state != "running" else replace(node, state="starting")


def _unseen(id_: str, region: str, *, is_gone: bool) -> Node:
    """Return a machine of which nothing is known but its id."""
    state: NodeState = "ended" if is_gone else "starting"
    reason = "it is gone" if is_gone else UNSEEN
    return Node(id=id_, region=region, zone="", head=False, state=state, instance_type="", reason=reason)


def _kind_and_region(resource: Resource) -> tuple[str, str]:
    return resource.kind, resource.region
