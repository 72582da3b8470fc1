"""From a cluster that has come up to a job that is ready: equip, measure, select the working
nodes by their measurements, plan again for them, start Ray."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.catalog import load_catalog
from planner.clouds.order import added_disks
from planner.clusters.provisioning.launch import NeverJoinedError
from planner.clusters.provisioning.order_from_plan import late_s
from planner.clusters.remote.bootstrap import Equipped, equip, verify_host_keys, wait_for_head
from planner.clusters.remote.ssh import Ssh, UnreachableError
from planner.clusters.runs.cloud_task import SortJob, is_in_place
from planner.clusters.runs.node_benchmarks import NodeRates, measure
from planner.clusters.runs.ray_on_nodes import RayOnNodes, start_ray, stop_ray
from planner.clusters.runs.report import record_count
from planner.clusters.runs.run import Run
from planner.cost_model import run_overheads
from planner.cost_model.model import on_a_cluster, run_by
from planner.cost_model.model_reader import load_engine, load_model
from planner.errors import BadInputError, PlannerError
from planner.planning.ranking.selection import narrowed
from planner.planning.recommendation import recommend, require_best
from planner.schemas.plan import Candidate, Plan, Request
from planner.statistics.slow_node_screening import Screening
from planner.units import count_text, format_duration

MEASURED: Final = "measured"
"""Folder of the instruments' results in the run's directory."""
_MOST_TRIES: Final = 3
"""Number of tries of the whole preparation after lost connections: each takes minutes."""


def require_time(
    plan: Plan, *, expires_at: datetime, say: Callable[[str], None], now: datetime, booted: bool = False
) -> None:
    """Raise BadInputError when the machines are expected to end before the job does; `say` warns when they may.
    Machines that have `booted` need no more time to boot.
    """
    best, left_s = require_best(plan), (expires_at - now).total_seconds()
    over_s = best.overheads_s.get("boot", 0.0) if booted else 0.0
    expected_s = best.time_s.expected + sum(best.overheads_s.values()) - over_s
    most_s = late_s(best, plan.request) - over_s
    text = f"the machines end in {format_duration(max(0.0, left_s))}"
    if left_s < expected_s:
        raise BadInputError(
            f"{text}, and the job is expected to take {format_duration(expected_s)}; rent others",
            code="too-little-time",
        )
    if left_s < most_s:
        say(f"warning: {text}, and 95 of 100 such jobs take up to {format_duration(most_s)}")


def prepare(run: Run, ssh: Ssh) -> tuple[SortJob, RayOnNodes]:
    """Return the job that the head can begin now, and Ray on its machines. After a lost connection, the whole
    preparation is repeated.

    Raises what `require_time`, `equip`, `measure` and `start_ray` raise.
    """
    if not (run.is_attached or run.follows_another):  # the launch may have been slow or tried other places
        plan, until = run.wanted.task.plan, run.order.expires_at
        require_time(plan, expires_at=until, say=run.session.say, now=datetime.now(UTC), booted=True)
    for _ in range(_MOST_TRIES - 1):
        try:
            return _prepare(run, ssh)
        except UnreachableError as error:
            run.session.say(f"{error}; preparing again")
    return _prepare(run, ssh)


def _prepare(run: Run, ssh: Ssh) -> tuple[SortJob, RayOnNodes]:
    machines = run.stopwatch.measure("equip", lambda: _equip(run, ssh))
    rates = run.stopwatch.measure("measure", lambda: _measure(run, ssh, machines))
    ray, selection = run.stopwatch.measure("start Ray", lambda: _start_ray(run, ssh, machines, rates))
    _end(run, [machine.name for machine in machines if machine not in ray.machines])
    request = _sort_request(run, selection, rates, ray)
    job = SortJob(
        plan=selection.plan,
        first_plan=run.wanted.task.plan,
        machine=_machine(run, selection, rates),
        order={"do": "run", "request": request, "journal": str(Path("planner") / "sort.journal")},
        address=ray.address,
        steps_s=dict(run.stopwatch.seconds),
        predicted_usd=run.cluster.place.choice.total_usd,
        keep=run.wanted.task.keep,
        asked=run.wanted.task.asked,
    )
    return job, ray


def _measure(run: Run, ssh: Ssh, machines: Sequence[Equipped]) -> NodeRates:
    results = run.directory.path / MEASURED
    return measure(ssh, machines, effort=run.wanted.task.effort, results_directory=results, say=run.session.say)


def _start_ray(run: Run, ssh: Ssh, machines: Sequence[Equipped], rates: NodeRates) -> tuple[RayOnNodes, NodeSelection]:
    """Choose the working machines and start Ray on them; the next best replaces one on which it does not start."""
    selection = _select(run, rates)
    ray = _ray(run, ssh, [m for m in machines if m.node.head or m.name in selection.working], selection)
    given_up: set[str] = set()
    while new := [name for name in ray.failed if name not in given_up]:
        for name in new:
            run.session.say(f"giving up {name}: {ray.failed[name]}")
        given_up |= set(new)
        selection = _select(run, rates.without(given_up))
        wanted = set(selection.working) - ray.working
        ray = ray.add_nodes([machine for machine in machines if machine.name in wanted])
    return ray, selection


def _ray(run: Run, ssh: Ssh, machines: Sequence[Equipped], selection: NodeSelection) -> RayOnNodes:
    return start_ray(
        ssh,
        machines,
        working=selection.working,
        memory_bytes=run.wanted.task.memory_bytes,
        split=require_best(selection.plan).disk_split,
        store=_store(run),
    )


def _equip(run: Run, ssh: Ssh) -> tuple[Equipped, ...]:
    """Return the machines that are ready. Raises NeverJoinedError when there are too few."""
    provider, policy, say = run.session.provider, run.session.policy, run.session.say
    wait_for_head(ssh, run.cluster.head, provider, policy=policy, say=say)
    stop_ray(ssh, run.cluster.nodes)
    failed = verify_host_keys(ssh, run.cluster.nodes, provider, policy=policy) if run.wanted.task.is_lent else {}
    if run.cluster.head.id in failed:
        raise failed[run.cluster.head.id]
    nodes = [node for node in run.cluster.nodes if node.id not in failed]
    equipment = equip(ssh, nodes, run.wanted.wheelhouse, policy=policy, say=say)
    failed |= equipment.failed
    for name, why in failed.items():
        say(f"giving up {name}: {why}")
    _end(run, list(failed))
    needed = run.cluster.place.choice.nodes
    if len(equipment.ready) < needed:
        reasons = [f"{name}: {why.message}" for name, why in failed.items()]
        raise NeverJoinedError(f"{count_text(len(equipment.ready), 'machine')} ready; {needed} needed", reasons)
    return equipment.ready


def _select(run: Run, rates: NodeRates) -> NodeSelection:
    """Choose the working machines, report the reasons, and report the new plan next to the old one."""
    say, old = run.session.say, _planned_candidate(run)
    selection = select_nodes(rates, old, run.wanted.task.plan.request, head=run.cluster.head.id)
    for limit in selection.screening.limits:
        say(limit.text)
    for drop in selection.screening.dropped:
        say(f"slow: {drop.node}, {drop.metric} {drop.reason}")
    new = require_best(selection.plan)
    say(
        f"planned for {old.nodes} nodes before measuring: {format_duration(old.time_s.expected)}; "
        f"for {new.nodes} as measured: {format_duration(new.time_s.expected)}"
    )
    run.directory.note(
        "crew", working=list(selection.working), idle=list(selection.idle), expected_s=new.time_s.expected
    )
    return selection


def _planned_candidate(run: Run) -> Candidate:
    """Return the candidate of the plan for which the machines were launched."""
    choice = run.cluster.place.choice
    return next(
        candidate
        for candidate in run.wanted.task.plan.candidates
        if (candidate.cloud_type, added_disks(candidate.instance_type), candidate.nodes)
        == (choice.instance_type, choice.local_disks, choice.nodes)
    )


def _end(run: Run, names: Sequence[str]) -> None:
    gone = [node for node in run.cluster.nodes if node.id in names]
    if gone:
        run.session.say(f"ending {count_text(len(gone), 'machine')}: {', '.join(names)}")
        run.session.provider.terminate(gone)
        run.directory.note("ended", nodes=list(names))


def _store(run: Run) -> dict[str, str]:
    """Return the environment for the object store. Without Internet access, machines reach only their region's."""
    region = {"AWS_REGION": run.cluster.place.region} if run.order.cloud == "aws" and run.order.staging else {}
    return {**region, **run.wanted.store}


