"""What the commands that rent machines have in common: their options, the look beforehand, and the question."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.api.rental_options import RentalOptions
from planner.cli.shell import completion
from planner.cli.shell.console import columns, show_json, show_text, talk
from planner.cli.shell.files import read_plan
from planner.errors import BadInputError, InterruptedRunError, ProviderRefusedError

if TYPE_CHECKING:
    from planner.clouds.order import Choice, Order
    from planner.clouds.protocol import Place, Preflight, Provider
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
    from planner.clusters.provisioning.order_from_plan import Limits
    from planner.schemas.plan import Plan

Regions = Annotated[
    list[str] | None,
    Option(
        "--region",
        help="Regions to try, in this order; the first is planned for.",
        show_default="the catalog's",
        autocompletion=completion.regions,
    ),
]
MaxCost = Annotated[float | None, Option(help="The whole run may cost so many US dollars.", min=0.01)]
MaxHours = Annotated[str | None, Option(help="Every machine ends by itself after: 4h, 90m.")]
SshFrom = Annotated[
    str | None, Option(help="The only network that may reach the head.", show_default="this machine's address")
]
Image = Annotated[str | None, Option(help="Machine image.", show_default="the newest stock Ubuntu 24.04")]
Pricing = Annotated[str, Option(help="on-demand, or spot: all but the head may be taken back, and are replaced.")]
NodeIdentity = Annotated[
    str | None, Option(help="What the machines are to the cloud: instance profile, service account, managed identity.")
]
Subnet = Annotated[
    str | None,
    Option(
        help="A subnet that exists: its id on AWS and Azure, its name on Google.",
        show_default="a network of the run's own, removed in the end",
    ),
]
NoPublicAddress = Annotated[
    bool, Option("--no-public-address", help="Reach the head at its private address; with --subnet and --ssh-from.")
]
Jump = Annotated[
    str | None,
    Option(help="Machine, as your own ssh knows it, through which the head is reached; with --no-public-address."),
]
Reservation = Annotated[
    str | None,
    Option(help="Capacity that is reserved already: an id on AWS, a name on Google, a group's resource id on Azure."),
]
Wheelhouse = Annotated[Path | None, Option(help="Wheels for rented machines, made by `planner cluster wheelhouse`.")]
DryRun = Annotated[bool, Option("--dry-run", help="Say what would be rented, created and paid; ask no cloud.")]
Verbose = Annotated[bool, Option("--verbose", help="With --dry-run: print every request, too.")]
Yes = Annotated[bool, Option("--yes", help="Do not ask.")]

_PLACEHOLDER = "203.0.113.7/32"
"""An address of the documentation's own (RFC 5737), for a dry run that was not told from where."""


def session_on(cloud: str) -> ProviderSession:
    """Return what works on a cloud."""
    from planner.clouds.calls.retry import RetryPolicy
    from planner.clouds.registry import provider_of
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession

    policy = RetryPolicy()
    return ProviderSession(provider=provider_of(cloud, policy=policy), policy=policy, say=talk)


def plan_of(
    path: Path | None,
    rental: RentalOptions,
    *,
    data: str | None,
    model: str,
    instances: Sequence[str] | None,
    nodes: int | None,
    architecture: str | None = None,
    input: str | None = None,
    output: str | None = None,
) -> Plan:
    """Return the plan in a file, or made now for a job. Raises BadInputError when neither is given."""
    from planner.api.recommend import recommend

    if path:
        plan = read_plan(path)
        if rental.pricing not in ("on-demand", plan.request.pricing):
            raise BadInputError(f"--pricing {rental.pricing}: {path} is a plan for {plan.request.pricing} machines")
        return plan
    if not data:
        raise BadInputError("say what for: a plan's file, or --data")
    answer = recommend(
        data=data,
        model=model,
        catalogs=(rental.cloud,),
        regions=rental.regions[:1],
        instances=instances or (),
        arch=architecture,
        nodes=nodes,
        pricing=rental.pricing,
        input=input,
        output=output,
        today=datetime.now(UTC).date(),
    )
    return answer.plan


