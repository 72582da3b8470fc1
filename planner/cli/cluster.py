"""`planner cluster up|status|down|sweep`: machines rented for a plan, and never one left behind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.cli.console import show_json, show_text, talk
from planner.cli.emulate import emulate_sweep
from planner.cli.interrupts import orderly_end
from planner.errors import BadInputError, InterruptedRunError, LeftBehindError, ProviderRefusedError
from planner.units import parse_duration, parse_size

if TYPE_CHECKING:
    from planner.cluster.up import Hands
    from planner.plan import Plan
    from planner.providers.order import Order
    from planner.providers.protocol import Place, PlannedRequest, Preflight, Provider

_JSON = Annotated[bool, Option("--json", help="Print as one JSON object.")]
_PLACEHOLDER = "203.0.113.7/32"
"""An address of the documentation's own (RFC 5737), for a dry run that was not told from where."""
_YES = Annotated[bool, Option("--yes", help="Do not ask.")]


def cluster_up(
    plan: Annotated[Path | None, Argument(help="A plan that `plan --json` wrote; else --data and --model.")] = None,
    *,
    data: Annotated[str | None, Option(help="How much to sort: 100TB.")] = None,
    model: Annotated[str | None, Option(help="Cost model: a name that `planner models` lists, or a TOML file.")] = None,
    cloud: Annotated[str, Option(help="Where to rent: aws, gcp.")] = "aws",
    region: Annotated[list[str] | None, Option(help="Further regions to try, in this order; may be repeated.")] = None,
    instance: Annotated[list[str] | None, Option(help="Only these types; patterns such as 'i4i.*' work.")] = None,
    nodes: Annotated[int | None, Option(help="Exactly so many nodes.", min=1)] = None,
    max_cost: Annotated[float | None, Option(help="The whole run may cost so many US dollars.", min=0.01)] = None,
    max_hours: Annotated[str | None, Option(help="Every machine ends by itself after: 4h, 90m.")] = None,
    ssh_from: Annotated[
        str | None, Option(help="The only network that may reach the head.", show_default="this machine's address")
    ] = None,
    image: Annotated[str | None, Option(help="Machine image.", show_default="the newest stock Ubuntu 24.04")] = None,
    staging: Annotated[bool, Option("--staging", help="Let the nodes reach the cloud's object store.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print every request of up and down; make none.")] = False,
    yes: _YES = False,
    json: _JSON = False,
) -> None:
    """Rent the cluster of a plan: look, ask, then launch all of it in one placement group, or nothing.

    When there is no room, the next zone is tried, then the next region allowed, then the plan's next choice. Ends with
    exit code 4 when the cloud refuses, 7 when something could not be taken down again.

    Example: planner cluster up --data 1TB --model indy --instance i4i.4xlarge --max-cost 50
    """
    from planner.cluster.ordering import Limits, choices_of, order_of, own_network
    from planner.cluster.run_directory import new_run_id

    limits = Limits(cost_usd=max_cost, hours=parse_duration(max_hours) / 3600 if max_hours else None)
    made = _plan(plan, data=data, model=model, cloud=cloud, regions=region, instances=instance, nodes=nodes)
    now = datetime.now(UTC)
    order = order_of(
        choices_of(made, cloud=cloud, regions=region or ()),
        run=new_run_id(now),
        cloud=cloud,
        ssh_from=ssh_from or (_PLACEHOLDER if dry_run else own_network()),
        limits=limits,
        now=now,
        image=image,
        staging=staging,
    )
    hands = _hands(cloud)
    if dry_run:
        _show_requests(_rehearsed(order, hands.provider), json=json)
        return
    places = _looked_at(order, hands.provider, limits)
    _confirm(_offer(order, places, now), yes=yes)
    with orderly_end():
        _raise(order, places, hands, json=json)


