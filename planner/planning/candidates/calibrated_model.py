"""The framework model with the constants learned by a profile, in place of the shipped ones.

A profile's coefficients are those of `planner.calibration.physics`: start-up, disk bytes over an ideal two-pass job's,
network bytes, core-GHz-seconds per GB, and one stream, taken on a usual machine of eight vCPUs. The work of a job other
than a sort lengthens all but the stream. Memory's exponent has no place in the equations and stays with the profile,
which gives a plan its times and ranges anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from planner.calibration import Profile
from planner.calibration.machines import USUAL_CLOCK_GHZ, usual_stream_rate
from planner.cost_model.model import Coefficients, CostModel, Phase

_LEAST: Final = 0.01
"""Least factor on the intermediate passes, for a profile that moves less than an ideal two-pass job."""


def with_profile(model: CostModel, profile: Profile) -> CostModel:
    """Return `model` with the constants of `profile`, or unchanged if the profile describes no software of its own."""
    if model.software is None:
        return model
    explained = profile.explain()
    coefficients = {name: float(entry["value"]) for name, entry in explained["coefficients"].items()}
    once = {"serial": coefficients["serial"]}
    learned = {name: value * coefficients["work"] for name, value in coefficients.items()} | once
    stream_gb_per_s = usual_stream_rate(explained["prior"]["stream"]) / learned["serial"]
    measured = bool(profile.runs)
    software = replace(
        model.software,
        bytes_per_s=_rates(learned, stream_gb_per_s=stream_gb_per_s),
        shared_sigma=float(explained["scatter"]),
        evidence="measured" if measured else "assumed",
        source=f"profile {profile.name}: {explained['runs'] if measured else 'no runs, the prior alone'}",
    )
    return replace(model, software=software, phases=tuple(_phase(phase, model, learned) for phase in model.phases))


def _rates(learned: Mapping[str, float], *, stream_gb_per_s: float) -> dict[str, float]:
    """Return the CPU rates. Each phase has half of the CPU's work; the cost model has one rate for all types, that of
    the usual clock.
    """
    per_vcpu = 2 * USUAL_CLOCK_GHZ / learned["cpu"] * 1e9
    return {"partition": per_vcpu, "sort": per_vcpu, "one_stream": stream_gb_per_s * 1e9}


def _phase(phase: Phase, model: CostModel, learned: Mapping[str, float]) -> Phase:
    if phase.startup_s or phase.per_node_s:
        return replace(phase, startup_s=learned["startup"], per_node_s=learned["per_node"])
    passes = _passes(phase, learned["disk"])
    last = phase is model.phases[-1]
    return replace(
        phase,
        read=_times_intermediate(phase.read, passes),
        write=_times_intermediate(phase.write, passes),
        network=_times(phase.network, learned["network"]),
        replicate=_times(phase.replicate, learned["network"]),
        one_stream={"reduce_out": 1.0} if last else {},
    )


def _passes(phase: Phase, disk: float) -> float:
    """Return the factor on intermediate passes at which the phase moves `disk` times an ideal one's two."""
    moved = dict.fromkeys(("data", "intermediate"), 0.0)
    for groups in (phase.read, phase.write):
        for group, coefficients in groups.items():
            moved[group] += sum(coefficients.values())
    return max(_LEAST, (2 * disk - moved["data"]) / moved["intermediate"]) if moved["intermediate"] else 1.0


def _times_intermediate(groups: Mapping[str, Coefficients], factor: float) -> dict[str, Coefficients]:
    return {group: _times(c, factor if group == "intermediate" else 1.0) for group, c in groups.items()}


def _times(coefficients: Coefficients, factor: float) -> dict[str, float]:
    return {volume: times * factor for volume, times in coefficients.items()}
