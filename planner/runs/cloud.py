"""A whole run on rented machines, as in SoCC 2015, section 5: launch, measure, drop the slow, plan anew, sort,
validate, account, and take everything down.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from planner.catalog import load_catalog
from planner.cost_model.model_reader import load_model
from planner.distributed_sort.dataset import Dataset, dataset_of, write_manifest
from planner.errors import BadInputError, InterruptedRunError, nearest
from planner.planning.recommendation import require_best
from planner.providers.order import Order
from planner.providers.protocol import Place
from planner.provisioning.cluster_lifecycle import ProviderSession, down, up
from planner.provisioning.cost_to_date import bill_of
from planner.provisioning.launch import Cluster, NeverJoinedError
from planner.provisioning.run_directory import RunDirectory
from planner.runs.bootstrap import Equipped, equip, wait_for_head
from planner.runs.node_benchmarks import Effort, NodeRates, measure
from planner.runs.node_selection import NodeSelection, select_nodes
from planner.runs.ray_on_nodes import RayOnNodes, start_ray
from planner.runs.record_count import record_count
from planner.runs.report import cluster_report
from planner.runs.ssh import Ssh
from planner.runs.wheelhouse import Wheelhouse
from planner.schemas.plan import Candidate, Plan
from planner.schemas.run_report import RunCost, RunReport
from planner.sorting.stopwatch import Stopwatch
from planner.units import format_duration

REPORT: Final = "report.json"
MEASURED: Final = "measured"
MANIFEST: Final = "output.json"
"""In the run's directory: its report, what the instruments wrote, and where each partition of the output lies."""

OnEvent = Callable[[dict[str, Any]], None]
Listening = Callable[[], AbstractContextManager[OnEvent]]


@dataclass(frozen=True, kw_only=True)
class CloudRun:
    """What to do with the machines: the job of `plan`, on `source` in an object store if it has an input. `store` is
    what the machines are told to reach it, which may be secret. `memory_bytes` of each may be used, all of it
    otherwise; `keep` leaves them there in the end.
    """

    plan: Plan
    wheelhouse: Wheelhouse
    effort: Effort = field(default_factory=Effort)
    memory_bytes: int | None = None
    skew: bool = False
    keep: bool = False
    source: Dataset | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)


def check_runnable(model: str, *, data_bytes: int | None, input: str | None, output: str | None) -> None:
    """Raise BadInputError for a job that a cluster of rented machines does not do yet."""
    if data_bytes is not None:
        record_count(data_bytes)
    storage = load_model(model).storage
    if storage["data"] == "object-store" and not (input and output):
        raise BadInputError(f"--model {model} sorts from an object store to one: give --input and --output")
    if storage["data"] not in ("local", "object-store") or storage["intermediate"] != "local":
        raise BadInputError(
            f"--model {model} keeps data on {', '.join(sorted(set(storage.values())))}; on rented machines run "
            "models with all data on local disks (indy, daytona), and with input and output in an object store "
            "(object-store)"
        )


def is_in_place(plan: Plan) -> bool:
    """Say whether the sort itself reads from the object store and writes to it, so that no staging is needed."""
    return load_model(plan.request.model).storage["data"] == "object-store"


