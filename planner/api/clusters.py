"""Clusters rented from Python, `planner.up(...)` and `planner.down(...)`, and steps shared by all rentals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

from planner.api.arguments.run_arguments import RentalArguments
from planner.api.rental_options import RentalOptions, RentedCloud, rental_options
from planner.errors import BadInputError, InterruptedRunError, IoFailureError, PlannerError, ProviderRefusedError
from planner.schemas.arguments import with_typed_arguments
from planner.schemas.door import checked
from planner.schemas.plan import Plan

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.clouds.order import ClusterOffer, Order
    from planner.clouds.protocol import Finding, Place, Preflight, Provider
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
    from planner.clusters.provisioning.launch import Cluster
    from planner.clusters.provisioning.order_from_plan import Limits
    from planner.clusters.provisioning.run_directory import RunDirectory

Confirm = Callable[["Order"], bool] | bool
"""Consent to rent: a yes or no, or a function called with the order at today's prices."""
Say = Callable[[str], None]

_PLACEHOLDER = "203.0.113.7/32"
"""Documentation address (RFC 5737), used in a dry run without an SSH source address."""


@dataclass(frozen=True, kw_only=True)
class RaisedCluster:
    """A running cluster: its order, its machines, and its run directory."""

    order: Order
    cluster: Cluster
    directory: RunDirectory

    @property
    def run(self) -> str:
        """The name that `down` takes."""
        return self.order.run


def silent(text: str) -> None:
    """Print nothing."""


def up(
    plan: Plan | Recommendation,
    *,
    cloud: RentedCloud,
    confirm: Confirm = False,
    say: Say = silent,
    guard: AbstractContextManager[None] | None = None,
    **asked: Unpack[RentalArguments],
) -> RaisedCluster:
    """Rent the whole cluster of a plan in one placement group, or nothing. `guard`, such as a signal handler, is held
    from the confirmation on. The other arguments are options of `planner cluster up`.

    Raises BadInputError without confirmation, ProviderRefusedError with every reason where the cloud refuses, and
    LeftBehindError if resources could not be removed again.

    >>> import planner
    >>> answer = planner.recommend("1TB", instance="i4i.4xlarge")
    >>> raised = planner.up(answer, cloud="aws", max_cost=50, confirm=True)  # doctest: +SKIP
    >>> planner.down(raised.run)  # doctest: +SKIP
    """
    rental = rental_options({"plan": plan, **asked, "cloud": cloud})
    return raise_cluster(plan if isinstance(plan, Plan) else plan.plan, rental, confirm=confirm, say=say, guard=guard)


up.__signature__ = with_typed_arguments(up, RentalArguments, RentalOptions)  # type: ignore[attr-defined]
up = checked(up)


def raise_cluster(
    made: Plan, rental: RentalOptions, *, confirm: Confirm, say: Say, guard: AbstractContextManager[None] | None
) -> RaisedCluster:
    """Rent the whole cluster of a plan; see `up`."""
    from planner.clusters.provisioning import cluster_lifecycle

    choices = choices_to_rent(made, rental, screened=False)
    session = session_with_access(rental.cloud, say=say)
    order = ordered_choices(choices, rental, is_dry_run=False)
    limits = rental.limits
    order, places = confirm_order(order, session.provider, limits, confirm=confirm, say=say)
    with guard or nullcontext():
        order, directory = cluster_lifecycle.begin(order, places, month_usd=limits.month_usd)
        with directory.lock():
            cluster = cluster_lifecycle.up(order, places, directory, session)
    return RaisedCluster(order=order, cluster=cluster, directory=directory)


@checked
def examine_account(
    cloud: RentedCloud, plan: Plan | Recommendation | None = None, *, region: str | Sequence[str] | None = None
) -> tuple[Finding, ...]:
    """Ask a cloud, which creates nothing, for all that renting a plan's cluster needs, or two small machines: rights,
    quotas, images, types, networks, prices. A finding is good (`ok` True), a reason against (False), or unknown (None).

    Raises PermissionDeniedError without credentials, and BadInputError for a plan without a cluster on this cloud.

    >>> import planner
    >>> [finding.text for finding in planner.examine_account("aws") if finding.ok is False]  # doctest: +SKIP
    []
    """
    from planner.clusters.provisioning.order_from_plan import owner
    from planner.clusters.provisioning.smoke import small_choice

    rental = rental_options({"cloud": cloud, "plan": plan, **({"region": region} if region else {})})
    provider = session_with_access(cloud).provider
    if plan is None:
        choices = [small_choice(cloud, region=next(iter(rental.regions), None), instance=None)]
    else:
        choices = choices_to_rent(plan if isinstance(plan, Plan) else plan.plan, rental, screened=True)
    order = ordered_choices(choices, rental, is_dry_run=True)
    preflight: Preflight = provider.preflight(
        replace(order, owner=owner(provider.identity()), account=provider.account())
    )
    return preflight.findings