def _raise(order: Order, places: Sequence[Place], hands: Hands, *, json: bool) -> None:
    from dataclasses import asdict

    from planner.cluster.up import begin, up
    from planner.report.cluster_table import cluster_text

    keyed, directory = begin(order)
    with directory.held():
        cluster = up(keyed, places, directory, hands)
    if json:
        nodes = [asdict(node) | {"launched_at": str(node.launched_at or "")} for node in cluster.nodes]
        place = {"region": cluster.place.region, "zone": cluster.place.zone, "choice": asdict(cluster.place.choice)}
        show_json({"run": order.run, "place": place, "nodes": nodes, "key": str(directory.key)})
    else:
        show_text(cluster_text(cluster, run=order.run, key=str(directory.key)))


def cluster_status(
    run: Annotated[str | None, Argument(help="A run, to ask its cloud; else all that this machine knows.")] = None,
    *,
    json: _JSON = False,
) -> None:
    """Say what runs, what it has cost so far, and when it ends by itself.

    Example: planner cluster status
    """
    from planner.cluster.run_directory import RunDirectory, known_runs

    found = [_status(RunDirectory.open(name), asking=run is not None) for name in ([run] if run else known_runs())]
    if json:
        show_json(found)
        return
    for one in found:
        show_text(
            f"{one['run']}  {one['cloud']}  {one['state']:<8}  ${one['cost_usd']:.2f} for {one['node_hours']:.2f} "
            f"node-hours, ends by itself {one['expires_at']}"
        )
        for line in one.get("resources", ()):
            show_text(f"  {line}")


def _status(directory: Any, *, asking: bool) -> dict[str, Any]:
    from planner.cluster.bill import bill_of

    order, events = directory.order(), directory.events()
    bill = bill_of(events, now=datetime.now(UTC))
    state = next((e.what for e in reversed(events) if e.what in ("down", "up", "intent")), "planned")
    found: dict[str, Any] = {
        "run": order.run,
        "cloud": order.cloud,
        "state": {"intent": "starting"}.get(state, state),
        "node_hours": bill.node_hours,
        "cost_usd": bill.usd,
        "machines": bill.running,
        "expires_at": order.expires_at.isoformat(),
    }
    if asking:
        provider = _hands(order.cloud).provider
        kinds = [kind for stage in provider.stages for kind in stage]
        resources = [r for region in directory.regions() for r in provider.find(kinds, region=region, run=order.run)]
        found |= {"resources": [resource.text for resource in resources]}
    return found


def cluster_down(
    run: Annotated[str, Argument(help="The run to take down; `planner cluster status` lists them.")],
    *,
    json: _JSON = False,
) -> None:
    """Take down all that a run has in the cloud, wait, look again, and end with 7 naming what is left, if anything is.

    Example: planner cluster down r20261121-1430-x7k2mq
    """
    from planner.cluster.run_directory import RunDirectory
    from planner.cluster.up import down

    directory = RunDirectory.open(run)
    with directory.held(), orderly_end():
        removed = _patiently(lambda: down(directory, _hands(directory.order().cloud)))
    if json:
        show_json({"run": run, "removed": removed, "left": []})
    else:
        show_text(f"run {run}: {removed} resources removed, none left")