def types_with_disks(cloud: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the types of a cloud, among those that fit a pattern, that have local disks: the sort works on these.

    Raises BadInputError when there is none.
    """
    instances = load_catalog(cloud).instances
    with_disks = [str(name) for name in instances.instance_type[instances.local_disks >= 1]]
    chosen = tuple(name for name in with_disks if any(fnmatchcase(name, pattern) for pattern in patterns or ("*",)))
    if not chosen:
        raise BadInputError(
            f"--instance {' '.join(patterns)}: no such type of {cloud} has local disks, on which the cluster sort "
            f"works.{nearest(patterns[0], with_disks)}"
        )
    return chosen


def run_on_cloud(
    run: CloudRun,
    order: Order,
    places: Sequence[Place],
    directory: RunDirectory,
    session: ProviderSession,
    *,
    listening: Listening,
) -> RunReport:
    """Do the run and return its report, which is also written into the run's directory. `listening` is entered for the
    sort, and hears how it goes.

    Nothing is left in the cloud afterwards, whatever happens, unless `run.keep`, or the sort was done and what came
    after it failed: then the machines, which have the result, stay until they expire. Raises what `up` raises,
    IoFailureError when a machine fails that cannot be done without, LeftBehindError. Data that fails validation is
    reported, not raised.
    """
    stopwatch = Stopwatch()
    cluster = stopwatch.timed("launch", lambda: up(order, places, directory, session))
    work = _Work(run=run, order=order, cluster=cluster, directory=directory, session=session, stopwatch=stopwatch)
    try:
        report = work.done(listening)
    except BaseException as error:
        is_interrupt = isinstance(error, KeyboardInterrupt | InterruptedRunError)
        session.say(f"the run ends: {'interrupted' if is_interrupt else error}")
        if (run.keep or work.has_result) and not is_interrupt:
            session.say(work.result_text if work.has_result else _kept_text(order))
            raise
        down(directory, session)
        if is_interrupt:
            raise InterruptedRunError(f"run {order.run}: interrupted; all that was created has been removed") from error
        raise
    _accounted(report, stopwatch, directory, cluster)
    if run.keep:
        session.say(_kept_text(order))
    else:
        stopwatch.timed("take down", lambda: down(directory, session))
    return _accounted(report, stopwatch, directory, cluster)


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What is done with a cluster that has come up."""

    run: CloudRun
    order: Order
    cluster: Cluster
    directory: RunDirectory
    session: ProviderSession
    stopwatch: Stopwatch

    @property
    def has_result(self) -> bool:
        """Whether the machines alone have a sorted output."""
        return (self.directory.path / MANIFEST).exists() and not is_in_place(self.run.plan)

    @property
    def result_text(self) -> str:
        """Say where the output is and how to fetch it."""
        directory = self.directory.path
        return (
            f"the sort is done and its output lies on the machines: {directory / MANIFEST} lists its partitions, each "
            f"with its copies' nodes and paths. Fetch one: ssh -F {directory / 'ssh_config'} NODE cat PATH > FILE\n"
            f"{_kept_text(self.order)}"
        )

    def _hear(self, event: dict[str, Any], on_event: OnEvent) -> None:
        """Keep where the output lies as soon as that is known, and pass the event on."""
        if event["event"] == "sorted":
            write_manifest(dataset_of(event["dataset"]), self.directory.path / MANIFEST)
            self.directory.note("output", partitions=len(event["dataset"]["partitions"]))
        on_event(event)

    def done(self, listening: Listening) -> RunReport:
        with Ssh(self.cluster.nodes, directory=self.directory.path, key=self.directory.key) as ssh:
            machines = self.stopwatch.timed("equip", lambda: self._equipped(ssh))
            rates = self.stopwatch.timed("measure", lambda: self._measured(ssh, machines))
            ray, selection = self.stopwatch.timed("start Ray", lambda: self._started(ssh, machines, rates))
            self._end([machine.name for machine in machines if machine not in ray.machines])
            request = self._sort_request(selection, rates, ray)
            order = {"do": "run", "request": request, "journal": str(Path("planner") / "sort.journal")}
            with ray.session() as driver, listening() as on_event:
                done = driver.do(order, lambda event: self._hear(event, on_event))
        self.directory.note("sorted", **done["steps_s"])
        self.stopwatch.seconds.update(done["steps_s"])
        write_manifest(dataset_of(done["dataset"]), self.directory.path / MANIFEST)
        machine = self._machine(selection, rates)
        report = cluster_report(selection.plan, machine=machine, records=self._records, done=done)
        return replace(report, first_plan=self.run.plan)

    def _measured(self, ssh: Ssh, machines: Sequence[Equipped]) -> NodeRates:
        results = self.directory.path / MEASURED
        return measure(ssh, machines, effort=self.run.effort, results_directory=results, say=self.session.say)

    def _started(self, ssh: Ssh, machines: Sequence[Equipped], rates: NodeRates) -> tuple[RayOnNodes, NodeSelection]:
        """Choose who works and start Ray there; where it does not start, the next best takes the place."""
        selection = self._select(rates)
        ray = self._ray(ssh, [m for m in machines if m.node.head or m.name in selection.working], selection)
        given_up: set[str] = set()
        while new := [name for name in ray.failed if name not in given_up]:
            for name in new:
                self.session.say(f"giving up {name}: {ray.failed[name]}")
            given_up |= set(new)
            selection = self._select(rates.without(given_up))
            wanted = set(selection.working) - ray.working
            ray = ray.joined_by([machine for machine in machines if machine.name in wanted])
        return ray, selection

    def _ray(self, ssh: Ssh, machines: Sequence[Equipped], selection: NodeSelection) -> RayOnNodes:
        return start_ray(
            ssh,
            machines,
            working=selection.working,
            memory_bytes=self.run.memory_bytes,
            split=require_best(selection.plan).disk_split,
            store=self._store(),
        )

    def _equipped(self, ssh: Ssh) -> tuple[Equipped, ...]:
        """Return the machines that are ready. Raises NeverJoinedError when too few are."""
        policy, say = self.session.policy, self.session.say
        wait_for_head(ssh, self.cluster.head, self.session.provider, policy=policy, say=say)
        equipment = equip(ssh, self.cluster.nodes, self.run.wheelhouse, policy=policy, say=say)
        for name, why in equipment.failed.items():
            say(f"giving up {name}: {why}")
        self._end(list(equipment.failed))
        needed = self.cluster.place.choice.nodes
        if len(equipment.ready) < needed:
            reasons = [f"{name}: {why.message}" for name, why in equipment.failed.items()]
            raise NeverJoinedError(f"{len(equipment.ready)} machines are ready; {needed} needed", reasons)
        return equipment.ready

    def _select(self, rates: NodeRates) -> NodeSelection:
        """Choose who works, say why, and set the new plan beside the old one."""
        say, old = self.session.say, self._planned()
        selection = select_nodes(rates, old, self.run.plan.request, head=self.cluster.head.id)
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

    def _planned(self) -> Candidate:
        """Return what of the plan the machines were launched for."""
        choice = self.cluster.place.choice
        return next(
            candidate
            for candidate in self.run.plan.candidates
            if (candidate.cloud_type, candidate.nodes) == (choice.instance_type, choice.nodes)
        )

    def _end(self, names: Sequence[str]) -> None:
        gone = [node for node in self.cluster.nodes if node.id in names]
        if gone:
            self.session.say(f"ending {len(gone)} machines: {', '.join(names)}")
            self.session.provider.terminate(gone)
            self.directory.note("ended", nodes=list(names))

    @property
    def _records(self) -> int:
        return record_count(self.run.plan.request.data_bytes)

    def _store(self) -> dict[str, str]:
        """The object store that machines reach without a way to the world is that of their own region."""
        region = {"AWS_REGION": self.cluster.place.region} if self.order.cloud == "aws" and self.order.staging else {}
        return {**region, **self.run.store}

    def _sort_request(self, selection: NodeSelection, rates: NodeRates, ray: RayOnNodes) -> dict[str, Any]:
        disks, source = rates.rates["disk_both"], self.run.source
        return {
            "records": self._records,
            "copies": load_model(require_best(selection.plan).model).output_copies,
            "source": None if source is None else json.loads(source.to_json()),
            "output": self.run.plan.request.output or "",
            "in_place": is_in_place(self.run.plan),
            "memory_bytes": ray.memory_bytes,
            "skew": self.run.skew,
            "rates": {name: disks[name] for name in sorted(ray.working)},
        }

    def _machine(self, selection: NodeSelection, rates: NodeRates) -> dict[str, Any]:
        """The slowest of those that worked, in the rates that the plan was made with."""
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


def _accounted(report: RunReport, stopwatch: Stopwatch, directory: RunDirectory, cluster: Cluster) -> RunReport:
    """Return the report with all steps so far and what they cost, and write it into the run's directory."""
    bill = bill_of(directory.events(), now=datetime.now(UTC))
    cost = RunCost(node_hours=bill.node_hours, usd=bill.usd, predicted_usd=cluster.place.choice.total_usd)
    whole = replace(report, steps_s=dict(stopwatch.seconds), cost=cost)
    (directory.path / REPORT).write_text(whole.to_json() + "\n", encoding="utf-8")
    return whole


def _kept_text(order: Order) -> str:
    return (
        f"run {order.run} is kept and costs money until {order.expires_at:%Y-%m-%d %H:%M} UTC, or until: "
        f"planner cluster down {order.run}"
    )


def remember(directory: RunDirectory) -> Path:
    """Add what was measured in a run to the user's own measurements, which the next plan uses; return the file.

    Raises BadInputError or IoFailureError when it cannot be kept; then nothing is changed.
    """
    from planner.ingest.ingest import read_measurements
    from planner.stores.measurements import store

    place = [event for event in directory.events() if event.what == "place"][-1].details
    zone = {"zone": place["zone"] or place["region"]}
    near = {"placement_group": "yes" if place["placement_group"] else "no"}
    files = sorted((directory.path / MEASURED).glob("disk-*.json"))
    measurements = read_measurements(files, user_values=zone, mapping={}, files_are="instances")
    network = directory.path / MEASURED / "network.json"
    if network.exists():
        measurements += read_measurements([network], user_values=zone | near, mapping={})
    report = RunReport.from_json((directory.path / REPORT).read_text(encoding="utf-8"))
    planned = require_best(report.plan).instance_type  # the catalog's name, which may say what disks were added
    named = [replace(measurement, instance_type=planned) for measurement in measurements]
    return store(named, catalog=directory.order().cloud, replace=True)