def ordered(plan: Plan, rental: RentalOptions, *, is_dry_run: bool, screened: bool = True) -> Order:
    """Return the order of a run that begins now. Spares are for machines that are `screened`.

    A dry run asks nobody, neither for this machine's public address nor for today's price: the plan's price decides
    what keeps to the limits.
    """
    from planner.clusters.provisioning.order_from_plan import choices_of

    choices = choices_of(plan, cloud=rental.cloud, regions=rental.regions, screened=screened)
    return ordered_choices(choices, rental, is_dry_run=is_dry_run)


def ordered_choices(choices: Sequence[Choice], rental: RentalOptions, *, is_dry_run: bool) -> Order:
    """Return the order of the first of `choices` that can be had; see `ordered`."""
    from planner.clusters.provisioning.order_from_plan import order_of, own_network, within
    from planner.clusters.provisioning.run_directory import new_run_id

    now = datetime.now(UTC)
    return order_of(
        within(choices, rental.limits) if is_dry_run else choices,
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
    )


def agreed(order: Order, provider: Provider, limits: Limits, *, yes: bool) -> tuple[Order, tuple[Place, ...]]:
    """Look, show what will be rented, ask, and return the order at today's prices and the places to try.

    Raises ProviderRefusedError with every reason when there are none, and what `confirm` raises.
    """
    from planner.clusters.provisioning.order_from_plan import affordable, with_todays_end
    from planner.report.terminal.cluster_table import findings_text, offer_text

    preflight: Preflight = provider.preflight(order)
    talk(findings_text(preflight))
    places, reasons = affordable(preflight, limits)
    if not places:
        against = [f"{finding.subject}: {finding.text}" for finding in preflight.findings if finding.ok is False]
        raise ProviderRefusedError("nothing can be launched; nothing was created", [*against, *reasons])
    now = datetime.now(UTC)
    order = with_todays_end(order, places, limits, now=now)
    confirm(offer_text(order, places, now=now), yes=yes)
    return order, places


def confirm(text: str, *, yes: bool) -> None:
    """Show what is about to be done and ask. Raises BadInputError where nobody can answer, InterruptedRunError for a
    no.
    """
    talk(text)
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInputError("nothing was done: nobody to ask; --yes answers the question")
    talk("go ahead? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InterruptedRunError("nothing was done")


def show_dry_run(order: Order, rental: RentalOptions, provider: Provider, *, verbose: bool, json: bool) -> None:
    """Print what would be rented, and with `verbose` or as JSON every request of launching and taking down."""
    from dataclasses import asdict

    from planner.clusters.provisioning.dry_run import rehearse
    from planner.report.terminal.cluster_table import decision_text, request_lines

    rehearsal = rehearse(order, provider)
    requests, vcpus = rehearsal.requests, _vcpus(order.cloud, rehearsal.place.choice)
    if json:
        place = rehearsal.place.choice
        show_json(
            {
                "nodes": place.nodes,
                "spares": place.spares,
                "cost_usd": place.total_usd,
                "usd_per_hour": place.launched_usd_per_hour,
                "expected_s": place.expected_s,
                "vcpus": vcpus,
                "requests": [asdict(request) | {"parameters": _plain(request.parameters)} for request in requests],
            }
        )
        return
    decision = decision_text(order, rehearsal, now=datetime.now(UTC), own_address=bool(rental.ssh_from), vcpus=vcpus)
    for line in decision.splitlines():
        show_text(textwrap.fill(line, min(columns(), 100), subsequent_indent="  "))
    for line in request_lines(requests) if verbose else ():
        show_text(line)


def _vcpus(cloud: str, choice: Choice) -> float | None:
    """Return how many virtual CPUs of the account's quota the machines take; None where the catalog lacks the type."""
    from planner.catalog import load_catalog

    types = load_catalog(cloud).instances
    row = types.rows.get(choice.instance_type.partition("+")[0])
    return None if row is None else float(types.vcpu[row]) * choice.machines


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it: bytes, as in keys, as text."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
