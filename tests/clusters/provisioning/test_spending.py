"""The cost of all runs in a month, and the amount it leaves for the next one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from emulated_ec2 import choice, order
from refusals import refused

from planner.clouds.order import ClusterOffer, Order
from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import begin
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.order_from_plan import Limits, order_of
from planner.clusters.provisioning.run_directory import Event, RunDirectory, known_runs
from planner.clusters.provisioning.spending import committed_usd, within_month
from planner.errors import InfeasibleError

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def journal(began: datetime, *, hours: float, ended_after: float | None = None) -> tuple[Event, ...]:
    """Return the journal of one machine at $2 per hour that expires after the given hours."""

    def event(at: datetime, what: str, **details: Any) -> Event:
        return Event(at=at, what=what, details=details)

    expires_at = f"{began + timedelta(hours=hours):%Y%m%dt%H%M%Sz}"
    events = [
        event(began, "order", expires_at=expires_at),
        event(began, "place", node_usd_per_hour=2.0),
        event(began, "made", kind="instance", id="i-1"),
    ]
    ends = [] if ended_after is None else [event(began + timedelta(hours=ended_after), "ended", nodes=[])]
    return (*events, *ends)


def test_a_run_that_goes_on_counts_until_it_expires_and_one_across_months_in_part() -> None:
    over = journal(NOW - timedelta(hours=9), hours=8, ended_after=3)
    goes_on = journal(NOW - timedelta(hours=1), hours=4)
    across = journal(datetime(2026, 10, 31, 22, tzinfo=UTC), hours=5)
    before = journal(datetime(2026, 10, 3, tzinfo=UTC), hours=5)
    assert committed_usd([over], now=NOW) == pytest.approx(6)
    assert committed_usd([goes_on], now=NOW) == pytest.approx(8)
    assert committed_usd([across], now=NOW) == pytest.approx(6), "of five hours three were in November"
    assert committed_usd([before], now=NOW) == pytest.approx(0)


def test_the_month_leaves_what_other_runs_do_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings file sets the limit where no option does."""
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    settings = tmp_path / "settings.toml"
    monkeypatch.setenv("PLANNER_SETTINGS", str(settings))
    now = datetime.now(UTC)
    limits = Limits(cost_usd=50.0)
    assert within_month(limits, None, now=now) == limits, "no limit was named"
    expires_at = now + timedelta(hours=2)
    directory = RunDirectory.create(order("r1", choice(), expires_at=expires_at))
    directory.note("place", node_usd_per_hour=10.0)
    directory.note("made", kind="instance", id="i-1", region="us-east-1")
    settings.write_text("[limits]\nmax_cost_per_month = 60\n")
    assert within_month(limits, None, now=now).cost_usd == pytest.approx(40, abs=0.1)
    assert within_month(limits, 100, now=now).cost_usd == 50, "80 are left"
    with refused(
        "over-budget", "--max-cost-per-month 15", "$20.00", field="--max-cost-per-month", kind=InfeasibleError
    ):
        within_month(limits, 15, now=now)


def test_a_run_without_machines_yet_counts_with_the_most_that_it_may_cost(runs: Path) -> None:
    """It is about to launch; once it is down, only its bill counts."""
    _, directory = begin(*ordered("first", cost_usd=40.0), month_usd=60.0)
    now = datetime.now(UTC)
    assert within_month(Limits(), 60, now=now).cost_usd == pytest.approx(20, abs=0.1)
    directory.note("down", removed=0)
    assert within_month(Limits(), 60, now=now).cost_usd == pytest.approx(60)


def test_of_two_processes_that_rent_at_once_one_gets_what_is_left_of_the_month(runs: Path) -> None:
    """Both have checked before either began: $40 for each, of $60."""
    script = (
        "import json, sys\n"
        "from planner.clouds.order import Order\n"
        "from planner.clouds.protocol import Place\n"
        "from planner.clusters.provisioning.cluster_lifecycle import begin\n"
        "order = Order.from_dict(json.loads(sys.argv[1]))\n"
        "sys.stdin.readline()\n"
        "begin(order, [Place(choice=order.choices[0], region='us-east-1', zone='us-east-1a')], month_usd=60.0)\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, json.dumps(ordered(name, cost_usd=40.0)[0].to_dict())],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    said = [process.communicate("go\n")[1] for process in processes]
    assert sorted(process.returncode for process in processes) == [0, 1], said
    assert "--max-cost-per-month 60: other runs began meanwhile, and leave $20.0" in "".join(said)
    assert len(known_runs()) == 1, "the other has left nothing"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANNER_SETTINGS", str(tmp_path / "settings.toml"))
    monkeypatch.setenv("PLANNER_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def ordered(run: str, *, cost_usd: float) -> tuple[Order, list[Place]]:
    """Return the order of a run whose machines live as long as its money lasts, and the place to rent."""
    now, limits = datetime.now(UTC), Limits(cost_usd=cost_usd, hours=1000.0)
    asked = order_of([choice()], run=run, cloud="aws", ssh_from="203.0.113.7/32", limits=limits, now=now)
    return asked, [Place(choice=choice(), region="us-east-1", zone="us-east-1a")]


@pytest.mark.parametrize(("bought", "spares"), [("on-demand", 0), ("on-demand", 3), ("spot", 0), ("spot", 2)])
def test_whatever_is_bought_keeps_to_the_limit_until_the_machines_end(bought: str, spares: int) -> None:
    """Spares, the head on demand, and every spot machine replaced on demand after a minute: $5 pay for all of it."""
    offer = choice(spares=spares, pricing=bought)
    if offer.is_spot:
        offer = replace(offer, price_usd_per_hour=0.05, usd_per_hour=0.15).at_price(0.05, head=0.172)
    asked = order_of(
        [offer], run="r", cloud="aws", ssh_from="203.0.113.7/32", limits=Limits(cost_usd=5.0, hours=100.0), now=NOW
    )
    first = [("head", "head"), *((f"i-{number}", "node") for number in range(offer.machines - 1))]
    events = [
        Event(at=NOW, what="order", details={"expires_at": f"{asked.expires_at:%Y%m%dt%H%M%Sz}"}),
        *launched(NOW, offer, first),
    ]
    if offer.is_spot:
        later = NOW + timedelta(minutes=1)
        events.append(Event(at=later, what="ended", details={"nodes": [id_ for id_, role in first if role == "node"]}))
        events += launched(later, offer.on_demand, [(f"again-{id_}", "node") for id_, role in first if role == "node"])
    usd = bill_of(tuple(events), now=NOW + timedelta(days=30)).usd
    assert 0.9 * 5.0 < usd <= 5.0
    assert asked.expires_at < NOW + timedelta(hours=100), "the limit and nothing else ends them"


def launched(at: datetime, offer: ClusterOffer, machines: list[tuple[str, str]]) -> list[Event]:
    """Return the events of a launch: the place with its prices, and each machine."""
    prices = {"node_usd_per_hour": offer.node_usd_per_hour, "head_usd_per_hour": offer.head_machine_usd_per_hour}
    made = [Event(at=at, what="made", details={"kind": "instance", "id": id_, "name": role}) for id_, role in machines]
    return [Event(at=at, what="place", details=prices), *made]
