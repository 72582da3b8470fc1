"""`planner cluster up|status|down|sweep|wheelhouse`: machines rented for a plan, all taken down afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.api import clusters
from planner.api.rental_options import named_regions
from planner.api.run_job import Work
from planner.cli.plan.request_options import Instances, Model, Nodes, OneSize
from planner.cli.rent import renting
from planner.cli.rent.emulate import emulate_sweep
from planner.cli.shell.completion import rented_clouds, runs
from planner.cli.shell.console import show_json, show_sentences, show_text, talk
from planner.cli.shell.interrupts import orderly_end
from planner.errors import BadInputError, LeftBehindError, ProviderRefusedError
from planner.schemas.plan import Request
from planner.schemas.request_forms import names
from planner.units import count_text, format_usd

if TYPE_CHECKING:
    from planner.clusters.provisioning.cluster_lifecycle import FoundRun
    from planner.clusters.provisioning.run_directory import Event

_JSON = Annotated[bool, Option("--json", help="Print as one JSON object.")]


def cluster_up(
    plan: Annotated[Path | None, Argument(help="A plan that `plan --json` wrote; else --data.")] = None,
    *,
    data: OneSize = None,
    model: Model = Request.model,
    cloud: Annotated[str, Option(help="Where to rent: aws, gcp, azure.", autocompletion=rented_clouds)] = "aws",
    instance: Instances = None,
    nodes: Nodes = None,
    rental: renting.Rental,
    dry_run: renting.DryRun = False,
    verbose: renting.Verbose = False,
    yes: renting.Yes = False,
    json: _JSON = False,
) -> None:
    """Rent the cluster of a plan: look, ask, then launch all of it in one placement group, or nothing.

    It has no spares: those of a plan are sent away when a run has screened its machines, which nobody does here.
    When there is no room, the next zone is tried, then the next region allowed, then the plan's next types, and after
    spot machines the same ones on demand. Ends with exit code 4 when the cloud refuses, 7 when something could not be
    taken down again.

    Example: planner cluster up --data 1TB --model indy --instance i4i.4xlarge --max-cost 50
    """
    rented = renting.rental_of(rental | {"cloud": cloud, "plan": plan})
    work = Work(data=data, model=model, instance=names(instance) or None, nodes=nodes)
    made = renting.plan_of(plan, rented, work)
    if dry_run:
        order = clusters.ordered(made, rented, is_dry_run=True, screened=False, say=talk)
        renting.show_dry_run(order, rented, renting.session_on(cloud).provider, verbose=verbose, json=json)
        return
    raised = clusters.raise_cluster(made, rented, confirm=renting.asking(yes=yes), say=talk, guard=orderly_end())
    _show_raised(raised, json=json)


def _show_raised(raised: clusters.RaisedCluster, *, json: bool) -> None:
    from dataclasses import asdict

    from planner.report.terminal.cluster_table import cluster_text

    order, cluster, key = raised.order, raised.cluster, str(raised.directory.key)
    if json:
        nodes = [asdict(node) | {"launched_at": str(node.launched_at or "")} for node in cluster.nodes]
        place = {"region": cluster.place.region, "zone": cluster.place.zone, "choice": asdict(cluster.place.choice)}
        show_json({"run": order.run, "place": place, "nodes": nodes, "key": key})
    else:
        show_text(cluster_text(cluster, order=order, key=key))


def cluster_status(
    run: Annotated[
        str | None, Argument(help="A run, to ask its cloud; else all that this machine knows.", autocompletion=runs)
    ] = None,
    *,
    json: _JSON = False,
) -> None:
    """Show running clusters, their cost so far, and when they end.

    Example: planner cluster status
    """
    from planner.clusters.provisioning.run_directory import RunDirectory, known_runs
    from planner.report.clusters import bill_of_lines, items_text
    from planner.schemas.plan import BillLine

    statuses = []
    for name in [run] if run else known_runs():
        try:
            statuses.append(_status(RunDirectory.open(name), asking=run is not None))
        except BadInputError as error:
            if run:
                raise
            why = "; ".join([error.message, *error.details])
            talk(f"run {name} left out: {why}")  # the others may cost money
    month = _month() if statuses and len(statuses) == len(known_runs()) else {}  # the cost of a run left out is unknown
    if json:
        show_json({"runs": statuses} | ({"month": month} if month else {}))
        return
    if not statuses:
        show_sentences("No runs: this machine knows of no rented cluster. `planner cluster sweep` looks for lost ones.")
    for status in statuses:
        show_sentences(
            f"{status['run']}  {status['cloud']}  {status['state']:<8}  ${status['cost_usd']:.2f} for "
            f"{status['node_hours']:.2f} node-hours, {_end_text(status)}"
        )
        lines = [BillLine(**line) for line in status["bill"]]
        of_it = [f"of it: {items_text(bill_of_lines(lines))}"] if lines else []
        for line in (*of_it, *_machine_lines(status), *status.get("resources", ())):
            show_text(f"  {line}")
    if month:
        limit_usd = month["limit_usd"]
        limit = f"the limit is {format_usd(limit_usd)}" if limit_usd is not None else "no --max-cost-per-month is set"
        show_text(f"This month: {format_usd(month['usd'])}, with what runs may still spend; {limit}")


def _month() -> dict[str, Any]:
    """Return the cost of this month's runs, what they may still spend, and the limit in the settings."""
    from planner.clusters.provisioning.spending import committed_this_month_usd
    from planner.config.settings import load_settings

    now = datetime.now(UTC)
    return {"usd": committed_this_month_usd(now=now), "limit_usd": load_settings(today=now.date()).usd_per_month}


