"""One set of bill lines: a plan, its dry runs, its order and its journal have the same lines and dollars."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st

import planner
from planner.catalog import load_catalog
from planner.clouds.order import ClusterOffer
from planner.clusters.provisioning.cost_to_date import bill_of
from planner.clusters.provisioning.order_from_plan import choices_of
from planner.clusters.provisioning.run_directory import Event
from planner.clusters.remote import wheelhouse
from planner.errors import InfeasibleError
from planner.schemas.plan import ADDRESS_LINE, EGRESS_LINE, HEAD_LINE, MACHINES_LINE, ROOTS_LINE

TYPES = {
    "aws": ("i4i.2xlarge", "i7i.4xlarge", "i8g.4xlarge", "c6id.8xlarge"),
    "gcp": ("z3-highmem-14-standardlssd", "c3-standard-44-lssd", "c3d-standard-30-lssd"),
    "azure": ("Standard_L16s_v3", "Standard_L8as_v3", "Standard_L32s_v4"),
}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, ...]:
    """Return the words of a random request on any cloud, for machines with local disks."""
    cloud = draw(st.sampled_from(sorted(TYPES)))
    pricing = draw(st.sampled_from(["on-demand", "spot"] if cloud != "azure" else ["on-demand"]))
    words = ("--cloud", cloud, "--instance", draw(st.sampled_from(TYPES[cloud])), "--pricing", pricing)
    nodes = draw(st.one_of(st.none(), st.integers(2, 40)))
    words += ("--data", f"{draw(st.integers(1, 3000))}GB", "--model", draw(st.sampled_from(["indy", "daytona"])))
    return (*words, *(() if nodes is None else ("--nodes", str(nodes))))


@given(words=requests())
@settings(max_examples=12, deadline=None)
def test_a_plan_and_its_dry_runs_have_the_same_lines(words: tuple[str, ...]) -> None:
    """Of an installation from the index, whose wheels fit all machines: otherwise the head compiles, which only the run
    knows. `cluster up` launches no spares, as nobody screens its machines.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wheelhouse, "is_installed_from_index", lambda: True)
        _compare(words)


