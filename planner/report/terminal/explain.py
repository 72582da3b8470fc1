"""The equations with their numbers, so that a reader can redo the calculation by hand.

Sources: SoCC 2015, section 3.3 (equations 1 to 11) for the phases and equation 7 for the cost; the rest is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.cost_model.model import CostModel, Phase
from planner.planning.request.stored_data import stored_data
from planner.report.terminal.bill_items import step_word
from planner.report.words import phase_word
from planner.schemas.plan import Candidate, Plan
from planner.units import count_text, format_bytes, format_rate, format_usd


def explain(plan: Plan, model: CostModel) -> str:
    """Return the calculation behind the best candidate as plain text, one line per step."""
    best = plan.best
    if best is None:
        return "nothing feasible"
    return "\n".join([*_inputs(plan, model, best), *_phases(model, best), *_whole(best)])


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


def _phases(model: CostModel, best: Candidate) -> Iterator[str]:
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
