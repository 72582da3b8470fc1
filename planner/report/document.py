"""A plan in Markdown, ready for a document: the decision, the machine, the bill, the alternatives, the assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.cost_model.caveats import SPARED
from planner.planning.recommendation import require_best
from planner.report.cluster_names import cluster_name
from planner.report.terminal.bill_items import bill_of
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
    total_text,
    unmeasured_text,
)
from planner.report.words import phase_word, region_text
from planner.schemas.plan import Candidate, Plan
from planner.units import format_bytes, format_duration, format_usd

ALTERNATIVES: Final = 3
"""Most other types shown."""


def plan_document(plan: Plan, *, stored: Candidate | None = None) -> str:
    """Return the plan as Markdown; `stored` is its best cluster with the data in an object store, if the request does
    not give the data's place. Raises InfeasibleError if there is nothing to recommend.
    """
    best = require_best(plan)
    return "\n".join(
        [
            f"## {cluster_name(best)} to sort {format_bytes(plan.request.data_bytes)}",
            "",
            _decision(plan, best),
            "",
            *_table(("item", "time", "cost"), _bill(best), caption="The bill"),
            *_table(
                ("cluster", "where", "$ an hour each", "sort", "bill", "bottlenecks"),
                _alternatives(plan, best),
                caption=_caption(plan),
            ),
            "**Assumptions and confidence**",
            "",
            *(f"* {_escaped(sentence)}" for sentence in _assumptions(plan, best, stored)),
            "",
            f"Made by `{plan_command(plan.request)}`, with prices of {plan.catalog.prices_as_of}.",
        ]
    )


def _decision(plan: Plan, best: Candidate) -> str:
    limit = plan.request.deadline_s
    within = f", within the deadline of {format_duration(limit)}," if limit else ""
    takes = f"the whole run takes {format_duration(best.whole_run_s)}{within} and costs {_total(best)}"
    sentences = (
        f"Rent {cluster_name(best)} ({place_text(best)}): {takes}.",
        range_text(plan, best),
        deadline_text(plan).replace(" keep it", " keep the deadline"),
        f"Each node has {machine_text(best)}.",
        bottleneck_text(best),
        durability_text(best),
    )
    return " ".join(_escaped(sentence) for sentence in sentences if sentence)


def _total(best: Candidate) -> str:
    return f"{total_text(best)}{price_origin(best)}"


def _bill(best: Candidate) -> Iterator[tuple[str, ...]]:
    *items, (total, time, usd) = bill_of(best).rows
    yield from (*items, (f"**{total}**", time, f"**{usd}**"))


def _alternatives(plan: Plan, best: Candidate) -> Iterator[tuple[str, ...]]:
    for candidate in plan.candidates[: ALTERNATIVES + 1]:
        bold = "**" if candidate == best else ""
        yield (
            f"{bold}{cluster_name(candidate)}{bold}",
            region_text(candidate),
            format_usd(candidate.price_usd_per_hour),
            format_duration(candidate.time_s.expected),
            format_usd(candidate.cost_usd.total),
            ", ".join(dict.fromkeys(phase_word(phase.bottleneck) for phase in candidate.phases)),
        )


def _caption(plan: Plan) -> str:
    shown = min(len(plan.candidates), ALTERNATIVES + 1)
    return f"The {shown} best of {plan.feasible} types that do what is asked" if plan.feasible else "The best types"


def _assumptions(plan: Plan, best: Candidate, stored: Candidate | None) -> Iterator[str]:
    yield from filter(None, [assumed_text(plan, stored), confidence_text(best)])
    if overturn := break_even_text(best):
        yield f"{overturn}."
    yield from filter(None, [unmeasured_text(plan)])
    for warning in (*plan.left_out, *plan.warnings, *(w for w in best.warnings if not w.endswith(SPARED))):
        text = plain_warning(warning)
        yield f"{text[0].upper()}{text[1:]}."


def _table(columns: Sequence[str], rows: Iterator[tuple[str, ...]], *, caption: str) -> Iterator[str]:
    yield from (f"**{caption}**", "", _row(columns))
    yield _row(["---:" if name in ("time", "cost", "$ an hour each", "sort", "bill") else "---" for name in columns])
    yield from map(_row, rows)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _escaped(text: str) -> str:
    """Return a sentence with Markdown's special characters escaped."""
    return "".join(f"\\{character}" if character in "*_<`" else character for character in text)
