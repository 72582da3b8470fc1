"""Random lives of runs on an in-memory cloud with late and short listings: however runs are ordered, listed, failed,
crashed, resumed and swept, no machine stays. The cloud's own store is the reference.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from emulated_cloud import order
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from poor_listings import PoorListings
from refusals import refused

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import NoCapacityError, PassingError
from planner.clouds.order import ClusterOffer, Order
from planner.clouds.protocol import Journal, Node, Place, Resource
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, down, remove_swept, sweep, up
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import LeftBehindError, PlannerError

AT_ONCE = RetryPolicy(poll_s=0.0, settle_s=0.0, join_s=0.02, gone_s=1.0, listings=4)
CHOICE = ClusterOffer(
    instance_type="m",
    regions=("r",),
    nodes=2,
    spares=1,
    placement_group=False,
    price_usd_per_hour=1.0,
    usd_per_hour=2.0,
    expected_s=60.0,
    bill=(),
)


class Memory:
    """A cloud that has only machines. After `fails_after` calls, none gets through until it is None again."""

    cloud = "memory"
    stages = (("instance",),)
    tied_to_zone = frozenset({"instance"})

    def __init__(self) -> None:
        self.live: dict[str, Resource] = {}
        self.head: set[str] = set()
        self.room = 100
        self.fails_after: int | None = None
        self.poor = PoorListings()

    def _call(self) -> None:
        if self.fails_after is not None:
            if self.fails_after <= 0:
                raise PassingError("the line is dead")
            self.fails_after -= 1

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        self._call()

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        journal.intend("instance", name=f"{machines} x node", region=place.region)
        self._call()
        made = min(machines, self.room)
        self.room -= made
        new = [
            Resource(kind="instance", id=f"{order.run}-{round}-{n}", region=place.region, run=order.run)
            for n in range(made)
        ]
        self.live |= {item.id: replace(item, expires_at=order.expires_at) for item in new}
        self.head |= {item.id for item in new[:head]}
        self._call()  # the answer may be lost
        for item in new:
            journal.made(item)
        if made < machines:
            raise NoCapacityError("no room for all")

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        self._call()
        fitting = [item for item in self.live.values() if run in (None, item.run)]
        return tuple(self.poor.shown(f"find {run}", fitting, identity=lambda item: item.id))

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        self._call()
        shown = self.poor.shown("nodes", [i for i in self.live.values() if i.run == run], identity=lambda item: item.id)
        return tuple(
            Node(
                id=item.id,
                region=region,
                zone="z",
                head=item.id in self.head,
                state="running",
                instance_type="m",
                private_address="10.0.0.1",
                public_address="192.0.2.1",
            )
            for item in shown
        )

    def look_up(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        self._call()
        return tuple(self.live[item.id] for item in resources if item.id in self.live)

    def delete(self, resources: Sequence[Resource]) -> None:
        self._call()
        for item in resources:
            if self.live.pop(item.id, None):
                self.room += 1

    def terminate(self, nodes: Sequence[Node]) -> None:
        self.delete([Resource(kind="instance", id=node.id, region=node.region, run="") for node in nodes])


class Schedules(RuleBasedStateMachine):
    """Runs start, fail, are taken down by another process, or lose their directory."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        os.environ["PLANNER_RUNS"] = str(self.home)
        self.memory: Any = Memory()
        self.session = ProviderSession(provider=self.memory, policy=AT_ONCE, say=lambda _: None)
        self.number = 0
        self.begun: list[str] = []

    @rule(calls=st.none() | st.integers(0, 12), room=st.integers(0, 6))
    def order(self, calls: int | None, room: int) -> None:
        """Rent, in a cloud with limited room, over a connection that dies after some calls."""
        self.number += 1
        self.memory.fails_after, self.memory.room = calls, room
        expires_at = datetime.now(UTC) + timedelta(hours=1)
        asked = order(f"run{self.number}", CHOICE, cloud="memory", expires_at=expires_at)
        directory = RunDirectory.create(asked)
        self.begun.append(asked.run)
        try:
            up(asked, [Place(choice=CHOICE, region="r", zone="z")], directory, self.session)
        except PlannerError:
            if calls is None:
                assert self.of(asked.run) == [], "a refused run leaves nothing"
        self.memory.fails_after = None

    @rule(data=st.data())
    def machine_fails(self, data: st.DataObject) -> None:
        if self.memory.live:
            self.memory.live.pop(data.draw(st.sampled_from(sorted(self.memory.live))))

    @rule(data=st.data(), calls=st.none() | st.integers(0, 6))
    def resume(self, data: st.DataObject, calls: int | None) -> None:
        """Take a run down over a connection that may die; if it does, the run is not reported as gone."""
        known = [run for run in self.begun if (self.home / run).exists()]
        if not known:
            return
        run = data.draw(st.sampled_from(known))
        self.memory.fails_after = calls
        try:
            down(RunDirectory.open(run), self.session)
        except PlannerError:
            assert calls is not None
        else:
            assert self.of(run) == []
        self.memory.fails_after = None

    @rule(data=st.data())
    def lose_directory(self, data: st.DataObject) -> None:
        if self.begun:
            shutil.rmtree(self.home / data.draw(st.sampled_from(self.begun)), ignore_errors=True)

    @rule()
    def sweep(self) -> None:
        """Find everything by its tags alone."""
        for found in sweep(self.session, regions=["r"]).runs:
            remove_swept(found.run, found.resources, self.session)
        assert self.memory.live == {}

    @invariant()
    def every_machine_is_of_a_run(self) -> None:
        assert {item.run for item in self.memory.live.values()} <= set(self.begun)

    def of(self, run: str) -> list[str]:
        return [item.id for item in self.memory.live.values() if item.run == run]

    def teardown(self) -> None:
        self.sweep()
        shutil.rmtree(self.home, ignore_errors=True)


def test_no_schedule_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    monkeypatch.setenv("PLANNER_RUNS", "unused")
    run_state_machine_as_test(Schedules, settings=settings(max_examples=200, stateful_step_count=12, deadline=None))


@pytest.mark.parametrize("hours", [1, -1], ids=["running", "expired"])
def test_a_teardown_that_cannot_look_names_what_was_ordered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """As with expired credentials: nothing is listed, and "0 resources are left" would be false."""
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path))
    memory: Any = Memory()
    session = ProviderSession(provider=memory, policy=AT_ONCE, say=lambda _: None)
    asked = order("run1", CHOICE, cloud="memory", expires_at=datetime.now(UTC) + timedelta(hours=hours))
    directory = RunDirectory.create(asked)
    up(asked, [Place(choice=CHOICE, region="r", zone="z")], directory, session)
    memory.fails_after = 0
    with refused("left-behind", "run1", f"{len(memory.live)} resources", kind=LeftBehindError) as raised:
        down(directory, session)
    for id_ in memory.live:
        assert any(id_ in line for line in raised.value.details)
