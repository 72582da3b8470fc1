"""A profile in words and figures: what each coefficient became, where the time goes, and what is doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from planner.calibration.history import describe
from planner.calibration.physics import COEFFICIENTS, STREAMS, log_seconds
from planner.calibration.posterior import Explanation, weights
from planner.calibration.rivals import rivals

if TYPE_CHECKING:
    from planner.calibration.profile import Profile


def explain(profile: Profile) -> dict[str, Any]:
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
        "scatter": round(noise, 3),
        "outliers": list(profile.outliers),
        "populations": [list(group) for group in profile.populations or ()],
        "ignored_columns": dict(profile.options.ignored),
        "warnings": warnings(profile),
    }


def _coefficients(profile: Profile, likeliest: Explanation) -> dict[str, dict[str, Any]]:
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


def _shares(profile: Profile, likeliest: Explanation) -> dict[str, float]:
    """Return the mean share of each term in the runs' time; the resources of a phase share it by how much they hold it
    up.
    """
    if not profile.runs:
        return {}
    _, jacobian = log_seconds(likeliest.coefficients, profile.verdict.runs.units[likeliest.family.serial_part])
    return dict(zip(list(COEFFICIENTS)[:6], jacobian[:6].mean(axis=1).round(3).tolist(), strict=True))


def warnings(profile: Profile) -> list[str]:
    """Return what a reader must know before trusting the profile."""
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
