"""A dry run: every request that up and down would make, in order, without making one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.cloud_calls.retry import RetryPolicy
from planner.providers.order import Order
from planner.providers.protocol import PlannedRequest, Provider, Resource
from planner.provisioning.teardown import Teardown

_AT_ONCE = RetryPolicy(poll_s=0.0, settle_s=0.0)


@dataclass(frozen=True)
class _NoJournal:
    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """Nothing is created, so nothing is noted."""

    def made(self, resource: Resource) -> None:
        """Nothing is created, so nothing is noted."""


def dry_run_requests(order: Order, provider: Provider) -> list[PlannedRequest]:
    """Return the requests of a launch at the first place that goes well, and of taking it down."""
    pretended, requests = provider.dry_run()
    place = provider.dry_run_place(order)
    keyed = replace(order, ssh_public_key="<public key of the run>")
    pretended.prepare(keyed, place, _NoJournal())
    pretended.launch(keyed, place, _NoJournal(), machines=place.choice.machines, head=True, round=0)
    pretended.nodes(order.run, region=place.region)
    Teardown(provider=pretended, run=order.run, policy=_AT_ONCE, say=lambda _: None).regions(
        [place.region], unsure=False
    )
    return requests
