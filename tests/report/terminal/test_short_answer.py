"""The answer on one screen: it fits, its bill adds up, and its choices match the plan."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from approvals import Approve

import planner
from planner.catalog.checking import stale_prices
from planner.catalog.loading import load_catalog
from planner.planning.request.region import OWN_PRICE
from planner.report.terminal.decision import machine_facts, machine_text
from planner.report.terminal.short_answer import LINES, short_answer
from planner.schemas.plan import Plan
from planner.units import format_duration

QUESTIONS: dict[str, dict[str, Any]] = {
    "copies": {"data": "100TB", "model": "daytona"},
    "volumes": {"data": "100TB", "model": "cloudsort"},
    "store": {"data": "10TB", "model": "object-store"},
    "staged": {"data": "1TB", "model": "indy", "catalogs": ["gcp", "azure"], "input": "s3://bucket/path"},
    "staged both ways": {"data": "10TB", "input": "s3://in", "output": "s3://out", "deadline": "2h", "zones": 2},
    "paper": {"data": "100TB", "model": "indy", "catalogs": ["aws-2014"], "paper": True},
    "one node": {"data": "10GB", "model": "indy", "nodes": 1},
}


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {name: planner.recommend(**asked).plan for name, asked in QUESTIONS.items()}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_asked_and_the_answer_fits_a_screen(
    plans: dict[str, Plan], name: str, width: int
) -> None:
    lines = short_answer(plans[name], width=width)
    assert max(map(len, lines)) <= width
    assert width < 80 or len(lines) <= LINES
    choices = [line for line in lines if re.match("  (cheapest|next cheaper|recommended|next faster) ", line)]
    assert sum(bool(re.search(r"\d s +\$[\d,.]+|min +\$[\d,.]+", line)) for line in lines) >= len(choices)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_bill_adds_up_to_the_cent(plans: dict[str, Plan], name: str) -> None:
    best = plans[name].best
    assert best is not None
    lines = short_answer(plans[name], width=80)
    end = next(number for number, line in enumerate(lines) if line.startswith(("  in all", "  all that is known")))
    start = next(number for number, line in enumerate(lines) if line.startswith("  sort "))
    bill = lines[start : end + 1]
    per_usd = 10_000 if best.cost_usd.total < 0.1 else 100
    shown = [float(line.split()[-1].lstrip("$").replace(",", "")) for line in bill if line[-1].isdigit()]
    amounts = [round(amount * per_usd) for amount in shown]
    assert sum(amounts[:-1]) == amounts[-1] == round(best.cost_usd.total * per_usd)
    assert 2 <= len(bill) <= 7


def test_with_what_a_what_if_changes_it_fits_a_screen(plans: dict[str, Plan]) -> None:
    """Empty lines and neighbours are dropped first; the original cluster, the bill and the bottleneck stay."""
    plan = plans["staged both ways"]
    lines = short_answer(plan, width=80, before=plans["copies"].best)
    alone = short_answer(plan, width=80)
    assert len(lines) <= LINES
    was = plans["copies"].best
    assert was is not None
    assert lines[0].startswith(f"What if: before, {was.nodes} x {was.instance_type} for ")
    assert f"${was.cost_usd.total:.2f} in all" in " ".join(lines[:2])
    spared = ("Note", "Next", "  next ", "  notes", "  choice")
    assert [line for line in alone if line and not line.startswith(spared)] == [
        line for line in lines[2:] if line and not line.startswith(spared)
    ]


def test_it_says_what_to_rent_how_long_for_how_much_and_what_may_be_lost(
    plans: dict[str, Plan], approve: Approve
) -> None:
    best = plans["copies"].best
    assert best is not None
    text = " ".join(" ".join(short_answer(plans["copies"], width=80)).split())
    assert text.startswith(f"Rent {best.nodes} x {best.instance_type} (aws us-east-1, one placement group)")
    approve(text)
    assert "is better (--explain)." in text


def test_it_says_what_it_assumes_of_the_data_and_what_an_object_store_changes(
    plans: dict[str, Plan], approve: Approve
) -> None:
    """With input and output in the store, the figures equal those of a plan with `--input` and `--output`."""
    answered = planner.recommend("1TB", instances=["i4i.4xlarge"], nodes=8, deadline="1s", max_nodes=8)
    assert answered.in_object_store() is None
    answered = planner.recommend("1TB", instances=["i4i.4xlarge"], nodes=8)
    there = planner.recommend(
        "1TB", model="daytona", instances=["i4i.4xlarge"], nodes=8, input="s3://b/in", output="s3://b/out"
    )
    stored = answered.in_object_store()
    assert stored is not None and there.best is not None and there.in_object_store() is None
    assert (stored.time_s, stored.bill) == (there.best.time_s, there.best.bill)
    text = " ".join(" ".join(short_answer(answered.plan, width=80, stored=stored)).split())
    whole = format_duration(there.best.whole_run_s)
    assert f"Both in S3 (--input, --output): {whole}, ${there.best.cost_usd.total:.2f}." in text
    assert not any("Assumed:" in line for line in short_answer(there.plan, width=80))
    approve(short_answer(answered.plan, width=80)[:5])
    assert not any("Assumed:" in line for line in short_answer(plans["paper"], width=80))


def test_it_says_what_the_machine_is(plans: dict[str, Plan]) -> None:
    """The catalog's figures, in the clouds' units; unstated figures are unknown."""
    best = plans["copies"].best
    assert best is not None and best.machine is not None
    machine = replace(
        best.machine, vcpus=8.0, memory_bytes=2.0**36, local_disks=2, local_disk_bytes=1.9e12, local_disk_kind="nvme"
    )
    known = replace(machine, network_bytes_per_s=1.25e9, network_peak_bytes_per_s=3.125e9)
    assert machine_facts(known) == ["8 vCPUs", "64 GiB", "2 x 1.9 TB NVMe", "10 Gbit/s network (bursts: 25 Gbit/s)"]
    unstated = replace(known, memory_bytes=None, local_disks=None, network_bytes_per_s=None)
    assert machine_facts(unstated)[1:] == ["memory unknown", "local disks unknown", "network up to 25 Gbit/s"]
    assert f"Each: {machine_text(best)}." in short_answer(plans["copies"], width=100)


def test_the_bottleneck_is_said_by_phase(plans: dict[str, Plan]) -> None:
    plan = plans["copies"]
    assert plan.best is not None
    bound = [
        replace(phase, bottleneck=by) for phase, by in zip(plan.best.phases, ["driver", "local_disks"], strict=True)
    ]
    for phases, words in (
        (bound, "less, 31%). Phases wait for handing out tasks (map and shuffle), then local disks (sort and reduce)."),
        ([replace(phase, bottleneck="network") for phase in bound], "Bottleneck: network (twice as fast: "),
    ):
        whole_s = plan.best.time_s.expected + sum(plan.best.overheads_s.values())
        best = replace(plan.best, bottleneck="network", reliefs_s={"network": 0.31 * whole_s})
        changed = replace(plan, best=replace(best, phases=tuple(phases)))
        assert words in " ".join(" ".join(short_answer(changed, width=80)).split())


def test_notes_are_in_words_that_a_first_reader_knows(plans: dict[str, Plan], approve: Approve) -> None:
    plan = plans["copies"]
    assert plan.best is not None
    noted = replace(plan.best, warnings=("driver: slow", "cloud truth 0 of 6: network not measured"))
    alone = replace(plan, warnings=(), unmeasured=(), frontier=(), best=noted)
    text = " ".join(" ".join(short_answer(alone, width=100)).split())
    assert "Note: handing out tasks: slow" in text
    approve(text)


def test_each_minute_saved_has_its_price() -> None:
    """The price in the recommended cluster's row follows from two rows: dollars more over minutes less."""
    plan = planner.recommend("50TB", cloud="azure").plan
    best = plan.best
    assert best is not None
    slower = [point for point in plan.frontier if point.time_s > best.time_s.expected * 1.05]
    above = min(slower, key=lambda point: point.time_s)
    saved_min = (above.time_s - best.time_s.expected) / 60
    price = (best.cost_usd.total - above.cost_usd_total) / saved_min
    row = next(line for line in short_answer(plan, width=80) if "recommended" in line)
    assert row.endswith(f"  ${price:.2f} a minute")


