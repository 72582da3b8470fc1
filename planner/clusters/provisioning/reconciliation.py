"""The resources that a run ordered, the cloud lists, or are proven gone, for launch, replacement, teardown, sweep and
status.

A listing may be late or short, and may still show resources that are gone. So a listing only adds to what is known;
whether a resource exists is asked by its id. It is proven gone when its id was unknown at two looks, `settle_s` apart,
and known at none between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, Self

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.protocol import Node, NodeState, Provider, Resource, require_named
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import BadInputError, PlannerError

Key = tuple[str, str]
UNSEEN: Final = "no listing shows it yet"
"""Reason for the state `starting` of an ordered machine."""
_UNSURE: Final = 6
"""Factor by which a listing may be later for a request that got no answer; assumed."""


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """The resources of one run. `ordered` returns those named in its journal and not proven gone.

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
        """Return the known state of a run that has a journal. Requests without an answer show up only in listings,
        which then get more time. Raises BadInputError where the credentials are of another account, where all
        would seem gone.
        """
        order = directory.order()
        _require_account(order, provider)
        if directory.unsure():
            policy = replace(policy, settle_s=_UNSURE * policy.settle_s, listings=2 * policy.listings)
        has_public_head = not order.is_private
        run, ordered = directory.path.name, directory.ordered
        return cls(provider=provider, run=run, policy=policy, ordered=ordered, has_public_head=has_public_head)

    def __post_init__(self) -> None:
        require_named(self.run)

    def list_existing(self, kinds: Collection[str], *, region: str) -> tuple[Resource, ...]:
        """Return the existing resources of these kinds. A listing is trusted except for resources that were asked to
        end, which are looked up by id.
        """
        listed = {item.key: item for item in self.provider.find(sorted(kinds), region=region, run=self.run)}
        believed = {key: item for key, item in listed.items() if key not in self._ended or item.ending}
        self._gone.difference_update(believed)
        self._known.update({resource.key: resource for resource in self.ordered()} | listed)
        doubtful = [item for item in self._of(kinds, region) if item.key not in believed]
        there = (*believed.values(), *self.confirm(doubtful))
        self._shown.update(resource.key for resource in there)
        return there

    def may_appear_later(self, kinds: Collection[str], *, region: str) -> bool:
        """Return whether any ordered resource has neither been seen nor proven gone: it may only be late."""
        return any(item.key not in self._shown | self._gone for item in self._of(kinds, region))

    def unasked(self, kinds: Collection[str], *, region: str) -> tuple[Resource, ...]:
        """Return the known resources of these kinds that have not been asked to end."""
        return tuple(item for item in self._of(kinds, region) if item.key not in self._ended)

    def possibly_existing(self, kinds: Collection[str], *, region: str) -> tuple[Resource, ...]:
        """Return the ordered or listed resources of these kinds that are not proven gone, without a request to the
        cloud.
        """
        self._known.update({item.key: item for item in self.ordered() if item.key not in self._known})
        return tuple(item for item in self._of(kinds, region) if item.key not in self._gone)

    def _of(self, kinds: Collection[str], region: str) -> list[Resource]:
        return [item for item in self._known.values() if item.region == region and item.kind in kinds]

    def confirm(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return those of the resources that exist, each looked up by its id unless proven gone, and remember the
        missing.
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
        """Look up machines by id and return those proven gone by now."""
        asked = [Resource(kind="instance", id=id_, region=region, run=self.run) for id_ in sorted(ids)]
        self.confirm(asked)
        return {item.id for item in asked if item.key in self._gone}

    def end(self, resources: Iterable[Resource]) -> None:
        """Remember that these resources were asked to end: a listing that shows them as running is stale."""
        self._ended.update(resource.key for resource in resources)

    def nodes(self, *, region: str, unlisted_s: float = 0.0) -> tuple[Node, ...]:
        """Return the run's machines in a region from one look. An ordered machine that does not show is starting, or
        ended once that is proven; a running one without its addresses is starting. Machines not listed for `unlisted_s`
        are looked up by id, one call each on some clouds.
        """
        listed = {node.id: self._with_state(node) for node in self.provider.nodes(self.run, region=region)}
        ordered = {item.id for item in self.ordered() if item.kind == "instance" and item.region == region}
        unseen = ordered - set(listed)
        gone = self.proven_gone(self._unlisted(unseen, listed, for_s=unlisted_s), region=region)
        return (*listed.values(), *(_unseen(id_, region, is_gone=id_ in gone) for id_ in sorted(unseen)))

    def _unlisted(self, unseen: Iterable[str], listed: Iterable[str], *, for_s: float) -> list[str]:
        """Return the machines not listed for `for_s` seconds."""
        now_s = time.monotonic()
        for id_ in listed:
            self._unlisted_since_s.pop(id_, None)
        return [id_ for id_ in unseen if self._unlisted_since_s.setdefault(id_, now_s) <= now_s - for_s]

    def settled_nodes(self, *, region: str) -> tuple[Node, ...]:
        """Return the machines in a region once each shows or is proven gone, or a listing has had time to show them."""
        nodes: tuple[Node, ...] = ()
        for _ in self.policy.settling():
            nodes = self.nodes(region=region)
            if not any(node.state == "starting" for node in nodes):
                break
        return nodes

    def observe(self, directory: RunDirectory) -> tuple[Resource, ...]:
        """Return the run's current resources, and record in its journal the machines that live or are proven gone."""
        kinds = [resource_kind for stage in self.provider.stages for resource_kind in stage]
        there: dict[Key, Resource] = {}
        nodes: dict[str, Node] = {}
        for _ in self.policy.settling():
            for region in directory.regions():
                there.update({item.key: item for item in self.list_existing(kinds, region=region)})
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


def _require_account(order: Order, provider: Provider) -> None:
    try:
        here = provider.account() if order.account else ""
    except PlannerError:
        return  # the calls to come say what is wrong
    if here != order.account:
        raise BadInputError(
            f"run {order.run} is in {order.account}, and the credentials here are for {here}",
            [f"set {provider.account_setting} to what the run was begun with; nothing was asked or removed"],
            code="other-account",
        )


def _unseen(id_: str, region: str, *, is_gone: bool) -> Node:
    """Return a machine known only by its id."""
    state: NodeState = "ended" if is_gone else "starting"
    reason = "it is gone" if is_gone else UNSEEN
    return Node(id=id_, region=region, zone="", head=False, state=state, instance_type="", reason=reason)


def _kind_and_region(resource: Resource) -> tuple[str, str]:
    return resource.kind, resource.region
