"""A plan in Markdown, ready for a document: the decision, the machine, the bill, the alternatives, the assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.cost_model.caveats import SPARED
from planner.planning.recommendation import require_best
from planner.report.clusters import cluster_name, cluster_table, total_text
from planner.report.section import Section, markdown
from planner.report.terminal.bill_items import bill_section
from planner.report.terminal.command import plan_command
from planner.report.terminal.decision import (
    assumed_text,
    bottleneck_text,
    break_even_text,
    confidence_text,
    deadline_text,
    durability_text,
    machine_text,
    place_text,
    plain_warning,
    price_origin,
    range_text,
    unmeasured_text,
)
from planner.schemas.plan import Candidate, Plan
from planner.units import format_bytes, format_duration

ALTERNATIVES: Final = 3
"""Most other types shown."""


def plan_document(plan: Plan, *, stored: Candidate | None = None) -> str:
    """Return the plan as Markdown; `stored` is its best cluster with the data in an object store, if the request does
    not give the data's place. Raises InfeasibleError if there is nothing to recommend.
    """
    best, bill = require_best(plan), bill_section(require_best(plan))
    total, time, usd = bill.rows[-1]
    bill = Section(columns=bill.columns, rows=[*bill.rows[:-1], (f"**{total}**", time, f"**{usd}**")], numbers=(1, 2))
    shown = plan.candidates[: ALTERNATIVES + 1]
    others = cluster_table(
        {
            "cluster": lambda of: f"**{cluster_name(of)}**" if of == best else cluster_name(of),
            "where": "where",
            "$ an hour each": "a node-hour",
            "sort": "expected",
            "bill": "total $",
            "bottlenecks": "bottlenecks",
        },
        shown,
    )
    most = (
        f"The {len(shown)} best of {plan.feasible} types that do what is asked" if plan.feasible else "The best types"
    )
    head = [f"## {cluster_name(best)} to sort {format_bytes(plan.request.data_bytes)}", "", _decision(plan, best), ""]
    head += ["**The bill**", "", *markdown(bill), "", f"**{most}**", "", *markdown(others), ""]
    sentences = [f"* {_escaped(sentence)}" for sentence in _assumptions(plan, best, stored) if sentence]
    made = f"Made by `{plan_command(plan.request)}`, with prices of {plan.catalog.prices_as_of}."
    return "\n".join([*head, "**Assumptions and confidence**", "", *sentences, "", made])


def _decision(plan: Plan, best: Candidate) -> str:
    limit = plan.request.deadline_s
    within = f", within the deadline of {format_duration(limit)}," if limit else ""
    takes = f"the whole run takes {format_duration(best.whole_run_s)}{within} and costs"
    sentences = (
        f"Rent {cluster_name(best)} ({place_text(best)}): {takes} {total_text(best)}{price_origin(best)}.",
        range_text(plan, best),
        deadline_text(plan, alone=True),
        f"Each node has {machine_text(best)}.",
        bottleneck_text(best),
        durability_text(best),
    )
    return " ".join(_escaped(sentence) for sentence in sentences if sentence)


def _assumptions(plan: Plan, best: Candidate, stored: Candidate | None) -> Iterator[str]:
    overturn = break_even_text(best)
    yield from (assumed_text(plan, stored), confidence_text(best), overturn and f"{overturn}.", unmeasured_text(plan))
    for warning in (*plan.left_out, *plan.warnings, *(w for w in best.warnings if not w.endswith(SPARED))):
        text = plain_warning(warning)
        yield f"{text[0].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    """Return a sentence with Markdown's special characters escaped."""
    return "".join(f"\\{character}" if character in "*_<`" else character for character in text)
