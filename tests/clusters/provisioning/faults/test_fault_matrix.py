"""Every call of a cluster's life, crossed with every fault, on every cloud: no leak and no wrong bill.

After a crash no further request gets through, whether the cloud has carried out the last one or not. Late and short
listings are in every cell, because the emulators' listings are late and short by default.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from emulated_cloud import QUICK, EmulatedCloud
from fault_proxy import Fault, Lose, ProxiedRequest

from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.reconciliation import Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.errors import PlannerError

MODULES = {"aws": "emulated_ec2", "gcp": "emulated_gcp", "azure": "emulated_azure"}
PARTS = 8
FAULTS = ("denied", "throttled", "crash before", "crash after")
REFUSALS = {
    "aws": {"denied": ("UnauthorizedOperation", 403), "throttled": ("RequestLimitExceeded", 503)},
    "gcp": {"denied": ("forbidden", 403), "throttled": ("rateLimitExceeded", 403)},
    "azure": {"denied": ("AuthorizationFailed", 403), "throttled": ("TooManyRequests", 429)},
}
HASTY = replace(QUICK, give_up_s=0.2, gone_s=5.0, join_s=5.0)


@dataclass(frozen=True)
class Cell:
    """The first request of an action, and its fault."""

    action: str
    fault: str


class Judge:
    """Lets one fault happen, and lets nothing through after a crash."""

    def __init__(self, cloud: EmulatedCloud, cell: Cell) -> None:
        self.cloud, self.cell, self.has_met = cloud, cell, False
        self.is_off = False

    def __call__(self, seen: ProxiedRequest) -> Fault:
        if self.is_off:
            return Lose(carried_out=False)
        if seen.action != self.cell.action or not self.cloud.is_meant(seen):
            return None
        if self.cell.fault == "denied" or not self.has_met:
            self.has_met = True
            return self._fault()
        return None

    def _fault(self) -> Fault:
        if self.cell.fault.startswith("crash"):
            self.is_off = True
            return Lose(carried_out=self.cell.fault == "crash after")
        code, status = REFUSALS[self.cloud.cloud][self.cell.fault]
        return self.cloud.refusal(code, status=status)


def lived(cloud: EmulatedCloud, name: str, session: ProviderSession, judge: Judge | None) -> RunDirectory:
    """Rent a cluster under a fault and take it down; the fault may end either."""
    cloud.world()
    emulated = importlib.import_module(MODULES[cloud.cloud])
    choice = emulated.choice()
    keyed, directory = begin(emulated.order(name, choice))
    if judge:
        cloud.proxy.judge = judge
    try:
        up(keyed, [Place(choice=choice, region=cloud.region, zone=cloud.zones[0])], directory, session)
        down(directory, session)
    except PlannerError:
        assert judge, "nothing failed that was not made to"
    cloud.proxy.judge = lambda _: None
    return directory


def wrong(cloud: EmulatedCloud, directory: RunDirectory, session: ProviderSession) -> Iterable[str]:
    """Yield errors in the bill of a run as it was left, and resources that another process does not take down."""
    account = Reconciliation.of(directory, provider=session.provider, policy=session.policy)
    account.observe(directory)
    running = bill_of(directory.events(), now=datetime.now(UTC)).running
    if running != cloud.machines():
        yield f"{running} machines are billed, {cloud.machines()} live"
    down(RunDirectory.open(directory.path.name), session)
    if left := cloud.left():
        yield f"left: {left}"
    if bill_of(directory.events(), now=datetime.now(UTC)).running:
        yield "billed after the end"


def failing(cloud: EmulatedCloud, cells: Iterable[Cell]) -> dict[Cell, list[str]]:
    session = ProviderSession(provider=cloud.provider(HASTY), policy=HASTY, say=lambda _: None)
    failed = {}
    for number, cell in enumerate(cells):
        judge = Judge(cloud, cell)
        directory = lived(cloud, f"cell{number}", session, judge)
        found = list(wrong(cloud, directory, session))
        if found:
            failed[cell] = found
    return failed


def actions(cloud: EmulatedCloud) -> list[str]:
    """Return every action of a life without faults."""
    session = ProviderSession(provider=cloud.provider(), policy=QUICK, say=lambda _: None)
    lived(cloud, "calm", session, None)
    assert cloud.left() == {}
    return list(dict.fromkeys(seen.action for seen in cloud.proxy.seen if cloud.is_meant(seen)))


def test_launches_and_ends_under_every_fault(cloud: EmulatedCloud) -> None:
    """The calls whose failures cost most."""
    cells = [Cell(action, fault) for action in (cloud.launching, cloud.ending) for fault in FAULTS]
    assert failing(cloud, cells) == {}


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_every_call_under_every_fault(cloud: EmulatedCloud, part: int) -> None:
    cells = [Cell(action, fault) for action in actions(cloud)[part::PARTS] for fault in FAULTS]
    failed = failing(cloud, cells)
    print(f"{cloud.cloud}, part {part}: {len(cells)} cells, {len(failed)} with a leak or a wrong bill")
    assert failed == {}