def test_what_does_not_fit_is_counted(plans: dict[str, Plan]) -> None:
    plan = plans["copies"]
    assert plan.best is not None
    lines = short_answer(plan, width=80)
    shown = sum(line.startswith("Note: ") for line in lines)
    left = re.search(r"and (\d+) more note", lines[-1])
    assert shown + int(left[1] if left else 0) == len(plan.warnings) + len(plan.best.warnings)


@pytest.mark.parametrize("pricing", ["on-demand", "spot"])
def test_old_prices_that_decide_are_said_without_a_longer_answer(pricing: str) -> None:
    """A price that the user gave is not old, and a screen without room counts the warning among the notes."""
    (old,) = stale_prices([load_catalog("aws")], [], today=date(2026, 12, 1), pricing=pricing)
    days = re.search(r"(\d+) days", old)
    plan = planner.recommend("5TB", pricing=[pricing], deadline="2h").plan
    assert days and plan.best
    aged = replace(plan, warnings=(*plan.warnings, old, "prices of gcp are of 2026-08-03, 120 days old"))
    lines = short_answer(aged, width=80)
    (said,) = [line for line in lines if line.startswith("Prices: ")]
    assert said.startswith(f"Prices: {days[1]} days old; planner catalog refresh --cloud aws")
    assert len(lines) <= LINES
    yours = replace(plan.best, warnings=(f"{OWN_PRICE}yours",))
    for young in (plan, replace(aged, best=yours)):
        assert not any(line.startswith("Prices: ") for line in short_answer(young, width=80))
    stored = {"input": "s3://a/b", "output": "s3://a/c"}
    full = planner.recommend("5TB", pricing=[pricing], deadline="2h", zones=2, assume={"network": 1e9}, **stored).plan
    without, within = (short_answer(replace(full, warnings=(*full.warnings, *more)), width=80) for more in ((), (old,)))
    assert len(within) == len(without) == LINES
    left = [int(re.findall(r"and (\d+) more", " ".join(lines[-2:]))[0]) for lines in (without, within)]
    assert left[1] == left[0] + (not any(line.startswith("Prices: ") for line in within))