def _sort_request(run: Run, selection: NodeSelection, rates: NodeRates, ray: RayOnNodes) -> dict[str, Any]:
    disks = rates.rates["disk_both"]
    return {
        "records": record_count(run.wanted.task.plan.request.data_bytes) if run.wanted.task.source is None else 0,
        "copies": load_model(require_best(selection.plan).model).output_copies,
        "source": run.wanted.task.source,
        "output": run.wanted.task.plan.request.output or "",
        "in_place": is_in_place(run.wanted.task.plan),
        "memory_bytes": ray.memory_bytes,
        "skew": run.wanted.task.skew,
        "replaced_within_s": 2 * run.restart_s,
        "rates": {name: disks[name] for name in sorted(ray.working)},
    }


def _machine(run: Run, selection: NodeSelection, rates: NodeRates) -> dict[str, Any]:
    """Return the slowest rates of the working machines, with which the plan was made, and the machines dropped."""
    slowest = {metric: rates.slowest(metric, selection.working) for metric in rates.rates}
    return {
        "instance_type": run.cluster.place.choice.instance_type,
        "place": run.cluster.place.zone or run.cluster.place.region,
        "run": run.order.run,
        "nodes": len(selection.working),
        "read_bytes_per_s": slowest["disk_read"],
        "write_bytes_per_s": slowest["disk_write"],
        "network_bytes_per_s": slowest.get("network"),
        "dropped": {drop.node: f"{drop.metric} {drop.reason}" for drop in selection.screening.dropped},
    }


