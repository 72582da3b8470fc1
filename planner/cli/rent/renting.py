"""Common parts of the commands that rent machines: options, checks beforehand, confirmation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.api import clusters
from planner.api.rental_options import RentalOptions, rental_options
from planner.api.run import plan_to_rent
from planner.api.run_job import Listeners, Work
from planner.cli.shell.console import columns, show_json, show_text, talk
from planner.cli.shell.declared_options import DeclaredOptions
from planner.cli.shell.files import read_plan
from planner.cli.shell.interrupts import orderly_end
from planner.cli.shell.progress import shown_events, watched
from planner.errors import BadInputError, InterruptedRunError
from planner.report.words import wrapped

if TYPE_CHECKING:
    from planner.api.clusters import Confirm
    from planner.api.software import Delivery
    from planner.clouds.order import ClusterOffer, Order
    from planner.clouds.protocol import Provider
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
    from planner.schemas.plan import Plan


class Rental(DeclaredOptions, of=[RentalOptions]):
    """How to rent machines: the arguments of `planner.up`."""


class JobRental(DeclaredOptions, of=[RentalOptions], without=["staging"]):
    """How to rent the machines of a job, whose input and output say whether they reach a store."""


class MeasuredRental(DeclaredOptions, of=[RentalOptions], without=["staging", "node_identity", "pricing", "or_next"]):
    """How to rent machines of one type to measure them."""


class Site(DeclaredOptions, of=[RentalOptions], only=["ssh_from", "subnet", "no_public_address", "image"]):
    """The network of two machines that test a cloud, and their image."""


class Access(DeclaredOptions, of=[RentalOptions], only=["ssh_from"]):
    """The network that may reach a head."""


Wheelhouse = Annotated[Path | None, Option(help="Wheels for rented machines, made by `planner cluster wheelhouse`.")]
DryRun = Annotated[bool, Option("--dry-run", help="Print what would be rented, created and paid; ask no cloud.")]
Verbose = Annotated[bool, Option("--verbose", help="With --dry-run: print every request, too.")]
Yes = Annotated[bool, Option("--yes", help="Do not ask.")]


def rental_of(options: Mapping[str, Any]) -> RentalOptions:
    """Return the rental that a command's options describe, and print the region if no option names it."""
    rental = rental_options(options)
    if rental.region_source:
        print_region(rental.regions[0], rental.region_source)
    return rental


def print_region(region: str, source: str) -> None:
    """Print a region that was not given, and its source."""
    talk(f"region {region}, as set by {source}; --region names another")


def session_on(cloud: str) -> ProviderSession:
    """Return a session on a cloud that reports its work on stderr."""
    return clusters.session_on(cloud, say=talk)


def plan_of(path: Path | None, rental: RentalOptions, work: Work) -> Plan:
    """Return the plan in a file, or a new one for some work. Raises BadInputError when neither is given."""
    if path:
        return read_plan(path)
    if not work.data:
        raise BadInputError("say what for: a plan's file, or --data", code="missing-argument")
    return plan_to_rent(work, rental)


def listeners() -> Listeners:
    """Return listeners that show a run on this terminal, and end it in order on a signal."""
    return Listeners(say=talk, watch=_watch, events=shown_events, guard=orderly_end)


def _watch(name: str) -> Any:
    return watched([name, f"{name}, second phase"])


def asking(*, yes: bool) -> Confirm:
    """Return a callback that confirms an order shown before: `yes`, or the person's answer."""
    return yes or (lambda order: _is_confirmed())


def asking_of_text(*, yes: bool) -> Callable[[str], bool] | bool:
    """Return a callback that confirms a text: `yes`, or the person's answer."""
    return yes or (lambda text: _is_confirmed())


def confirm(text: str, *, yes: bool) -> None:
    """Show the planned action and ask. Raises BadInputError where nobody can answer, InterruptedRunError for a no."""
    talk(text)
    if not (yes or _is_confirmed()):
        raise InterruptedRunError("nothing was done")


def _is_confirmed() -> bool:
    if not sys.stdin.isatty():
        raise BadInputError("nothing was done: nobody to ask; --yes answers the question", code="not-confirmed")
    talk("go ahead? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def show_dry_run(
    order: Order,
    rental: RentalOptions,
    provider: Provider,
    *,
    delivery: Delivery | None = None,
    verbose: bool,
    json: bool,
) -> None:
    """Print what would be rented and, where known, how the software gets there; with `verbose` or as JSON every request
    of launching and taking down.
    """
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
                "bill": [asdict(line) for line in place.bill],
                "usd_per_hour": place.launched_usd_per_hour,
                "expected_s": place.expected_s,
                "vcpus": vcpus,
                **({} if delivery is None else {"software": asdict(delivery) | {"added_s": delivery.added_s}}),
                "requests": [asdict(request) | {"parameters": _json_value(request.parameters)} for request in requests],
            }
        )
        return
    decision = decision_text(order, rehearsal, now=datetime.now(UTC), own_address=bool(rental.ssh_from), vcpus=vcpus)
    for line in [*([delivery.text] if delivery else []), *decision.splitlines()]:
        show_text("\n".join(wrapped(line, min(columns(), 100))))
    for line in request_lines(requests) if verbose else ():
        show_text(line)


def _vcpus(cloud: str, choice: ClusterOffer) -> float | None:
    """Return how much of the account's vCPU quota the machines take; None where the catalog lacks the type."""
    from planner.catalog import load_catalog

    types = load_catalog(cloud).instances
    row = types.rows.get(choice.instance_type.partition("+")[0])
    return None if row is None else float(types.vcpu[row]) * choice.machines


def _json_value(value: Any) -> Any:
    """Return a parameter for JSON: bytes, as in keys, as text."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {name: _json_value(item) for name, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else value