def test_what_stands_against_more_data_is_said(approve: Approve) -> None:
    asked: dict[str, Any] = {"model": "minutesort", "catalogs": ("tritonsort-2011",), "paper": True, "nodes": 66}
    plan = planner.recommend(most_data=True, sort_deadline="60s", instances=("dl380g6",), **asked).plan
    text = " ".join(" ".join(short_answer(plan, width=80)).split())
    approve(text)


def test_the_cent_left_over_goes_to_what_costs_most() -> None:
    """A megabyte sorts in a second; the four minutes around it are paid for, less than half a cent each. A bill below
    ten cents shows hundredths of a cent.
    """
    answered = planner.recommend("1MB", model="indy", catalogs=["aws"], instances=["c6gd.medium"], nodes=2)
    rows = {line[:34].strip(): line.split()[-1] for line in short_answer(answered.plan, width=80) if line}
    assert (rows["sort"], rows["boot, install, screen, tear down"]) == ("0.0000", "0.0056")


def test_columns_never_touch() -> None:
    """A sort for ten million dollars."""
    asked = {"instances": ["i4i.8xlarge"], "nodes": 200, "assume": {"price": 100_000.0}}
    answered = planner.recommend("100TB", model="indy", **asked)  # type: ignore[arg-type]
    assert not [line for line in short_answer(answered.plan, width=80) if re.search(r"(min|s)[\d$]", line)]


def test_what_has_no_known_price_is_no_part_of_all(approve: Approve) -> None:
    plan = planner.recommend("1TB", model="indy", catalogs=["oci"], zones=2).plan
    assert plan.best is not None
    (crossing,) = (line for line in plan.best.bill if line.name == "traffic between zones")
    total = plan.best.cost_usd.total - (crossing.usd or 0.0)
    in_part = replace(plan.best.cost_usd, unknown=(crossing.name,), total=total)
    bill = tuple(replace(line, usd=None) if line == crossing else line for line in plan.best.bill)
    plan = replace(plan, best=replace(plan.best, cost_usd=in_part, bill=bill))
    assert plan.best is not None
    text = "\n".join(short_answer(plan, width=80))
    assert f"${plan.best.cost_usd.total:.2f} and traffic between zones, of unknown price (prices" in text
    approve(text)
    assert "in all" not in text


def test_a_fastest_cluster_that_hardly_is_faster_is_no_choice(plans: dict[str, Plan]) -> None:
    """The price of a minute would rest on seconds; a cluster 5% faster is a choice."""
    plan = plans["copies"]
    assert plan.best is not None
    recommended = next(point for point in plan.frontier if point.nodes == plan.best.nodes)
    for factor, is_shown in ((1.04, False), (1.06, True)):
        faster = replace(
            recommended, time_s=recommended.time_s / factor, nodes=99, cost_usd_total=recommended.cost_usd_total * 1.1
        )
        lines = short_answer(replace(plan, frontier=(faster, *plan.frontier[-2:], recommended)), width=80)
        assert any(line.startswith("  next faster  99 x") for line in lines) == is_shown


def test_the_answer_counts_types_of_unknown_disk_rate_and_names_what_measures_them(plans: dict[str, Plan]) -> None:
    plan = plans["copies"]
    (unmeasured,) = plan.unmeasured
    line = f"Left out: {unmeasured.types} types of unknown disk rate; planner bench fleet measures it."
    assert line in short_answer(plan, width=80)
    single = replace(plan, unmeasured=(replace(unmeasured, types=1),))
    assert any(line.startswith("Left out: 1 type of unknown") for line in short_answer(single, width=80))
    assert not any("Left out" in line for line in short_answer(replace(plan, unmeasured=()), width=80))


def test_a_cluster_that_waits_for_computed_disks_says_so_beside_the_evidence(approve: Approve) -> None:
    computed, measured = (
        " ".join(short_answer(planner.recommend(data="10TB", model="indy", instances=[name]).plan, width=80))
        for name in ("c8id.32xlarge", "i4i.8xlarge")
    )
    approve(computed)
    assert "Nobody measured" not in measured