_HEAD_WORKS_AMONG: Final = 64
"""Up to this many nodes, the head works, too; assumed."""


@dataclass(frozen=True, kw_only=True)
class NodeSelection:
    """The working machines, fastest first; `plan` is made for them at the rates of the slowest."""

    working: tuple[str, ...]
    screening: Screening
    plan: Plan

    @property
    def idle(self) -> tuple[str, ...]:
        """Machines that were measured but do not work."""
        measured = [*self.screening.kept, *(drop.node for drop in self.screening.dropped)]
        return tuple(name for name in measured if name not in self.working)


def select_nodes(rates: NodeRates, candidate: Candidate, request: Request, *, head: str = "") -> NodeSelection:
    """Return the working nodes of a cluster planned as `candidate`.

    These are the fastest `candidate.nodes` that pass the screening. If fewer pass, they work alone or together with the
    best of the slow ones, whichever is planned to finish first. Each copy of the output needs its own node. The `head`
    of a large cluster is busy without tasks: it works only where it is needed.

    Raises InfeasibleError when neither choice can hold the data.
    """
    screening = rates.screen()
    planned = candidate.nodes
    usable = [drop for drop in screening.dropped if drop.node not in rates.failed and drop.rate_per_s > 0]
    slow = [drop.node for drop in sorted(usable, key=lambda drop: -drop.share)]
    others = tuple(name for name in screening.kept if name != head)
    options = [(others if planned > _HEAD_WORKS_AMONG and len(others) >= planned else screening.kept)[:planned]]
    if len(options[0]) < planned and slow:
        options.append((*screening.kept, *slow)[:planned])
    options = [nodes for nodes in options if len(nodes) >= load_model(candidate.model).output_copies] or options[-1:]
    plans: list[tuple[Plan, tuple[str, ...]]] = []
    refusal: PlannerError | None = None
    for nodes in options:
        try:
            plans.append((plan_for(nodes, rates, candidate, request), nodes))
        except PlannerError as error:
            refusal = error
    if not plans and refusal is not None:
        raise refusal
    plan, nodes = min(plans, key=lambda option: require_best(option[0]).time_s.expected)
    return NodeSelection(working=nodes, screening=screening, plan=plan)


def plan_for(nodes: Sequence[str], rates: NodeRates, candidate: Candidate, request: Request) -> Plan:
    """Plan the same job for exactly these nodes, at the rates of the slowest. Raises InfeasibleError."""
    medium = "volume" if candidate.volumes else "local"
    slowest = {
        "network": rates.slowest("network", nodes),
        f"{medium}_read": rates.slowest("disk_read", nodes),
        f"{medium}_write": rates.slowest("disk_write", nodes),
    }
    measured = {name: rate for name, rate in slowest.items() if rate is not None}
    again = replace(narrowed(request, candidate, nodes=len(nodes)).assuming(measured), network_distribution=None)
    overheads = replace(run_overheads.shipped(), node_sigma={})  # the slowest of these nodes is known
    model = run_by(on_a_cluster(load_model(candidate.model)), load_engine(request.engine))
    catalogs = [load_catalog(candidate.cloud)]
    plan = recommend(again, model=model, catalogs=catalogs, overheads=overheads)
    require_best(plan)
    return replace(plan, rejected=())