@checked
def down(run: str, *, say: Say = silent) -> int:
    """Take down all cloud resources of a run and return their number. Raises LeftBehindError, and BadInputError while
    another process works on the run.

    >>> import planner
    >>> planner.down("r20261121-1430-x7k2mq")  # doctest: +SKIP
    11
    """
    from planner.clusters.provisioning import cluster_lifecycle
    from planner.clusters.provisioning.run_directory import RunDirectory
    from planner.clusters.runs.rented_run import is_unsaved

    directory = RunDirectory.open(run)
    with suppress(PlannerError, OSError):  # its manifest cannot be read
        if is_unsaved(directory):
            say(f"the output of run {run} lies on its machines' disks alone, and goes with them")
    with ExitStack() as stack:
        with suppress(OSError):  # the disk is full or read-only
            stack.enter_context(directory.lock())
        return cluster_lifecycle.down(directory, session_with_access(directory.order().cloud, say=say))


def session_on(cloud: str, *, say: Say = silent) -> ProviderSession:
    """Return the session for a cloud."""
    from planner.clouds.calls.retry import RetryPolicy
    from planner.clouds.registry import provider_of
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession

    policy = RetryPolicy()
    return ProviderSession(provider=provider_of(cloud, policy=policy), policy=policy, say=say)


def session_with_access(cloud: str, *, say: Say = silent) -> ProviderSession:
    """Return the session for a cloud after checking for credentials. Raises PermissionDeniedError without credentials.
    Temporary failures are left to the calls, which retry.
    """
    session = session_on(cloud, say=say)
    with suppress(IoFailureError):
        session.provider.require_access()
    return session


def ordered(plan: Plan, rental: RentalOptions, *, is_dry_run: bool, screened: bool = True, say: Say = silent) -> Order:
    """Return the order of a run that begins now. Spares are only ordered for `screened` machines.

    A dry run makes no network calls, neither for this machine's public address nor for today's price: limits are
    checked against the plan's price, and `say` is told which choices they leave out.
    """
    return ordered_choices(choices_to_rent(plan, rental, screened=screened), rental, is_dry_run=is_dry_run, say=say)


def choices_to_rent(plan: Plan, rental: RentalOptions, *, screened: bool) -> list[ClusterOffer]:
    """Return the clusters of a plan to rent, the first choice first; asks no cloud. Raises BadInputError for a plan of
    machines under another way to pay, InfeasibleError for one without a cluster on the cloud.
    """
    from planner.clusters.provisioning.order_from_plan import choices_of

    planned = plan.best.pricing if plan.best else plan.request.pricing
    if rental.pricing not in ("on-demand", planned):
        text = f"`pricing={rental.pricing}`: the plan is for {planned} machines; plan with it, or leave it out"
        raise BadInputError(text, field="pricing", code="contradiction")
    return choices_of(plan, cloud=rental.cloud, regions=rental.regions, or_next=rental.or_next, screened=screened)


def ordered_choices(
    choices: Sequence[ClusterOffer], rental: RentalOptions, *, is_dry_run: bool, say: Say = silent
) -> Order:
    """Return the order of the first available cluster among `choices`; see `ordered`."""
    from planner.clusters.provisioning.order_from_plan import offers_within, order_of, own_network
    from planner.clusters.provisioning.run_directory import new_run_id

    now = datetime.now(UTC)
    if is_dry_run:
        choices, left_out = offers_within(choices, rental.limits)
        for reason in left_out:
            say(f"left out: {reason}")
    return order_of(
        choices,
        run=new_run_id(now),
        cloud=rental.cloud,
        ssh_from=rental.ssh_from or (_PLACEHOLDER if is_dry_run else own_network()),
        limits=rental.limits,
        now=now,
        image=rental.image,
        staging=rental.staging,
        node_identity=rental.node_identity or "",
        subnet=rental.subnet or "",
        is_private=rental.no_public_address,
        jump=rental.jump or "",
        reservation=rental.reservation or "",
        user_tags=rental.tags,
    )


def confirm_order(
    order: Order, provider: Provider, limits: Limits, *, confirm: Confirm, say: Say
) -> tuple[Order, tuple[Place, ...]]:
    """Check availability, print the order, have it confirmed, and return it at today's prices with the places to try.

    Raises ProviderRefusedError with every reason if no place remains, BadInputError without a confirmation.
    """
    from planner.clusters.provisioning.order_from_plan import affordable_places, owner, with_todays_end
    from planner.report.terminal.cluster_table import findings_text, offer_text

    order = replace(order, owner=owner(provider.identity()), account=provider.account())
    preflight: Preflight = provider.preflight(order)
    say(findings_text(preflight))
    places, reasons = affordable_places(preflight, limits)
    if not places:
        against = [f"{finding.subject}: {finding.text}" for finding in preflight.findings if finding.ok is False]
        raise ProviderRefusedError(
            "nothing can be launched; nothing was created", [*against, *reasons], code="nothing-to-launch"
        )
    for reason in reasons:
        say(f"left out: {reason}")
    order = with_todays_end(order, places, limits)
    say(offer_text(order, places, now=datetime.now(UTC)))
    if confirm is False:
        raise BadInputError(
            "nothing was done: renting needs a confirmation; pass confirm=True, or what is asked", code="not-confirmed"
        )
    if confirm is not True and not confirm(order):
        raise InterruptedRunError("nothing was done")
    return order, places