def _end_text(status: dict[str, Any]) -> str:
    """Return when a run's machines end by themselves, or what removes the rest of a run whose machines have ended."""
    if status["state"] in ("down", "ended"):
        rest = f"; the rest: planner cluster down {status['run']}" if status["state"] == "ended" else ""
        return f"its machines have ended, at the latest {status['expires_at']}{rest}"
    return f"ends by itself {status['expires_at']}"


def _machine_lines(status: dict[str, Any]) -> Iterator[str]:
    """Yield the cost of a run's machines, the source of its price, and the machines that are billed but stopped."""
    running = [machine for machine in status["machine_costs"] if machine["is_running"]]
    priced = Counter((machine["usd_per_hour"], machine["price_source"]) for machine in running)
    for (usd_per_hour, source), count in priced.items():
        yield f"{count} running at {format_usd(usd_per_hour)} per hour each ({source or 'no source noted'})"
    if stopped := status["stopped"]:
        yield f"{len(stopped)} stopped, and billed until: planner cluster down {status['run']}"


def _status(directory: Any, *, asking: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from planner.clusters.provisioning.cost_to_date import bill_of

    order = directory.order()
    resources = _listed_resources(directory, order.cloud) if asking else ()
    events = directory.events()
    now = datetime.now(UTC)
    bill = bill_of(events, now=now)
    state = next((e.what for e in reversed(events) if e.what in ("down", "up", "intent")), "planned")
    if state != "down" and not bill.running and (now >= order.expires_at or (asking and state == "up")):
        state = "ended"  # by the clock, or as the cloud says: what is left of it costs nothing
    status: dict[str, Any] = {
        "run": order.run,
        "cloud": order.cloud,
        "state": {"intent": "starting"}.get(state, state),
        "node_hours": bill.node_hours,
        "cost_usd": bill.usd,
        "machines": bill.running,
        "bill": [asdict(line) for line in bill.lines],
        "machine_costs": [asdict(machine) for machine in bill.machines],
        "stopped": sorted(_stopped(events)),
        "expires_at": order.expires_at.isoformat(),
    }
    if asking:
        status |= {"resources": [resource.text for resource in resources]}
    return status


def _stopped(events: Sequence[Event]) -> set[str]:
    """Return the machines that were stopped at the last look and have not been ended since."""
    stopped: set[str] = set()
    for event in events:
        if event.what in ("seen", "ended"):
            stopped -= set(event.details["nodes"] or stopped)
        if event.what == "stopped":
            stopped |= set(event.details["nodes"])
    return stopped


def _listed_resources(directory: Any, cloud: str) -> tuple[Any, ...]:
    """Return a run's present state; machines running and ended are recorded for the bill."""
    from planner.clusters.provisioning.reconciliation import Reconciliation

    session = clusters.session_with_access(cloud, say=talk)
    account = Reconciliation.of(directory, provider=session.provider, policy=session.policy)
    return account.observe(directory)


def cluster_down(
    run: Annotated[
        str, Argument(help="The run to take down; `planner cluster status` lists them.", autocompletion=runs)
    ],
    *,
    json: _JSON = False,
) -> None:
    """Take down all that a run has in the cloud, wait, look again, and end with 7 naming what is left, if anything is.

    Example: planner cluster down r20261121-1430-x7k2mq
    """
    with orderly_end():
        removed = _uninterrupted(lambda: clusters.down(run, say=talk))
    if json:
        show_json({"run": run, "removed": removed, "left": []})
    else:
        show_text(f"run {run}: {removed} resources removed, none left")


def cluster_sweep(
    *,
    cloud: Annotated[
        str, Option(help="aws, gcp, azure; or `emulated`, as `planner emulate sweep`.", autocompletion=rented_clouds)
    ] = "aws",
    region: Annotated[list[str] | None, Option(help="Only these regions.", show_default="all of the account")] = None,
    all_runs: Annotated[bool, Option("--all", help="Also what has not expired yet.")] = False,
    anyone: Annotated[bool, Option("--anyone", help="Also what others began, or you on another machine.")] = False,
    yes: renting.Yes = False,
    json: _JSON = False,
) -> None:
    """Find clusters by their tags alone, show whose they are and their cost, and take down your own that have expired.

    Example: planner cluster sweep --cloud aws
    """
    if cloud == "emulated":
        emulate_sweep(json=json)
        return
    from planner.clouds.registry import CLOUDS
    from planner.clusters.provisioning.cluster_lifecycle import remove_swept, sweep
    from planner.report.terminal.cluster_table import swept_text

    session, now = clusters.session_with_access(cloud, say=talk), datetime.now(UTC)
    swept = sweep(session, regions=named_regions(names(region), cloud) or session.provider.regions())
    reasons = _reasons_to_spare(swept.runs, session.provider.identity(), all_runs=all_runs, anyone=anyone)
    wanted = [found for found in swept.runs if not reasons[found.run]]
    spared = [(found, reason) for found in swept.runs if (reason := reasons[found.run])]
    strange = [f"{item.text} stays: the planner never writes {item.oddity}" for item in swept.strange]
    stays = [f"{swept_text(found, now=now)}; stays: {reason}" for found, reason in spared]
    for line in [] if json else [*stays, *strange]:
        talk(line)
    if wanted:
        listed = "\n".join(swept_text(found, now=now) for found in wanted)
        renting.confirm(f"{listed}\nto be taken down", yes=yes)
    removed, left = {}, []
    with orderly_end():
        for found in wanted:
            try:
                removed[found.run] = remove_swept(found.run, found.resources, session)
            except LeftBehindError as error:
                left += [error.message, *error.details]
    if json:
        stay = [{**found.document(), "reason": reason} for found, reason in spared]
        show_json({"removed": removed, "left": left, "spared": stay, "unseen": swept.unseen, "strange": strange})
    else:
        others = " and ".join(f"--cloud {name}" for name in CLOUDS if name != cloud)
        taken = f"{count_text(len(removed), 'run')} taken down, {count_text(sum(removed.values()), 'resource')}"
        show_text(f"{taken}, on {cloud} alone: {others} look elsewhere")
    if left:
        raise LeftBehindError("the sweep could not remove everything", left)
    if swept.unseen:
        unseen = [f"{name}: {why}" for name, why in swept.unseen.items()]
        raise ProviderRefusedError(
            "could not look into these regions; --region leaves them out", unseen, code="regions-unseen"
        )


def _reasons_to_spare(found_runs: Sequence[FoundRun], identity: str, *, all_runs: bool, anyone: bool) -> dict[str, str]:
    """Return why each run found by a sweep stays, '' for one that goes."""
    from planner.clusters.provisioning.cluster_lifecycle import has_expired
    from planner.clusters.provisioning.order_from_plan import owner
    from planner.clusters.provisioning.run_directory import known_runs, origin

    me, known, here = owner(identity), known_runs(), origin()

    def reason(found: FoundRun) -> str:
        if not (anyone or found.belongs_to(me, known=known, origin=here)):
            is_mine = any(resource.owner == me for resource in found.resources)
            return f"{'another machine' if is_mine else 'somebody else'} began it; --anyone takes it, too"
        return "" if all_runs or has_expired(found.resources) else "it has not expired; --all takes it, too"

    return {found.run: reason(found) for found in found_runs}


def cluster_wheelhouse(
    directory: Annotated[Path, Argument(help="Where the wheels go; made if need be.")],
    *,
    arch: Annotated[
        str | None, Option(help="The machines' processor: x86_64 or arm64.", show_default="this machine's")
    ] = None,
    python: Annotated[str, Option(help="The machines' Python; 3.12 is the stock image's.")] = "3.12",
    json: _JSON = False,
) -> None:
    """Collect what bare machines need to run the planner; `planner run --wheelhouse` takes it.

    `planner run --cloud` does this automatically. If this installation has no wheel for such machines, its source is
    collected, and the head of a cluster compiles the sort core.

    Example: planner cluster wheelhouse wheels --arch arm64
    """
    from planner.api.software import cloud_name_here
    from planner.clusters.remote.wheelhouse import make_wheels

    architecture = arch or cloud_name_here()
    if architecture not in ("x86_64", "arm64"):
        raise BadInputError(f"--arch {architecture}: use x86_64 or arm64", code="unknown-word")
    form = make_wheels(directory, python=python, architecture=architecture)
    wheels = sorted(path.name for path in directory.glob("*.whl"))
    if json:
        show_json(
            {"directory": str(directory), "python": python, "arch": architecture, "planner": form, "wheels": wheels}
        )
    else:
        compiled = "; the planner as source, to be compiled on the head" if form == "source" else ""
        show_text(f"{directory}: {len(wheels)} wheels for Python {python} on Linux {architecture}{compiled}")


def _uninterrupted(work: Any) -> Any:
    """Run work that must not stop halfway; after an interrupt an error names what remains to be done."""
    try:
        return work()
    except KeyboardInterrupt as interrupt:
        raise LeftBehindError("interrupted while taking down; repeat `planner cluster down`") from interrupt
