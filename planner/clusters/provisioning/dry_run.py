"""A dry run: every request that up and down would make, in order, without making any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.preflight import Unnoted
from planner.clouds.protocol import Place, PlannedRequest, Provider, Resource
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.teardown import Teardown

_AT_ONCE = RetryPolicy(poll_s=0.0, settle_s=0.0, listings=1)


@dataclass(frozen=True)
class _Tally(Unnoted):
    """A journal that counts the resources that would be made, by kind; the simulated provider itself lists them."""

    counts: Counter[str] = field(default_factory=Counter)

    def made(self, resource: Resource) -> None:
        self.counts[resource.kind] += 1


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A launch that succeeds at the first place, and its end: all requests, and the number of resources per kind."""

    place: Place
    requests: list[PlannedRequest]
    made: Mapping[str, int]


def rehearse(order: Order, provider: Provider) -> Rehearsal:
    """Return the requests of an order without sending any to its cloud."""
    pretended, requests = provider.dry_run()
    choice = order.choices[0]
    region = choice.regions[0]
    place = Place(choice=choice, region=region, zone=provider.unknown_zone.format(region=region))
    keyed, tally = replace(order, ssh_public_key="<public key of the run>"), _Tally()
    pretended.prepare(keyed, place, tally)
    pretended.launch(keyed, place, tally, machines=place.choice.machines, head=True, round=0)
    pretended.nodes(order.run, region=place.region)
    account = Reconciliation(provider=pretended, run=order.run, policy=_AT_ONCE)
    Teardown(account=account, say=lambda _: None).regions([place.region])
    return Rehearsal(place=place, requests=requests, made=dict(tally.counts))
