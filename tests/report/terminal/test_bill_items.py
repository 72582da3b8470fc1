"""The bill's items: cents that add up, as in the terminal."""

from __future__ import annotations

from dataclasses import replace

from planner.api.recommend import Recommendation
from planner.report.clusters import bill_of
from planner.report.terminal.short_answer import short_answer
from planner.schemas.plan import BillLine, Plan


def test_items_add_up_to_the_total_and_are_those_of_the_terminal(answer: Recommendation, plan: Plan) -> None:
    bill, best = answer.bill, plan.best
    assert bill is not None and best is not None
    assert sum(round((item.usd or 0) * 100) for item in bill) == round(bill.total_usd * 100)
    assert bill.total_usd == round(best.cost_usd.total, 2)
    lines = short_answer(plan, width=80)
    for item in bill:
        assert any(line.startswith(f"  {item.name} ") and line.endswith(f" {item.usd:,.2f}") for line in lines)


def test_the_largest_item_takes_what_rounding_leaves_over_and_the_unknown_stays_unknown(plan: Plan) -> None:
    """3 x $1.004 is $3.012: three times $1.00, and $0.01 more for the largest."""
    best = plan.best
    assert best is not None
    lines = [BillLine(name=name, time_s=None, usd=1.004) for name in ("a", "b")]
    lines += [BillLine(name="c", time_s=5.0, usd=1.0041), BillLine(name="egress", time_s=None, usd=None)]
    bill = bill_of(replace(best, bill=tuple(lines), cost_usd=replace(best.cost_usd, total=3.0121)))
    assert [(item.name, item.usd) for item in bill] == [("a", 1.0), ("b", 1.0), ("c", 1.01), ("egress", None)]
    assert repr(bill).splitlines()[-2].split() == ["egress", "unknown"]


def test_charges_stand_together_where_their_price_is_known(plan: Plan) -> None:
    """$0.24, $0.50 and $2 are $2.74; an unknown price is not part of a sum. One charge alone keeps its name."""
    best = plan.best
    assert best is not None
    priced = {"stage in: requests": 0.24, "stage out: requests": 0.5, "traffic between zones": 2.0}
    lines = [BillLine(name=name, time_s=None, usd=usd) for name, usd in priced.items()]
    lines += [BillLine(name=f"stage {way}", time_s=60.0, usd=1.0) for way in ("in", "out")]
    lines.append(BillLine(name="stage out: egress", time_s=None, usd=None))
    bill = bill_of(replace(best, bill=tuple(lines), cost_usd=replace(best.cost_usd, total=4.74)))
    assert [(item.name, item.time_s, item.usd) for item in bill] == [
        ("requests and traffic", None, 2.74),
        ("stage in, stage out", 120.0, 2.0),
        ("stage out: egress", None, None),
    ]
    alone = bill_of(replace(best, bill=tuple(lines[2:3]), cost_usd=replace(best.cost_usd, total=2.0)))
    assert [item.name for item in alone] == ["traffic between zones"]
