"""Lost machines, spot or not, and the replacements launched for them: on every cloud, without a sort."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from emulated_cloud import QUICK, EmulatedCloud
from fault_proxy import Fault, ProxiedRequest

from planner.clouds.protocol import Node, Place, Resource
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.launch import Cluster
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.remote.bootstrap import Equipped
from planner.clusters.remote.ssh import Ssh
from planner.clusters.runs.ray_on_nodes import RayOnNodes
from planner.clusters.runs.replacement import Replacement
from planner.clusters.runs.run import Run
from planner.clusters.spot.availability import SpotRates
from planner.errors import IoFailureError

MODULES = {"aws": "emulated_ec2", "gcp": "emulated_gcp", "azure": "emulated_azure"}
NEVER = threading.Event()


@dataclass
class Trial:
    """A cluster of spot machines without software; `joined` lists the machines to be equipped."""

    replacement: Replacement
    directory: RunDirectory
    told: list[str]
    joined: list[Node] = field(default_factory=list)

    def look(self) -> None:
        self.replacement._replace_lost_machines(_NO_SSH, NEVER)


_NO_SSH: Ssh = None  # type: ignore[assignment]


@pytest.fixture
def trial(cloud: EmulatedCloud, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """Three spot machines and a head on demand; losses have not been noticed yet."""
    emulated = importlib.import_module(MODULES[cloud.cloud])
    price = emulated.choice().price_usd_per_hour
    asked = emulated.choice(pricing="spot", head_usd_per_hour=3 * price)
    told: list[str] = []
    session = ProviderSession(provider=cloud.provider(), policy=QUICK, say=told.append)
    keyed, directory = begin(emulated.order("taken", asked))
    cluster = up(keyed, [Place(choice=asked, region=cloud.region, zone=cloud.zones[0])], directory, session)
    made = Replacement(
        run=Run(order=keyed, cluster=cluster, directory=directory, session=session),
        ray=_ray(cluster),
        work_s=600.0,
        restart_s=120.0,
        rates=SpotRates(),
        members={node.id: node for node in cluster.nodes if not node.head},
        work_left_s=600.0,
    )
    trial = Trial(replacement=made, directory=directory, told=told)

    def join(machines: Replacement, _: Ssh, new: Sequence[Node]) -> None:
        trial.joined += new
        machines.members |= {node.id: node for node in new}
        machines.missing -= len(new)

    monkeypatch.setattr(Replacement, "_join", join)
    return trial


def _ray(cluster: Cluster) -> RayOnNodes:
    equipped = tuple(Equipped(node=node, vcpus=2, memory_bytes=1, disks=("/d",)) for node in cluster.nodes)
    nothing: Any = None
    return RayOnNodes(start=nothing, machines=equipped, working=frozenset(machine.name for machine in equipped))


def ended(cloud: EmulatedCloud, trial: Trial, count: int) -> None:
    """Make the cloud take machines back."""
    cloud.provider().terminate(list(trial.replacement.members.values())[:count])


def test_what_is_taken_back_is_replaced_from_spot_while_there_is_time(cloud: EmulatedCloud, trial: Trial) -> None:
    trial.look()
    assert trial.joined == [] and trial.replacement.missing == 0, "nothing is amiss"
    ended(cloud, trial, 2)
    trial.look()
    assert len(trial.joined) == 2 and trial.replacement.missing == 0 and len(trial.replacement.members) == 3
    assert "replacing 2 machines: spot" in trial.told
    last = [event for event in trial.directory.events() if event.what == "place"][-1].details
    choice = trial.replacement.run.cluster.place.choice
    assert last["node_usd_per_hour"] == pytest.approx(choice.usd_per_hour / choice.nodes)
    down(trial.directory, trial.replacement.run.session)
    assert cloud.left() == {}


def test_a_machine_that_dies_on_demand_is_replaced_too(cloud: EmulatedCloud, trial: Trial) -> None:
    """Unless a new one would end before it works: it takes 120 s to start work, and 100 s are left."""
    usual = trial.replacement.run
    place = replace(usual.cluster.place, choice=replace(usual.cluster.place.choice, pricing="on-demand"))
    late = replace(usual.order, expires_at=datetime.now(UTC) + timedelta(seconds=100))
    trial.replacement.run = replace(usual, cluster=replace(usual.cluster, place=place), order=late)
    ended(cloud, trial, 1)
    trial.look()
    assert trial.joined == [] and trial.replacement.missing == 1 and trial.told[-1].startswith("lost: ")
    trial.replacement.run = replace(trial.replacement.run, order=usual.order)
    trial.look()
    assert len(trial.joined) == 1 and trial.replacement.missing == 0
    assert "replacing 1 machine: on-demand" in trial.told
    down(trial.directory, usual.session)
    assert cloud.left() == {}


class Unanswered(RunDirectory):
    """A journal of a call that made machines and whose answer was lost."""

    def made(self, resource: Resource) -> None:
        if resource.kind != "instance":
            super().made(resource)


@pytest.mark.parametrize("is_full", [False, True])
def test_a_machine_that_nobody_waits_for_is_ended(
    cloud: EmulatedCloud, trial: Trial, is_full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the journal names work on; the bill has the other one, unless the disk is full."""
    run, made = trial.replacement.run, trial.replacement
    journal = Unanswered(trial.directory.path)
    cloud.provider().launch(run.order, run.cluster.place, journal, machines=1, head=False, round=7)
    known = {node.id for node in run.cluster.nodes}
    strangers: set[str] = set()
    for _ in QUICK.polls(60.0):  # listings are late
        if strangers := {node.id for node in made._nodes()} - known:
            break
    assert len(strangers) == 1

    def refuse(*_: object, **__: object) -> None:
        raise IoFailureError("no space left on device")

    with monkeypatch.context() as patch, suppress(IoFailureError):
        if is_full:
            patch.setattr(RunDirectory, "note", refuse)
        trial.look()
    for _ in QUICK.polls(60.0):  # the cloud takes a moment
        if not strangers & {node.id for node in made._nodes() if node.state != "ended"}:
            break
    assert not strangers & {node.id for node in made._nodes() if node.state != "ended"}
    assert known <= {node.id for node in made._nodes() if node.state == "running"}
    bill = bill_of(trial.directory.events(), now=datetime.now(UTC))
    assert {machine.id for machine in bill.machines} == (known if is_full else known | strangers)
    assert bill.running == len(known)
    trial.look()
    assert trial.joined == [] and trial.replacement.missing == 0
    down(trial.directory, run.session)
    assert cloud.left() == {}


