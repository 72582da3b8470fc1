"""A profile in words and figures: coefficients, shares of time, warnings, and undecided explanations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from planner.calibration.experiment import likeliest_of_each_family, posterior_moments
from planner.calibration.fit import Fit
from planner.calibration.history import JobRow, describe
from planner.calibration.physics import COEFFICIENTS, STREAMS, log_seconds
from planner.calibration.posterior import Explanation, weights
from planner.calibration.workloads import workload
from planner.units import count_text, format_usd


def explain(profile: Fit) -> dict[str, Any]:
    """Return the explanation as plain values; coefficients are those of the likeliest explanation with their 90%
    ranges.
    """
    verdict = profile.verdict
    likeliest = max(verdict.explanations, key=lambda explanation: explanation.log_evidence)
    weight = weights(verdict.explanations)
    noise = float(weight @ [explanation.noise_sd for explanation in verdict.explanations])
    return {
        "runs": describe(profile.runs),
        "model": profile.model,
        "prior": {"name": likeliest.family.name, "source": likeliest.family.source, "stream": likeliest.family.stream},
        "coefficients": _coefficients(profile, likeliest),
        "rivals": rivals(profile),
        "memory": memory(profile),
        "scatter": round(noise, 3),
        "trust": round(profile.trust, 3),
        "outliers": list(profile.outliers),
        "populations": [list(group) for group in profile.populations or ()],
        "ignored_columns": dict(profile.options.ignored),
        "warnings": warnings(profile),
    }


def memory(profile: Fit) -> dict[str, Any]:
    """Return the memory that the largest run's data needs, in GB (`lo` and `hi` hold 90% of the belief that data is
    kept there), its cluster's memory, the weight of that belief, and a sentence.
    """
    weight = weights(profile.verdict.explanations)
    by_data = np.array([explanation.family.working_set.gb_per_gb for explanation in profile.verdict.explanations])
    kept = float(weight[by_data > 0].sum())
    seen = [run for run in profile.runs if run.memory.cached_gb is not None]
    if kept < UNDECIDED or not profile.runs:
        sentence = f"{_counted(len(seen))} no data kept in memory" if seen else "no run points to data kept in memory"
        return {"weight": round(kept, 3), "sentence": sentence}
    largest = max(profile.runs, key=lambda job: job.data_gb)
    order = np.argsort(by_data)
    share = np.cumsum(np.where(by_data > 0, weight, 0)[order]) / kept
    low, middle, high = (largest.data_gb * by_data[order][np.searchsorted(share, at)] for at in (0.05, 0.5, 0.95))
    usable_gb = largest.nodes * profile.machines[largest.instance_type].usable_gb
    sentence = (
        f"{largest.data_gb:.4g} GB of data need about {middle:.3g} GB of memory ({low:.3g}-{high:.3g}), if kept there"
        f" ({kept:.0%} likely); {largest.nodes} x {largest.instance_type} have {usable_gb:.3g} usable"
    )
    if seen:
        most = max(seen, key=lambda job: job.data_gb)
        kept_gb, room_gb = most.memory.cached_gb, workload([most], profile.machines).usable_gb[0] * most.nodes
        sentence = (
            f"{_counted(len(seen))} up to {kept_gb:.3g} GB kept of {most.data_gb:.4g} GB of data; "
            f"{most.nodes} x {most.instance_type} have {room_gb:.3g} usable"
        )
    needs = {"lo_gb": float(low), "needs_gb": float(middle), "hi_gb": float(high), "usable_gb": usable_gb}
    return {"weight": round(kept, 3), **needs, "sentence": sentence}


def _counted(runs: int) -> str:
    return f"{count_text(runs, 'run')} seen in memory show{'s' * (runs == 1)}"


def _coefficients(profile: Fit, likeliest: Explanation) -> dict[str, dict[str, Any]]:
    half = 1.645 * np.sqrt(np.diag(likeliest.spread))
    ends = np.array([likeliest.coefficients, likeliest.coefficients - half, likeliest.coefficients + half])
    ends[:, :-1] = np.exp(ends[:, :-1])
    shares = _shares(profile, likeliest)
    return {
        name: {
            "value": float(ends[0, i]),
            "lo": float(ends[1, i]),
            "hi": float(ends[2, i]),
            "prior": likeliest.family.priors[i].centre,
            "unit": STREAMS[likeliest.family.stream] if name == "serial" else unit,
            "share_of_time": shares.get(name),
        }
        for i, (name, unit) in enumerate(COEFFICIENTS.items())
    }


def _shares(profile: Fit, likeliest: Explanation) -> dict[str, float]:
    """Return the mean share of each term in the runs' time; the resources of a phase share its time by how much they
    delay it.
    """
    if not profile.runs:
        return {}
    _, jacobian = log_seconds(likeliest.coefficients, profile.verdict.runs.units(likeliest.family.shape))
    return dict(zip(list(COEFFICIENTS)[:7], jacobian[:7].mean(axis=1).round(3).tolist(), strict=True))


def warnings(profile: Fit) -> list[str]:
    """Return warnings to read before trusting the profile."""
    texts = [] if profile.runs else ["no runs: predictions are the prior's"]
    texts += [
        f"run {row + 1} ({profile.runs[row].runtime_s:.4g} s) does not fit the others and was set aside"
        for row in profile.outliers
    ]
    if (groups := profile.populations) is not None:
        listed = ", ".join(str(row + 1) for row in groups[1])
        texts.append(f"the runs fall into two populations; runs {listed} differ from the others, and ranges span both")
    if profile.verdict.runs.least_noise:
        texts.append("repeats of one configuration contradict each other; ranges are as wide as their difference")
    used = dict.fromkeys(job.instance_type for job in profile.runs)
    texts += [
        f"{name}: {', '.join(lacking)} unknown, usual figures taken and ranges widened"
        for name in used
        if (lacking := profile.machines[name].filled_in)
    ]
    return texts


UNDECIDED: Final = 0.05
"""Weight from which a second explanation counts as undecided."""
SETTLES: Final = 2.0
"""Standard deviations between two explanations' times at which one run separates them."""
_MOST_TYPES: Final = 40
_NODES: Final = (2, 4, 8, 16)
_SIZE_GB: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class SettlingRun:
    """A run on which two explanations differ by `gap_sd` standard deviations: seconds under the first and the second.

    `cost_usd` is None without a price.
    """

    instance_type: str
    nodes: int
    data_gb: float
    first_s: float
    second_s: float
    cost_usd: float | None
    gap_sd: float


