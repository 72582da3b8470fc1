"""The equations with their numbers, so that a reader can redo the calculation by hand.

Sources: SoCC 2015, section 3.3 (equations 1 to 11) for the phases and equation 7 for the cost; the rest is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.cost_model.model import Coefficients, CostModel, Phase
from planner.planning.request.stored_data import stored_data
from planner.report.terminal.bill_items import step_word
from planner.report.words import phase_word
from planner.schemas.plan import Candidate, PhaseEstimate, Plan
from planner.units import count_text, format_bytes, format_rate, format_usd


def explain(plan: Plan, model: CostModel) -> str:
    """Return the calculation behind the best candidate as plain text, one line per step."""
    best = plan.best
    if best is None:
        return "nothing feasible"
    return "\n".join([*_inputs(plan, model, best), *_phases(model, best), *_cost(best), *_blur(best), *_total(best)])


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
        terms = ", ".join(f"{phase_word(name)} {use.equation_s:.1f}" for name, use in seen.resources.items())
        yield f"T{number} ({phase.name}): {_moves(phase)}"
        yield from (f"  {line}" for line in _resources(seen))
        yield f"  T{number} = max({terms}) = {seen.equation_s:.1f} s"
    sums = " + ".join(f"{phase.equation_s:.1f}" for phase in best.phases)
    yield f"T = {sums} = {best.time_s.equation:.1f} s"


def _resources(phase: PhaseEstimate) -> Iterator[str]:
    for name, use in phase.resources.items():
        if not use.bytes_per_s:  # such as the driver, which orders tasks
            yield f"{phase_word(name)}: {use.equation_s:.1f} s"
            continue
        quotient = f"{use.bytes_per_node:.6g} B / {use.bytes_per_s:.6g} B/s"
        yield f"{phase_word(name)}: {quotient} = {use.equation_s:.1f} s ({format_rate(use.bytes_per_s)})"


def _moves(phase: Phase) -> str:
    parts = [f"read {group} {_volumes(c)}" for group, c in phase.read.items()]
    parts += [f"write {group} {_volumes(c)}" for group, c in phase.write.items()]
    parts += [f"network {_volumes(phase.network)}"] if phase.network else []
    parts += [f"copies to another node {_volumes(phase.replicate)}"] if phase.replicate else []
    return ", ".join(parts)


def _volumes(coefficients: Coefficients) -> str:
    return " + ".join(name if times == 1 else f"{times:g} {name}" for name, times in coefficients.items())


def _cost(best: Candidate) -> Iterator[str]:
    nodes = f"{best.nodes} x ${best.price_usd_per_hour:.6g}"
    stored = best.usd_per_hour - best.nodes * best.price_usd_per_hour
    extra = f" + storage ${stored:.6g}" if stored > 1e-9 else ""
    requests = f" + requests {format_usd(best.cost_usd.requests)}" if best.cost_usd.requests else ""
    hours = f"{best.time_s.equation:.1f} s / 3600"
    yield f"C = ({nodes}{extra}) per hour x {hours}{requests} = {format_usd(best.cost_usd.equation)}"


def _blur(best: Candidate) -> Iterator[str]:
    if best.time_s.expected == best.time_s.equation:
        return
    yield (
        f"Expected, with the slowest of {count_text(best.nodes, 'node')} and rates in doubt: {_expected(best)} s; "
        f"half of the runs take up to {best.time_s.p50:.1f} s, 95 of 100 up to {best.time_s.p95:.1f} s"
    )


def _expected(best: Candidate) -> str:
    delay_s = best.interruptions.delay_s if best.interruptions else 0.0
    parts = [f"{phase.time_s:.1f}" for phase in best.phases] + ([f"{delay_s:.1f}"] if delay_s else [])
    return f"{' + '.join(parts)} = {best.time_s.expected:.1f}"


def _total(best: Candidate) -> Iterator[str]:
    if not best.overheads_s:
        return
    parts = " + ".join(f"{step_word(name)} {seconds:.0f}" for name, seconds in best.overheads_s.items())
    whole = best.time_s.expected + sum(best.overheads_s.values())
    total = format_usd(best.cost_usd.total)
    unknown = f", and what is unknown: {', '.join(best.cost_usd.unknown)}" if best.cost_usd.unknown else ""
    steps = f"sort {best.time_s.expected:.0f} + {parts} = {whole:.0f} s"
    yield f"The whole run: {steps}; the whole bill is {total}{unknown}"
    for line in best.bill:
        amount = "unknown" if line.usd is None else format_usd(line.usd)
        yield f"  {step_word(line.name)}: {amount}" + (f" ({line.note})" if line.note else "")