def cluster_sweep(
    *,
    cloud: Annotated[str, Option(help="Which cloud: aws, gcp; or `emulated`, as `planner emulate sweep`.")] = "aws",
    region: Annotated[list[str] | None, Option(help="Only these regions.", show_default="all of the account")] = None,
    all_runs: Annotated[bool, Option("--all", help="Also what has not expired yet.")] = False,
    anyone: Annotated[bool, Option("--anyone", help="Also what others began.")] = False,
    yes: _YES = False,
    json: _JSON = False,
) -> None:
    """Find clusters by their tags alone, whoever lost track of them, and take down those that have expired.

    Example: planner cluster sweep --cloud aws
    """
    if cloud == "emulated":
        emulate_sweep(json=json)
        return
    from planner.cluster.ordering import owner
    from planner.cluster.up import expired, remove_swept, sweep

    hands = _hands(cloud)
    me = owner()
    seen = sweep(
        hands,
        regions=region or hands.provider.regions(),
        wanted=lambda each: (all_runs or expired(each)) and (anyone or each.owner == me),
    )
    if seen.runs:
        listed = "\n".join(f"run {run}: {len(some)} resources" for run, some in seen.runs.items())
        _confirm(f"{listed}\nto be taken down", yes=yes)
    removed, left = {}, []
    with orderly_end():
        for run, some in seen.runs.items():
            try:
                removed[run] = remove_swept(run, some, hands)
            except LeftBehindError as error:
                left += [error.message, *error.details]
    if json:
        show_json({"removed": removed, "left": left, "unseen": seen.unseen})
    else:
        show_text(f"{len(removed)} runs taken down, {sum(removed.values())} resources")
    if left:
        raise LeftBehindError("the sweep could not remove everything", left)
    if seen.unseen:
        reasons = [f"{name}: {why}" for name, why in seen.unseen.items()]
        raise ProviderRefusedError("could not look into these regions; --region leaves them out", reasons)


def _hands(cloud: str) -> Hands:
    from planner.cluster.up import Hands
    from planner.providers.pace import Pace
    from planner.providers.registry import provider_of

    pace = Pace()
    return Hands(provider=provider_of(cloud, pace=pace), pace=pace, say=talk)


def _plan(
    path: Path | None,
    *,
    data: str | None,
    model: str | None,
    cloud: str,
    regions: Sequence[str] | None,
    instances: Sequence[str] | None,
    nodes: int | None,
) -> Plan:
    from planner.api import recommend
    from planner.plan import Plan

    if path:
        try:
            return Plan.from_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise BadInputError(f"{path}: {error.strerror}; write a plan with `plan --json`") from error
    if not data or not model:
        raise BadInputError("say what for: a plan's file, or --data and --model")
    first = tuple(regions or ())[:1]
    answer = recommend(
        data=parse_size(data),
        model=model,
        catalogs=(cloud,),
        regions=first,
        instances=tuple(instances or ()),
        nodes=nodes,
        today=datetime.now(UTC).date(),
    )
    return answer.plan


def _looked_at(order: Order, provider: Provider, limits: Any) -> tuple[Place, ...]:
    """Return the places to try. Raises ProviderRefusedError with every reason when there are none."""
    from planner.cluster.ordering import affordable
    from planner.report.cluster_table import findings_text

    seen: Preflight = provider.preflight(order)
    talk(findings_text(seen))
    places, reasons = affordable(seen, limits)
    if not places:
        against = [f"{found.subject}: {found.text}" for found in seen.findings if found.ok is False]
        raise ProviderRefusedError("nothing can be launched; nothing was created", [*against, *reasons])
    return places


def _offer(order: Order, places: Sequence[Place], now: datetime) -> str:
    from planner.report.cluster_table import offer_text

    return offer_text(order, places, now=now)


def _confirm(text: str, *, yes: bool) -> None:
    """Show what is about to be done and ask. Raises BadInputError where nobody can answer, and for a no."""
    talk(text)
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInputError("nothing was done: nobody to ask; --yes answers the question")
    talk("go ahead? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InterruptedRunError("nothing was done")


def _patiently(work: Any) -> Any:
    """Do what must not be given up halfway; an interrupt says what is still to be done."""
    try:
        return work()
    except KeyboardInterrupt as interrupt:
        raise LeftBehindError("interrupted while taking down; repeat `planner cluster down`") from interrupt


def _rehearsed(order: Order, provider: Provider) -> list[PlannedRequest]:
    from planner.cluster.rehearsal import rehearse

    return rehearse(order, provider)


def _show_requests(requests: Sequence[PlannedRequest], *, json: bool) -> None:
    from dataclasses import asdict

    from planner.report.cluster_table import request_lines

    if json:
        show_json([asdict(request) for request in requests])
        return
    for line in request_lines(requests):
        show_text(line)