def rivals(profile: Fit) -> dict[str, Any]:
    """Return the weight of each explanation, a sentence, and the run that would settle it (None if it is settled)."""
    families = likeliest_of_each_family(profile.verdict.explanations)
    weights = {explanation.family.name: round(weight, 3) for explanation, weight in families}
    if len(families) < 2 or families[1][1] < UNDECIDED:
        return {
            "weights": weights,
            "sentence": f"the runs leave one explanation: {families[0][0].family.name}",
            "run": None,
        }
    (first, _), (second, _) = families[:2]
    run = _settling_run(profile, first, second)
    names = f"'{first.family.name}' and '{second.family.name}'"
    sentence = f"the runs cannot tell apart {names}{_advice(run)}"
    return {"weights": weights, "sentence": sentence, "run": None if run is None else asdict(run)}


def _advice(run: SettlingRun | None) -> str:
    if run is None:
        return "; no machine type at hand would"
    cost = "" if run.cost_usd is None else f", about {format_usd(run.cost_usd)}"
    times = f"{run.first_s:.3g} s under the first, {run.second_s:.3g} s under the second"
    verb = "would settle it" if run.gap_sd >= SETTLES else "would tell most, without settling it"
    return f"; a run on {run.nodes} x {run.instance_type} with {run.data_gb:.4g} GB{cost} {verb}: {times}"


def _settling_run(profile: Fit, first: Explanation, second: Explanation) -> SettlingRun | None:
    """Return the cheapest run that separates two explanations, or the one that comes nearest; None without machines."""
    jobs = _candidates(profile)
    if not jobs:
        return None
    (a, a_spread), (b, b_spread) = (posterior_moments(profile, explanation, jobs) for explanation in (first, second))
    noise = first.noise_sd**2 + second.noise_sd**2
    gap_sd = np.abs(a - b) / np.sqrt(np.maximum(np.diag(a_spread) + np.diag(b_spread), 0) + noise)
    price = np.array([job.nodes * profile.machines[job.instance_type].price_usd_per_hour for job in jobs])
    cost = price * np.exp((a + b) / 2) / 3600
    order = np.where(np.isfinite(cost), cost, np.inf)
    enough = np.flatnonzero(gap_sd >= SETTLES)
    best = int(enough[order[enough].argmin()]) if len(enough) else int(gap_sd.argmax())
    return SettlingRun(
        instance_type=jobs[best].instance_type,
        nodes=jobs[best].nodes,
        data_gb=jobs[best].data_gb,
        first_s=float(np.exp(a[best])),
        second_s=float(np.exp(b[best])),
        cost_usd=float(cost[best]) if np.isfinite(cost[best]) else None,
        gap_sd=float(gap_sd[best]),
    )


def _candidates(profile: Fit) -> list[JobRow]:
    """Return jobs on the machines that ran and on others with as many cores, at the runs' node counts and sizes."""
    runs = profile.runs
    ran = list(dict.fromkeys(job.instance_type for job in runs))
    cores = {profile.machines[name].cores for name in ran}
    alike = [
        name for name, machine in profile.machines.items() if name not in ran and (not ran or machine.cores in cores)
    ]
    nodes = sorted({job.nodes for job in runs}) or _NODES
    sizes = {min(job.data_gb for job in runs), max(job.data_gb for job in runs)} if runs else {_SIZE_GB}
    options = runs[-1].options if runs else {}
    return [
        JobRow(instance_type=name, nodes=count, data_gb=size, options=options)
        for name, count, size in product([*ran, *alike][:_MOST_TYPES], nodes, sorted(sizes))
    ]
