"""Reasons for a cluster, in sentences: what it waits for, the gain from relieving that, the runner-up, and why the
obvious choice lost. And the equations with their numbers, so that a reader can redo the calculation by hand.

Sources of the equations: SoCC 2015, section 3.3 (1 to 11) for the phases and equation 7 for the cost; the rest is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.cost_model.model import CostModel, Phase
from planner.planning.ranking.refusal import refusal_of
from planner.planning.request.stored_data import stored_data
from planner.planning.what_if.what_if import Contrast
from planner.report.clusters import cluster_name, ratios, step_word
from planner.report.terminal.decision import DECIDING, break_even_text
from planner.report.words import RESOURCE_WORDS, phase_word
from planner.schemas.plan import Candidate, Plan
from planner.units import count_text, format_bytes, format_duration, format_rate, format_usd

_NOTHING = 0.005
"""Changes below half a percent are called none."""


def reasons(plan: Plan, contrast: Contrast) -> list[str]:
    """Return the reasons for the best candidate, one sentence or two each."""
    best = plan.best
    if best is None:
        return []
    return [
        *_objective(plan),
        *_bottlenecks(best),
        *_staging(best),
        *_reliefs(best, contrast),
        *_effects_of_doubling(best, contrast.doubled),
        *_others(plan, best),
        *_storage_alone(best, contrast.storage_alone),
        *_evidence(best),
        *(f"{note[0].upper()}{note[1:]}." for note in plan.warnings if note.startswith("your own measurements")),
    ]


def refusal(plan: Plan) -> list[str]:
    """Return why nothing is feasible, in lines: first what clashes, then the nearest types."""
    return str(refusal_of(plan)).splitlines()


def _objective(plan: Plan) -> Iterator[str]:
    request = plan.request
    limits = [f"ends within {format_duration(request.deadline_s)}"] if request.deadline_s else []
    limits += [f"sorts within {format_duration(request.sort_deadline_s)}"] if request.sort_deadline_s else []
    limits += [f"stays below {format_usd(request.budget_usd)}"] if request.budget_usd else []
    if limits and request.confidence:
        limits.append(f"does so with probability {request.confidence:g}")
    aim = {
        "balanced": "It is the fastest cluster, to a minute or 1%, within 5% of the least total cost, or for less than "
        "$0.25 more for each hour that it saves",
        "cost": "It has the least total cost",
        "time": "It costs least of those within 1% of the fastest",
        "energy": "Its job takes the least energy",
    }[request.objective]
    yield aim + (f" that {' and '.join(limits)}." if limits else ".")


def _bottlenecks(best: Candidate) -> Iterator[str]:
    whole = sum(phase.time_s for phase in best.phases)
    for phase in best.phases:
        share = f"{phase.time_s / whole:.0%} of the sort" if whole else ""
        others = sorted((use.time_s, name) for name, use in phase.resources.items() if name != phase.bottleneck)
        then = f"; {phase_word(others[-1][1])} would take {format_duration(others[-1][0])}" if others else ""
        waits = f"waits {format_duration(phase.time_s)} for {phase_word(phase.bottleneck)}"
        yield f"Phase “{phase.name}” ({share}) {waits}{then}."


def _staging(best: Candidate) -> Iterator[str]:
    for line in best.bill:
        if line.name in ("stage in", "stage out") and line.note:
            yield f"{line.name.capitalize()} takes {format_duration(line.time_s or 0.0)} at {line.note}."


def _reliefs(best: Candidate, contrast: Contrast) -> Iterator[str]:
    gains = {name: ratios(made, best)[0] - 1 for name, made in contrast.reliefs.items()}
    useless = [RESOURCE_WORDS[name] for name, change in gains.items() if abs(change) < _NOTHING]
    for name, change in sorted(gains.items(), key=lambda item: item[1]):
        slower = f"; half as fast: {_changes(contrast.burdens[name], best)}" if name in contrast.burdens else ""
        if abs(change) >= _NOTHING:
            yield f"With the {RESOURCE_WORDS[name]} twice as fast: {_changes(contrast.reliefs[name], best)}{slower}."
    if useless:
        yield f"Twice as fast, {' or '.join(useless)} would change nothing."


def _effects_of_doubling(best: Candidate, doubled: Mapping[str, Candidate | None]) -> Iterator[str]:
    says = {"data": "Twice the data", "price": "Prices twice as high"}
    for name, made in doubled.items():
        effect = f": {_changes(made, best)}." if made else f" is too much for {count_text(best.nodes, 'node')}."
        yield f"{says[name]}{effect}"


def _storage_alone(best: Candidate, other: Plan | None) -> Iterator[str]:
    """Yield why the obvious choice lost: the one in SoCC 2015, section 4.2, made without regard to the network."""
    if other is None:
        return
    judged = f"By storage alone, as if no network were too slow, {other.request.instances[0]} would look best"
    if other.best is None:
        why = other.rejected[0].reason if other.rejected else "nothing feasible"
        yield f"{judged}; with the network it has: {why}."
        return
    slow = max(other.best.phases, key=lambda phase: phase.time_s)
    waits = f"and waits longest for {phase_word(slow.bottleneck)}, in “{slow.name}”"
    there = f"with the network it has it takes {_changes(other.best, best)} on {count_text(other.best.nodes, 'node')}"
    yield f"{judged}; {there}, {waits}."


def _others(plan: Plan, best: Candidate) -> Iterator[str]:
    others = [candidate for candidate in plan.candidates if candidate != best]
    if others:
        yield f"Next best: {_comparison(others[0], best)}."
        cheapest = min(others, key=lambda candidate: candidate.price_usd_per_hour)
        if cheapest != others[0] and cheapest.price_usd_per_hour < best.price_usd_per_hour:
            yield f"Cheapest by the hour of those shown: {_comparison(cheapest, best)}."


def _evidence(best: Candidate) -> Iterator[str]:
    yield f"The weakest of the rates that it waits for is {DECIDING.get(best.evidence, best.evidence)}."
    if overturn := break_even_text(best):
        yield f"{overturn}."


def _comparison(candidate: Candidate, best: Candidate) -> str:
    slow = max(candidate.phases, key=lambda phase: phase.time_s)
    waits = f"waits longest for {phase_word(slow.bottleneck)}, in “{slow.name}”"
    return f"{cluster_name(candidate)} ({candidate.model}), {_changes(candidate, best)}; {waits}"


def _changes(candidate: Candidate, best: Candidate) -> str:
    time, bill = ratios(candidate, best)
    return f"time {time - 1:+.0%}, bill {bill - 1:+.0%}"


def explain(plan: Plan, model: CostModel) -> str:
    """Return the calculation behind the best candidate as plain text, one line per step."""
    best = plan.best
    if best is None:
        return "nothing feasible"
    return "\n".join([*_inputs(plan, model, best), *_equations(model, best), *_whole(best)])


def _inputs(plan: Plan, model: CostModel, best: Candidate) -> Iterator[str]:
    data = stored_data(plan.request).sorted_bytes
    yield f"Model {model.name}: {model.title}"
    yield f"  {model.source}"
    request = plan.request
    if request.map_ratio == request.reduce_ratio == 1:
        yield f"D = map_in = map_out = reduce_out = {data:.6g} B ({format_bytes(data)})"
    else:
        out = data * request.map_ratio
        yield f"D = map_in = {data:.6g} B, map_out = {out:.6g} B, reduce_out = {out * request.reduce_ratio:.6g} B"
    yield f"N = {best.nodes} x {best.instance_type}"
    yield f"  D/N = {data / best.nodes:.6g} B ({format_bytes(data / best.nodes)} per node)"
    for name, rate in plan.request.assume.items():
        yield f"  assumed: {name} = {rate:.6g}"


def _equations(model: CostModel, best: Candidate) -> Iterator[str]:
    for number, (phase, seen) in enumerate(zip(model.phases, best.phases, strict=True), start=1):
        yield f"T{number} ({phase.name}): {_moves(phase)}"
        for name, use in seen.resources.items():
            seconds = f"{use.equation_s:.1f} s"
            if use.bytes_per_s:  # the driver, for one, orders tasks
                quotient = f"{use.bytes_per_node:.6g} B / {use.bytes_per_s:.6g} B/s"
                seconds = f"{quotient} = {seconds} ({format_rate(use.bytes_per_s)})"
            yield f"  {phase_word(name)}: {seconds}"
        terms = ", ".join(f"{phase_word(name)} {use.equation_s:.1f}" for name, use in seen.resources.items())
        yield f"  T{number} = max({terms}) = {seen.equation_s:.1f} s"
    sums = " + ".join(f"{phase.equation_s:.1f}" for phase in best.phases)
    yield f"T = {sums} = {best.time_s.equation:.1f} s"


def _moves(phase: Phase) -> str:
    moved = [(f"read {group}", of) for group, of in phase.read.items()]
    moved += [(f"write {group}", of) for group, of in phase.write.items()]
    moved += [("network", phase.network), ("copies to another node", phase.replicate)]
    sums = (
        (name, " + ".join(part if times == 1 else f"{times:g} {part}" for part, times in of.items()))
        for name, of in moved
        if of
    )
    return ", ".join(f"{name} {volumes}" for name, volumes in sums)


def _whole(best: Candidate) -> Iterator[str]:
    """Yield the cost, the expected time, and time and bill of the whole run."""
    times, cost = best.time_s, best.cost_usd
    stored = best.usd_per_hour - best.nodes * best.price_usd_per_hour
    extra = f" + storage ${stored:.6g}" if stored > 1e-9 else ""
    requests = f" + requests {format_usd(cost.requests)}" if cost.requests else ""
    hourly = f"({best.nodes} x ${best.price_usd_per_hour:.6g}{extra}) per hour"
    yield f"C = {hourly} x {times.equation:.1f} s / 3600{requests} = {format_usd(cost.equation)}"
    if times.expected != times.equation:
        delay_s = best.interruptions.delay_s if best.interruptions else 0.0
        parts_s = [*(phase.time_s for phase in best.phases), *([delay_s] if delay_s else [])]
        yield (
            f"Expected, with the slowest of {count_text(best.nodes, 'node')} and rates in doubt: "
            f"{' + '.join(f'{part:.1f}' for part in parts_s)} = {times.expected:.1f} s; "
            f"half of the runs take up to {times.p50:.1f} s, 95 of 100 up to {times.p95:.1f} s"
        )
    if not best.overheads_s:
        return
    parts = " + ".join(f"{step_word(name)} {seconds:.0f}" for name, seconds in best.overheads_s.items())
    unknown = f", and what is unknown: {', '.join(cost.unknown)}" if cost.unknown else ""
    steps = f"sort {times.expected:.0f} + {parts} = {best.whole_run_s:.0f} s"
    yield f"The whole run: {steps}; the whole bill is {format_usd(cost.total)}{unknown}"
    for line in best.bill:
        amount = "unknown" if line.usd is None else format_usd(line.usd)
        yield f"  {step_word(line.name)}: {amount}" + (f" ({line.note})" if line.note else "")