@pytest.mark.parametrize("cloud", sorted(TYPES))
def test_a_source_installation_adds_its_compiling_to_the_same_cluster(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a wheel for the machines the head compiles: one line more, and later lines by the hour."""
    monkeypatch.setattr(wheelhouse, "software_form", lambda **_: "source")
    words = ("--cloud", cloud, "--instance", ",".join(TYPES[cloud]), "--data", "2TB", "--model", "indy")
    best = json.loads(call("plan", *words, "--json"))["best"]
    rented = json.loads(call("run", *words, "--dry-run", "--json"))
    planned, billed = ({line["name"]: line for line in lines} for lines in (best["bill"], rented["bill"]))
    assert billed.keys() - planned.keys() == {"compile"} and rented["nodes"] == best["nodes"]
    steps = [name for name, line in planned.items() if line["time_s"] is not None]
    assert [billed[name] for name in steps] == [planned[name] for name in steps]
    longer = rented["expected_s"] / (rented["expected_s"] - billed["compile"]["time_s"])
    assert billed[ROOTS_LINE]["usd"] == pytest.approx(planned[ROOTS_LINE]["usd"] * longer)


def _compare(words: tuple[str, ...]) -> None:
    try:
        plan = json.loads(call("plan", *words, "--json"))
    except (AssertionError, InfeasibleError):
        return  # nothing feasible
    best, ssh = plan["best"], ("--ssh-from", "203.0.113.7/32")
    rehearsed = json.loads(call("run", *words, "--dry-run", "--json", *ssh))
    raised = json.loads(call("cluster", "up", *words, "--dry-run", "--json", *ssh))
    assert rehearsed["bill"] == best["bill"]
    assert rehearsed["cost_usd"] == pytest.approx(best["cost_usd"]["total"])
    assert raised["bill"] == [line for line in best["bill"] if line["name"] != "spares"]
    named = {line["name"] for line in best["bill"]}
    assert {ROOTS_LINE, ADDRESS_LINE} <= named
    assert (HEAD_LINE in named) == (best["pricing"] == "spot")


@pytest.mark.parametrize("pricing", ["on-demand", "spot"])
def test_a_run_as_long_as_planned_costs_what_was_planned(pricing: str) -> None:
    """The journal's lines, without spares and charges, are the plan's: its steps are one line of all machines."""
    plan = planner.recommend("1TB", model="indy", instance=["i4i.2xlarge"], nodes=9, pricing=pricing).plan
    offer = choices_of(plan, cloud="aws", regions=(), screened=False)[0]
    began, place = datetime(2026, 12, 1, tzinfo=UTC), asdict(offer)
    place |= {"node_usd_per_hour": offer.node_usd_per_hour, "head_usd_per_hour": offer.head_machine_usd_per_hour}
    made = [{"kind": "instance", "id": f"i-{number}", "name": "node" if number else "head"} for number in range(9)]
    events = [Event(at=began, what="place", details=place | {"beside_usd_per_hour": offer.beside_usd_per_hour})]
    events += [Event(at=began, what="made", details=details) for details in made]
    bill = bill_of(events, now=began + timedelta(seconds=offer.expected_s))
    planned = {line.name: line.usd for line in offer.bill}
    billed = {line.name: line.usd for line in bill.lines}
    steps = sum(line.usd or 0.0 for line in offer.bill if line.time_s is not None)
    assert billed.pop(MACHINES_LINE) == pytest.approx(steps)
    assert billed == pytest.approx(
        {name: planned[name] for name in (HEAD_LINE, ROOTS_LINE, ADDRESS_LINE) if name in planned}
    )
    assert bill.usd == pytest.approx(offer.total_usd - (planned.get("rounding") or 0.0))
    assert (HEAD_LINE in billed) == (pricing == "spot")


def test_the_on_demand_cluster_after_a_spot_one_has_the_lines_of_its_own_plan() -> None:
    """The last choice of a spot order is the same cluster on demand, at the dollars of a plan on demand."""
    asked = {"model": "indy", "instance": ["i4i.2xlarge"], "nodes": 9}
    spot, bought = (planner.recommend("1TB", pricing=pricing, **asked).plan for pricing in ("spot", "on-demand"))
    last = choices_of(spot, cloud="aws", regions=(), or_next=0)[-1]
    (first, *_) = choices_of(bought, cloud="aws", regions=(), or_next=0)
    assert last.launched_usd_per_hour == pytest.approx(first.launched_usd_per_hour)
    assert {line.name for line in last.bill} == {line.name for line in first.bill}
    assert last.beside_usd_per_hour == pytest.approx(first.beside_usd_per_hour)


def test_a_price_that_nobody_states_is_a_line_without_one(make_catalog_file: Path) -> None:
    """A bill with a root volume of unknown price is a lower bound, and names the line."""
    best = planner.recommend("1TB", model="indy", catalogs=[str(make_catalog_file)], instance=["i4i.2xlarge"]).best
    assert best is not None and best.cost_usd.at_least and best.cost_usd.unknown == (ROOTS_LINE,)
    assert [line.usd for line in best.bill if line.name == ROOTS_LINE] == [None]
    assert any(text.startswith(f"{ROOTS_LINE}: the price is unknown") for text in best.warnings)
    assert not list(best.contradictions())
    offer = ClusterOffer.of(best, regions=(), late_s=best.late_run_s)
    assert offer.beside_usd_per_hour[ROOTS_LINE] is None


@pytest.fixture
def make_catalog_file(tmp_path: Path) -> Path:
    """The catalog of EC2 without the price of its root volumes."""
    copied = tmp_path / "unpriced"
    copied.mkdir()
    for file in load_catalog("aws").path.iterdir():
        text = file.read_text("utf-8")
        (copied / file.name).write_text(text.replace("root_usd_per_month = 2.4\n", ""), "utf-8")
    return copied


def test_a_private_head_has_no_address_to_pay_for() -> None:
    words = ("--data", "1TB", "--instance", "i4i.2xlarge", "--dry-run", "--json", "--ssh-from", "203.0.113.7/32")
    private = (*words, "--subnet", "subnet-0123", "--no-public-address")
    public, alone = (json.loads(call("cluster", "up", *each))["bill"] for each in (words, private))
    assert alone == [line for line in public if line["name"] != ADDRESS_LINE] != public


def test_data_that_leaves_the_cloud_is_in_the_bill_and_of_unknown_price_a_line_without_one() -> None:
    began = datetime(2026, 12, 1, tzinfo=UTC)
    left = [Event(at=began, what="egress", details={"bytes": 2**40, "usd": usd}) for usd in (90.0, 2.0)]
    bill = bill_of(left, now=began)
    assert bill.usd == 92.0 and [(line.name, line.usd) for line in bill.lines] == [(EGRESS_LINE, 92.0)]
    unknown = [Event(at=began, what="egress", details={"bytes": 1, "usd": None})]
    assert [line.usd for line in bill_of(unknown, now=began).lines] == [None]
