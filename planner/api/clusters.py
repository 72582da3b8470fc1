"""Clusters rented from Python, `planner.up(...)` and `planner.down(...)`; and what every rental has in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner.api.rental_options import RentalOptions
from planner.errors import BadInputError, InterruptedRunError, IoFailureError, ProviderRefusedError
from planner.schemas.plan import Plan

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.clouds.order import ClusterOffer, Order
    from planner.clouds.protocol import Place, Preflight, Provider
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
    from planner.clusters.provisioning.launch import Cluster
    from planner.clusters.provisioning.order_from_plan import Limits
    from planner.clusters.provisioning.run_directory import RunDirectory

Confirm = Callable[["Order"], bool] | bool
"""Whether to rent: a yes or no, or what is asked with the order at today's prices."""
Say = Callable[[str], None]

_PLACEHOLDER = "203.0.113.7/32"
"""An address of the documentation's own (RFC 5737), for a dry run that was not told from where."""


@dataclass(frozen=True, kw_only=True)
class RaisedCluster:
    """A cluster that runs: what was ordered, what came, and the directory that knows it."""

    order: Order
    cluster: Cluster
    directory: RunDirectory

    @property
    def run(self) -> str:
        """The name by which `down` finds it."""
        return self.order.run


def silent(text: str) -> None:
    """Say nothing."""


def up(
    plan: Plan | Recommendation,
    rental: RentalOptions,
    *,
    confirm: Confirm = False,
    say: Say = silent,
    guard: AbstractContextManager[None] | None = None,
) -> RaisedCluster:
    """Rent the cluster of a plan: all of it in one placement group, or nothing. `guard` is held once
    it is confirmed, such as a handler of signals.

    Raises BadInputError without confirmation, ProviderRefusedError with every reason where the cloud refuses, and
    LeftBehindError for what could not be removed again.

    >>> import planner
    >>> from planner.api.rental_options import RentalOptions
    >>> answer = planner.recommend("1TB", instance="i4i.4xlarge")
    >>> raised = planner.up(answer, RentalOptions(cloud="aws", max_cost=50), confirm=True)  # doctest: +SKIP
    >>> planner.down(raised.run)  # doctest: +SKIP
    """
    from planner.clusters.provisioning import cluster_lifecycle

    made = plan if isinstance(plan, Plan) else plan.plan
    session = session_with_access(rental.cloud, say=say)
    order = ordered(made, rental, is_dry_run=False, screened=False)
    limits = rental.limits
    order, places = confirm_order(order, session.provider, limits, confirm=confirm, say=say)
    with guard or nullcontext():
        order, directory = cluster_lifecycle.begin(order, places, month_usd=limits.month_usd)
        with directory.lock():
            cluster = cluster_lifecycle.up(order, places, directory, session)
    return RaisedCluster(order=order, cluster=cluster, directory=directory)


def down(run: str, *, say: Say = silent) -> int:
    """Take down all that a run has in the cloud, and return how many resources that was. Raises LeftBehindError.

    >>> import planner
    >>> planner.down("r20261121-1430-x7k2mq")  # doctest: +SKIP
    11
    """
    from planner.clusters.provisioning import cluster_lifecycle
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.rented_run import is_unsaved

    directory = RunDirectory.open(run)
    if is_unsaved(directory):
        say(f"the output of run {run} lies on its machines' disks alone, and goes with them")
    with directory.lock():
        return cluster_lifecycle.down(directory, session_with_access(directory.order().cloud, say=say))


def session_on(cloud: str, *, say: Say = silent) -> ProviderSession:
    """Return what works on a cloud."""
    from planner.clouds.calls.retry import RetryPolicy
    from planner.clouds.registry import provider_of
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession

    policy = RetryPolicy()
    return ProviderSession(provider=provider_of(cloud, policy=policy), policy=policy, say=say)


def session_with_access(cloud: str, *, say: Say = silent) -> ProviderSession:
    """Return what works on a cloud, having seen that there are credentials for it. Raises PermissionDeniedError where
    there are none. A failure that may pass is left to the calls, which are repeated.
    """
    session = session_on(cloud, say=say)
    with suppress(IoFailureError):
        session.provider.require_access()
    return session


def ordered(plan: Plan, rental: RentalOptions, *, is_dry_run: bool, screened: bool = True) -> Order:
    """Return the order of a run that begins now. Spares are for machines that are `screened`.

    A dry run asks nobody, neither for this machine's public address nor for today's price: the plan's price decides
    what keeps to the limits.
    """
    from planner.clusters.provisioning.order_from_plan import choices_of

    choices = choices_of(plan, cloud=rental.cloud, regions=rental.regions, or_next=rental.or_next, screened=screened)
    return ordered_choices(choices, rental, is_dry_run=is_dry_run)


def ordered_choices(choices: Sequence[ClusterOffer], rental: RentalOptions, *, is_dry_run: bool) -> Order:
    """Return the order of the first of `choices` that can be had; see `ordered`."""
    from planner.clusters.provisioning.order_from_plan import offers_within, order_of, own_network
    from planner.clusters.provisioning.run_directory import new_run_id

    now = datetime.now(UTC)
    return order_of(
        offers_within(choices, rental.limits) if is_dry_run else choices,
        run=new_run_id(now),
        cloud=rental.cloud,
        ssh_from=rental.ssh_from or (_PLACEHOLDER if is_dry_run else own_network()),
        limits=rental.limits,
        now=now,
        image=rental.image,
        staging=rental.staging,
        node_identity=rental.node_identity,
        subnet=rental.subnet,
        is_private=rental.is_private,
        jump=rental.jump,
        reservation=rental.reservation,
        user_tags=rental.tags,
    )


def confirm_order(
    order: Order, provider: Provider, limits: Limits, *, confirm: Confirm, say: Say
) -> tuple[Order, tuple[Place, ...]]:
    """Look, say what will be rented, have it confirmed, and return the order at today's prices and the places to try.

    Raises ProviderRefusedError with every reason when there are none, BadInputError without a confirmation.
    """
    from planner.clusters.provisioning.order_from_plan import affordable_places, owner, with_todays_end
    from planner.report.terminal.cluster_table import findings_text, offer_text

    order = replace(order, owner=owner(provider.identity()))
    preflight: Preflight = provider.preflight(order)
    say(findings_text(preflight))
    places, reasons = affordable_places(preflight, limits)
    if not places:
        against = [f"{finding.subject}: {finding.text}" for finding in preflight.findings if finding.ok is False]
        raise ProviderRefusedError("nothing can be launched; nothing was created", [*against, *reasons])
    now = datetime.now(UTC)
    order = with_todays_end(order, places, limits, now=now)
    say(offer_text(order, places, now=now))
    if confirm is False:
        raise BadInputError("nothing was done: renting needs a confirmation; pass confirm=True, or what is asked")
    if confirm is not True and not confirm(order):
        raise InterruptedRunError("nothing was done")
    return order, places
