"""Replacement of machines lost while a run works. Spot machines are replaced by spot ones while there is time for
another loss, and on demand when the machines' own end comes near; others are replaced on demand.

The process that follows the run does this. A replacement joins the next step that begins, or a step repeated because of
the loss; a running sort goes on with the machines it has.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from planner.catalog import load_catalog
from planner.clouds.cloud_errors import NoCapacityError
from planner.clouds.protocol import Node, Place
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.remote.bootstrap import equip_from, verify_host_keys
from planner.clusters.remote.ssh import Ssh, TimeIsUp
from planner.clusters.runs.ray_on_nodes import RayOnNodes
from planner.clusters.runs.run import Run
from planner.clusters.spot.availability import SpotHistory, SpotRates
from planner.clusters.spot.policy import Action, Moment, SpotJob, decide
from planner.errors import IoFailureError, PlannerError, ProviderRefusedError
from planner.units import count_text

_POLLS_PER_LOOK: Final = 6
_USUAL_SHARE: Final = 0.35
"""Spot price as a share of the on-demand price, where the latter is unknown; assumed."""
_LONGEST_PAUSE_S: Final = 600.0
"""Longest pause between two requests for machines that a cloud does not have."""
_FIRST_ROUND: Final = 1000
"""Number of the first replacement; launches of a new cluster have lower numbers."""


@dataclass(kw_only=True)
class Replacement:
    """Replaces the machines of one run, but not its head. `work_s` is the 95th percentile of the work from now on; a
    new machine works after `restart_s`. `rates` are those of one spot machine. `members` work now, `missing` are to be
    replaced, and `seen` is the history of spot machines.
    """

    run: Run
    ray: RayOnNodes
    work_s: float
    restart_s: float
    rates: SpotRates
    members: dict[str, Node]
    work_left_s: float
    missing: int = 0
    seen: SpotHistory = field(default_factory=SpotHistory)
    has_spot: bool = True
    pause_s: dict[str, float] = field(default_factory=dict)
    retry_at_s: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, ray: RayOnNodes) -> Replacement:
        """Return the replacement of a run's machines on which Ray has just started."""
        choice, stated = run.cluster.place.choice, load_catalog(run.order.cloud).manifest.spot
        work_s = max(0.0, choice.needed_s - sum(run.stopwatch.seconds.values()))
        return cls(
            run=run,
            ray=ray,
            work_s=work_s,
            restart_s=run.restart_s,
            rates=SpotRates(losses_per_s=stated.interruptions_per_node_hour / 3600) if stated else SpotRates(),
            members={machine.name: machine.node for machine in ray.machines if not machine.node.head},
            work_left_s=work_s,
        )

    def _may_request(self, pricing: str) -> bool:
        """Return whether machines may be requested: not shortly after a refusal."""
        return time.monotonic() >= self.retry_at_s.get(pricing, 0.0)

    def _refused(self, pricing: str, refusal: ProviderRefusedError | None) -> None:
        """Remember a refusal, or None for success: a lack of capacity holds for one look, then twice as long each time,
        any other refusal for the rest of the run.
        """
        passes = isinstance(refusal, NoCapacityError)
        self.pause_s[pricing] = (
            min(2 * self.pause_s.get(pricing, self._decide_every_s / 2), _LONGEST_PAUSE_S) if passes else 0.0
        )
        pause_s = math.inf if refusal and not passes else self.pause_s[pricing]
        self.retry_at_s[pricing] = time.monotonic() + pause_s

    @cached_property
    def _account(self) -> Reconciliation:
        return self.run.account()

    @contextmanager
    def run_in_background(self, ssh: Ssh) -> Iterator[None]:
        """Replace machines while the body runs; no replacement continues afterwards."""
        over = threading.Event()
        thread = threading.Thread(target=self._keep, args=(ssh, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            while thread.is_alive():
                ssh.interrupt()
                thread.join(0.5)

    @property
    def _decide_every_s(self) -> float:
        return _POLLS_PER_LOOK * self.run.session.policy.poll_s

    def _keep(self, ssh: Ssh, over: threading.Event) -> None:
        while not over.wait(self._decide_every_s):
            try:
                self._replace_lost_machines(ssh, over)
            except TimeIsUp:
                return
            except PlannerError as error:
                self.run.session.say(f"machines cannot be looked at, or replaced, now: {error}")

    def _replace_lost_machines(self, ssh: Ssh, over: threading.Event) -> None:
        """Notice lost machines, and replace them if it is time to."""
        self._notice_losses()
        if self.missing:
            action = self._decide()
            if action == "spot" and not self._try(ssh, over, pricing="spot"):
                self.has_spot = False
                action = self._decide()
            if action == "on-demand":
                self._try(ssh, over, pricing="on-demand")

    def _notice_losses(self) -> None:
        nodes = self._account.settled_nodes(region=self.run.cluster.place.region)
        self._end_strangers(nodes)
        ended = {node.id for node in nodes if node.is_lost}
        lost = [name for name in self.members if name in ended]
        was_up, whole = self.has_spot, len(self.members) + self.missing
        self.has_spot = was_up and not lost
        self.seen = self.seen.extend(was_up=was_up, for_s=self._decide_every_s, is_up=self.has_spot)
        if lost:
            self.run.session.say(
                f"{'taken back' if self.run.cluster.place.choice.is_spot else 'lost'}: {', '.join(lost)}"
            )
            self.run.session.provider.terminate([node for node in nodes if node.id in lost and node.state == "stopped"])
            self.run.directory.note("ended", nodes=lost)
            self.missing += len(lost)
            self.members = {name: node for name, node in self.members.items() if name not in ended}
        self.work_left_s = max(0.0, self.work_left_s - self._decide_every_s * len(self.members) / max(1, whole))
        self.has_spot = True  # until an attempt shows otherwise

    def _decide(self) -> Action:
        choice = self.run.cluster.place.choice
        left_s = (self.run.order.expires_at - datetime.now(UTC)).total_seconds()
        if not choice.is_spot:
            return "on-demand" if left_s > self.restart_s else "wait"
        head = choice.head_usd_per_hour
        job = SpotJob(
            work_s=max(self.work_s, self.work_left_s),
            deadline_s=max(left_s, self._decide_every_s),
            restart_s=self.restart_s,
            spot_share=min(1.0, choice.price_usd_per_hour / head) if head else _USUAL_SHARE,
            decide_every_s=self._decide_every_s,
        )
        moment = Moment(on="wait", spot_available=self.has_spot, work_left_s=self.work_left_s, time_left_s=left_s)
        return decide(job, moment, self.rates.update(self.seen))

    def _try(self, ssh: Ssh, over: threading.Event, *, pricing: str) -> bool:
        """Replace the missing machines, unless the cloud has refused lately."""
        return self._may_request(pricing) and self._replace(ssh, over, pricing=pricing)

    def _replace(self, ssh: Ssh, over: threading.Event, *, pricing: str) -> bool:
        """Launch the missing machines, let those that come up join, and end the others; return whether there was
        capacity for all.
        """
        place, wanted = self._with_pricing(pricing), self.missing
        self.run.session.say(f"replacing {count_text(wanted, 'machine')}: {pricing}")
        launches = sum(event.what == "intent" for event in self.run.directory.events())
        before = {resource.id for resource in self.run.directory.ordered()}
        refusal: ProviderRefusedError | None = None
        try:
            self.run.session.provider.launch(
                self.run.order, place, self.run.directory, machines=wanted, head=False, round=_FIRST_ROUND + launches
            )
        except ProviderRefusedError as error:
            refusal = error
            self.run.session.say(f"no: {refusal.message}")
        finally:
            new = {item.id for item in self.run.directory.ordered() if item.kind == "instance"} - before
            try:
                if running := self._running(new, over):
                    self._join(ssh, running)
            finally:
                self._end(new - set(self.members))
        self._refused(pricing, refusal)
        return refusal is None

    def _end_strangers(self, nodes: Sequence[Node]) -> None:
        """End machines launched by a call that got no answer: no process waits for them."""
        ordered = {resource.id for resource in self.run.directory.ordered()}
        strangers = {node.id for node in nodes if node.state != "ended"} - ordered
        if strangers:
            with suppress(IoFailureError):  # they must end also where the disk is full
                self.run.directory.note("seen", nodes=sorted(strangers))
            self._end(strangers)

    def _end(self, names: Collection[str]) -> None:
        """End machines that did not join, whatever state a listing shows: others are launched in their place."""
        nodes = [node for node in self._nodes() if node.id in names]
        if gone := [node for node in nodes if node.state != "ended"]:
            self.run.session.provider.terminate(gone)
        if nodes:
            self.run.directory.note("ended", nodes=[node.id for node in nodes])

    def _with_pricing(self, pricing: str) -> Place:
        """Return the run's place with this pricing, and record a machine's price."""
        place = replace(self.run.cluster.place, choice=replace(self.run.cluster.place.choice, pricing=pricing))
        choice = place.choice
        on_demand = pricing == "on-demand"
        self.run.directory.note(
            "place",
            region=place.region,
            zone=place.zone,
            instance_type=choice.instance_type,
            placement_group=choice.placement_group,
            node_usd_per_hour=(self.run.cluster.place.choice.on_demand if on_demand else choice).node_usd_per_hour,
            beside_usd_per_hour=choice.beside_usd_per_hour,
            price_source=choice.price_source,
        )
        return place

    def _nodes(self) -> tuple[Node, ...]:
        return self._account.nodes(region=self.run.cluster.place.region)

    def _running(self, new: Collection[str], over: threading.Event) -> list[Node]:
        """Return the new machines that run, once none is starting or time is up."""
        nodes: list[Node] = []
        for _ in self.run.session.policy.polls(self.run.session.policy.join_s if new else 0.0):
            nodes = [node for node in self._nodes() if node.id in new]
            if over.is_set() or not any(node.state == "starting" for node in nodes):
                break
        return [node for node in nodes if node.state == "running"]

    def _join(self, ssh: Ssh, new: Sequence[Node]) -> None:
        """Equip machines and start Ray on them; those that fail stay missing."""
        policy, provider = self.run.session.policy, self.run.session.provider
        ssh.write((self.run.cluster.head, *self.members.values(), *new))
        failed = verify_host_keys(ssh, new, provider, policy=policy) if self.run.wanted.task.is_lent else {}
        trusted = [node for node in new if node.id not in failed]
        equipment = equip_from(ssh, self.run.cluster.head, trusted, self.run.wanted.wheelhouse, policy=policy)
        self.ray = self.ray.add_nodes(equipment.ready)
        joined = {machine.name: machine.node for machine in equipment.ready if machine.name in self.ray.working}
        self.members |= joined
        self.missing -= len(joined)
        if joined:
            self.run.session.say(f"joined: {', '.join(joined)}")