@pytest.mark.soak
@pytest.mark.quick
def test_machines_that_do_not_join_are_ended_and_others_launched(
    cloud: EmulatedCloud, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise IoFailureError("nothing can be installed")

    usual = Replacement._join
    ended(cloud, trial, 1)
    monkeypatch.setattr(Replacement, "_join", fail)
    with pytest.raises(IoFailureError, match="installed"):
        trial.look()
    assert trial.replacement.missing == 1
    monkeypatch.setattr(Replacement, "_join", usual)
    trial.look()
    assert trial.replacement.missing == 0
    alive = [node for node in trial.replacement._nodes() if node.state == "running"]
    assert len(alive) == 4, "a head and three others, whatever failed between"
    down(trial.directory, trial.replacement.run.session)
    assert cloud.left() == {}


@pytest.mark.soak
@pytest.mark.quick
def test_without_room_it_waits_and_near_the_end_takes_others(cloud: EmulatedCloud, trial: Trial) -> None:
    """With two hours left the run waits for spot machines; with 13 minutes (ten of work and two for a restart) it does
    not.
    """
    ended(cloud, trial, 1)
    busy = trial.replacement
    refused: list[str] = []
    usual = type(busy)._replace

    def without_room(made: Replacement, *arguments: Any, pricing: str) -> bool:
        refused.append(pricing)
        return pricing == "on-demand" and usual(made, *arguments, pricing=pricing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replacement, "_replace", without_room)
        trial.look()
        assert refused == ["spot"] and trial.joined == [], "two hours are left"
        near = datetime.now(UTC) + timedelta(minutes=12, seconds=30)
        busy.run = replace(busy.run, order=replace(busy.run.order, expires_at=near))
        trial.look()
    assert refused[-1] == "on-demand" and len(trial.joined) == 1
    choice = busy.run.cluster.place.choice
    last = [event for event in trial.directory.events() if event.what == "place"][-1].details
    assert last["node_usd_per_hour"] == pytest.approx(3 * choice.price_usd_per_hour)
    down(trial.directory, busy.run.session)
    assert cloud.left() == {}


FULL = {
    "aws": ("InsufficientInstanceCapacity", 500),
    "gcp": ("ZONE_RESOURCE_POOL_EXHAUSTED", 400),
    "azure": ("SkuNotAvailable", 409),
}


def test_a_partial_replacement_leaks_nothing_and_a_refusal_is_not_repeated(cloud: EmulatedCloud, trial: Trial) -> None:
    """Two machines are missing; Azure, where each is requested alone, has room for one, the others for none."""
    ended(cloud, trial, 2)
    run = trial.replacement.run
    on_demand = replace(run.cluster.place, choice=replace(run.cluster.place.choice, pricing="on-demand"))
    trial.replacement.run = replace(run, cluster=replace(run.cluster, place=on_demand))
    code, status = FULL[cloud.cloud]
    asked: list[int] = []

    def judge(seen: ProxiedRequest) -> Fault:
        if seen.action != cloud.launching or not cloud.is_meant(seen):
            return None
        asked.append(seen.number)
        return None if cloud.cloud == "azure" and len(asked) == 1 else cloud.refusal(code, status=status)

    cloud.proxy.judge = judge
    trial.look()
    first = len(asked)
    assert trial.replacement.pause_s["on-demand"] > 0
    trial.replacement.retry_at_s = dict.fromkeys(
        trial.replacement.retry_at_s, float("inf")
    )  # a pause that outlasts the test
    trial.look()
    assert len(asked) == first, "the cloud has said no"
    assert len(trial.joined) == (cloud.cloud == "azure"), "what came works"
    assert cloud.machines() == 1 + len(trial.replacement.members), "the head, and those that work"
    cloud.proxy.judge = lambda _: None
    down(trial.directory, trial.replacement.run.session)
    assert cloud.left() == {}
