"""From a cluster that has come up to a job that is ready: equip, measure, select the working
nodes by their measurements, plan again for them, start Ray."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.catalog import load_catalog
from planner.clouds.order import Order, added_disks
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.clusters.provisioning.launch import Cluster, NeverJoinedError
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.bootstrap import Equipped, equip, verify_host_keys, wait_for_head
from planner.clusters.remote.ssh import Ssh, UnreachableError
from planner.clusters.runs.cloud_task import CloudRun, CloudTask, SortJob, is_in_place
from planner.clusters.runs.node_benchmarks import NodeRates, measure
from planner.clusters.runs.ray_on_nodes import RayOnNodes, start_ray, stop_ray
from planner.clusters.runs.replacement import Replacement
from planner.clusters.runs.report import record_count
from planner.clusters.spot.availability import SpotRates
from planner.cost_model import run_overheads
from planner.cost_model.model import on_a_cluster, run_by
from planner.cost_model.model_reader import load_engine, load_model
from planner.distributed_sort.job.stopwatch import Stopwatch
from planner.errors import PlannerError
from planner.planning.ranking.selection import narrowed
from planner.planning.recommendation import recommend, require_best
from planner.schemas.plan import Candidate, Plan, Request
from planner.statistics.slow_node_screening import Screening
from planner.units import count_text, format_duration

MEASURED: Final = "measured"
"""Folder of the instruments' results in the run's directory."""
_MOST_TRIES: Final = 3
"""Number of tries of the whole preparation after lost connections: each takes minutes."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A job that is ready, and the replacement of its machines while it runs (None if prepared by another process)."""

    job: SortJob
    replacement: Replacement | None = None


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """The preparation of one run on its cluster. It can be repeated, by another process too."""

    run: CloudRun
    order: Order
    cluster: Cluster
    directory: RunDirectory
    session: ProviderSession
    stopwatch: Stopwatch

    @property
    def task(self) -> CloudTask:
        """The machines' task."""
        return self.run.task

    def job(self, ssh: Ssh) -> Prepared:
        """Return the job that the head can begin now. After a lost connection, the whole preparation is repeated.

        Raises what `equip`, `measure` and `start_ray` raise.
        """
        for _ in range(_MOST_TRIES - 1):
            try:
                return self._job(ssh)
            except UnreachableError as error:
                self.session.say(f"{error}; preparing again")
        return self._job(ssh)

    def _job(self, ssh: Ssh) -> Prepared:
        machines = self.stopwatch.measure("equip", lambda: self._equip(ssh))
        rates = self.stopwatch.measure("measure", lambda: self._measure(ssh, machines))
        ray, selection = self.stopwatch.measure("start Ray", lambda: self._start_ray(ssh, machines, rates))
        self._end([machine.name for machine in machines if machine not in ray.machines])
        request = self._sort_request(selection, rates, ray)
        job = SortJob(
            plan=selection.plan,
            first_plan=self.task.plan,
            machine=self._machine(selection, rates),
            order={"do": "run", "request": request, "journal": str(Path("planner") / "sort.journal")},
            address=ray.address,
            steps_s=dict(self.stopwatch.seconds),
            predicted_usd=self.cluster.place.choice.total_usd,
            keep=self.task.keep,
            asked=self.task.asked,
        )
        return Prepared(job=job, replacement=self._replacement(ray))

    @property
    def _restart_s(self) -> float:
        """Time that a machine took until it worked."""
        return sum(self.stopwatch.seconds.get(name, 0.0) for name in ("launch", "equip", "start Ray"))

    def _replacement(self, ray: RayOnNodes) -> Replacement:
        choice, stated = self.cluster.place.choice, load_catalog(self.order.cloud).manifest.spot
        return Replacement(
            run=self.run,
            order=self.order,
            cluster=self.cluster,
            directory=self.directory,
            session=self.session,
            ray=ray,
            work_s=max(0.0, choice.needed_s - sum(self.stopwatch.seconds.values())),
            restart_s=self._restart_s,
            rates=SpotRates(losses_per_s=stated.interruptions_per_node_hour / 3600) if stated else SpotRates(),
        )

    def _measure(self, ssh: Ssh, machines: Sequence[Equipped]) -> NodeRates:
        results = self.directory.path / MEASURED
        return measure(ssh, machines, effort=self.task.effort, results_directory=results, say=self.session.say)

    def _start_ray(self, ssh: Ssh, machines: Sequence[Equipped], rates: NodeRates) -> tuple[RayOnNodes, NodeSelection]:
        """Choose the working machines and start Ray on them; the next best replaces one on which it does not start."""
        selection = self._select(rates)
        ray = self._ray(ssh, [m for m in machines if m.node.head or m.name in selection.working], selection)
        given_up: set[str] = set()
        while new := [name for name in ray.failed if name not in given_up]:
            for name in new:
                self.session.say(f"giving up {name}: {ray.failed[name]}")
            given_up |= set(new)
            selection = self._select(rates.without(given_up))
            wanted = set(selection.working) - ray.working
            ray = ray.add_nodes([machine for machine in machines if machine.name in wanted])
        return ray, selection

    def _ray(self, ssh: Ssh, machines: Sequence[Equipped], selection: NodeSelection) -> RayOnNodes:
        return start_ray(
            ssh,
            machines,
            working=selection.working,
            memory_bytes=self.task.memory_bytes,
            split=require_best(selection.plan).disk_split,
            store=self._store(),
        )

    def _equip(self, ssh: Ssh) -> tuple[Equipped, ...]:
        """Return the machines that are ready. Raises NeverJoinedError when there are too few."""
        provider, policy, say = self.session.provider, self.session.policy, self.session.say
        wait_for_head(ssh, self.cluster.head, provider, policy=policy, say=say)
        stop_ray(ssh, self.cluster.nodes)
        failed = verify_host_keys(ssh, self.cluster.nodes, provider, policy=policy) if self.task.is_lent else {}
        if self.cluster.head.id in failed:
            raise failed[self.cluster.head.id]
        nodes = [node for node in self.cluster.nodes if node.id not in failed]
        equipment = equip(ssh, nodes, self.run.wheelhouse, policy=policy, say=say)
        failed |= equipment.failed
        for name, why in failed.items():
            say(f"giving up {name}: {why}")
        self._end(list(failed))
        needed = self.cluster.place.choice.nodes
        if len(equipment.ready) < needed:
            reasons = [f"{name}: {why.message}" for name, why in failed.items()]
            raise NeverJoinedError(f"{count_text(len(equipment.ready), 'machine')} ready; {needed} needed", reasons)
        return equipment.ready

    def _select(self, rates: NodeRates) -> NodeSelection:
        """Choose the working machines, report the reasons, and report the new plan next to the old one."""
        say, old = self.session.say, self._planned_candidate()
        selection = select_nodes(rates, old, self.task.plan.request, head=self.cluster.head.id)
        for limit in selection.screening.limits:
            say(limit.text)
        for drop in selection.screening.dropped:
            say(f"slow: {drop.node}, {drop.metric} {drop.reason}")
        new = require_best(selection.plan)
        say(
            f"planned for {old.nodes} nodes before measuring: {format_duration(old.time_s.expected)}; "
            f"for {new.nodes} as measured: {format_duration(new.time_s.expected)}"
        )
        self.directory.note(
            "crew", working=list(selection.working), idle=list(selection.idle), expected_s=new.time_s.expected
        )
        return selection

    def _planned_candidate(self) -> Candidate:
        """Return the candidate of the plan for which the machines were launched."""
        choice = self.cluster.place.choice
        return next(
            candidate
            for candidate in self.task.plan.candidates
            if (candidate.cloud_type, added_disks(candidate.instance_type), candidate.nodes)
            == (choice.instance_type, choice.local_disks, choice.nodes)
        )

    def _end(self, names: Sequence[str]) -> None:
        gone = [node for node in self.cluster.nodes if node.id in names]
        if gone:
            self.session.say(f"ending {count_text(len(gone), 'machine')}: {', '.join(names)}")
            self.session.provider.terminate(gone)
            self.directory.note("ended", nodes=list(names))

    def _store(self) -> dict[str, str]:
        """Return the environment for the object store. Without Internet access, machines reach only their region's."""
        region = {"AWS_REGION": self.cluster.place.region} if self.order.cloud == "aws" and self.order.staging else {}
        return {**region, **self.run.store}

    def _sort_request(self, selection: NodeSelection, rates: NodeRates, ray: RayOnNodes) -> dict[str, Any]:
        disks = rates.rates["disk_both"]
        return {
            "records": record_count(self.task.plan.request.data_bytes) if self.task.source is None else 0,
            "copies": load_model(require_best(selection.plan).model).output_copies,
            "source": self.task.source,
            "output": self.task.plan.request.output or "",
            "in_place": is_in_place(self.task.plan),
            "memory_bytes": ray.memory_bytes,
            "skew": self.task.skew,
            "replaced_within_s": 2 * self._restart_s,
            "rates": {name: disks[name] for name in sorted(ray.working)},
        }

    def _machine(self, selection: NodeSelection, rates: NodeRates) -> dict[str, Any]:
        """Return the slowest rates of the working machines, with which the plan was made, and the machines dropped."""
        slowest = {metric: rates.slowest(metric, selection.working) for metric in rates.rates}
        return {
            "instance_type": self.cluster.place.choice.instance_type,
            "place": self.cluster.place.zone or self.cluster.place.region,
            "run": self.order.run,
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
