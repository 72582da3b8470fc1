"""A dry run: every request that up and down would make, in order, without making one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.protocol import Place, PlannedRequest, Provider, Resource
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.teardown import Teardown

_AT_ONCE = RetryPolicy(poll_s=0.0, settle_s=0.0, looks=1)


@dataclass(frozen=True)
class _Tally:
    """A journal that counts what would be made, by its kind."""

    counts: Counter[str] = field(default_factory=Counter)

    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """Nothing is created, so nothing is noted."""

    def made(self, resource: Resource) -> None:
        self.counts[resource.kind] += 1

    def not_made(self, resource_kind: str, *, name: str) -> None:
        """A pretended launch is never refused."""

    def ordered(self) -> tuple[Resource, ...]:
        """A teardown finds what was pretended to be made."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A launch at the first place that goes well, and its end: all requests, and how much of each kind they make."""

    place: Place
    requests: list[PlannedRequest]
    made: Mapping[str, int]


def rehearse(order: Order, provider: Provider) -> Rehearsal:
    """Return what an order would ask of its cloud, of which nothing is asked."""
    pretended, requests = provider.dry_run()
    place = provider.dry_run_place(order)
    keyed, tally = replace(order, ssh_public_key="<public key of the run>"), _Tally()
    pretended.prepare(keyed, place, tally)
    pretended.launch(keyed, place, tally, machines=place.choice.machines, head=True, round=0)
    pretended.nodes(order.run, region=place.region)
    account = Reconciliation(provider=pretended, run=order.run, policy=_AT_ONCE)
    Teardown(account=account, say=lambda _: None).regions([place.region])
    return Rehearsal(place=place, requests=requests, made=dict(tally.counts))
