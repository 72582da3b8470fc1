"""Scaling curves against known truths: error inside and beyond the measured sizes, and how often the 90% band holds it.

The truths are not drawn from the planner's prior: their shapes and parameters are set here (and two of the shapes, the
staircase and the logarithm, are in none of its families). Sizes double from two, as NetBench's do; each point carries a
lognormal error whose size (1 to 8%) the fit does not know. For comparison, on the same points: the Universal
Scalability Law by least squares, and a straight line through the last two points in log-log.

python benchmarks/measure/bench_curves.py [CURVES]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from planner.arrays import Floats
from planner.statistics.scaling_curve import ScalingCurve

Truth = Callable[[Floats], Floats]

POINTS = (4, 5, 6, 8, 10)
SHAPES = ("usl", "power", "logarithm", "plateau", "staircase")


def draw_truth(shape: str, rng: np.random.Generator) -> Truth:
    """Return a falling curve, as a fraction of some two-node rate."""
    if shape == "usl":
        contention, coherence = rng.uniform(1e-4, 5e-3), rng.uniform(0, 2e-6)
        return lambda n: 1 / (1 + contention * (n - 1) + coherence * n * (n - 1))
    if shape == "power":
        exponent = rng.uniform(0.0, 0.2)
        return lambda n: (n / 2) ** -exponent
    if shape == "logarithm":
        slope = rng.uniform(0.0, 0.06)
        return lambda n: 1 - slope * np.log2(n / 2)
    if shape == "plateau":
        floor, half = rng.uniform(0.5, 0.95), rng.uniform(3, 40)
        return lambda n: floor + (1 - floor) / (1 + (n - 2) / half)
    steps, width = rng.uniform(0.7, 0.98, 2), rng.uniform(0.1, 0.5)
    edges = np.log(rng.uniform((10, 60), (40, 300)))
    return lambda n: np.prod(
        [1 - (1 - s) / (1 + np.exp(-(np.log(n) - e) / width)) for s, e in zip(steps, edges, strict=True)], axis=0
    )


def usl_by_least_squares(nodes: Floats, rates: Floats, sizes: Floats) -> Floats:
    """Return the best fit of the USL's reciprocal: 1/rate is linear in n-1 and n(n-1), coefficients not negative."""

    def terms(n: Floats) -> Floats:
        return np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)

    best, least = np.zeros(3), np.inf
    for chosen in ([0, 1, 2], [0, 1], [0, 2], [0]):
        columns = terms(nodes)[:, chosen] * rates[:, None]
        coefficients, *_ = np.linalg.lstsq(columns, np.ones_like(rates), rcond=None)
        error = float(((columns @ coefficients - 1) ** 2).sum())
        if (coefficients >= 0).all() and error < least:
            best, least = np.zeros(3), error
            best[chosen] = coefficients
    return 1 / (terms(sizes) @ best)


def last_two(nodes: Floats, rates: Floats, sizes: Floats) -> Floats:
    """Extrapolate from the last two points."""
    slope = np.log(rates[-1] / rates[-2]) / np.log(nodes[-1] / nodes[-2])
    inside = np.exp(np.interp(np.log(sizes), np.log(nodes), np.log(rates)))
    return np.where(sizes > nodes[-1], rates[-1] * (sizes / nodes[-1]) ** slope, inside)


def one_curve(shape: str, points: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return absolute relative errors of each method, shape (sizes,), and whether the band held the truth."""
    truth, scatter = draw_truth(shape, rng), rng.uniform(0.01, 0.08)
    nodes = 2.0 ** np.arange(1, points + 1)
    rates = 1e9 * truth(nodes) * np.exp(rng.normal(0, scatter, points))
    sizes = np.concatenate([nodes[:-1] * np.sqrt(2), nodes[-1] * np.array([2.0, 4.0, 8.0])])
    real = 1e9 * truth(sizes)
    curve = ScalingCurve.through(nodes, rates)
    band = curve.band(sizes)
    answers = {
        "curve": curve.at(sizes),
        "middle": band.middle_bytes_per_s,
        "usl": usl_by_least_squares(nodes, rates, sizes),
        "last two": last_two(nodes, rates, sizes),
    }
    held = (band.low_bytes_per_s <= real) & (real <= band.high_bytes_per_s)
    width = band.high_bytes_per_s / band.low_bytes_per_s - 1
    return {name: np.abs(a / real - 1) for name, a in answers.items()} | {"held": held.astype(float), "width": width}


def show(title: str, results: list[dict[str, Floats]]) -> None:
    """Print a row each for inside and beyond (2, 4 and 8 times the largest size)."""
    for where, part in (("inside", slice(None, -3)), ("beyond", slice(-3, None))):
        pooled = {name: np.concatenate([r[name][part] for r in results]) for name in results[0]}
        errors = " ".join(f"{np.median(pooled[m]):7.1%}" for m in ("curve", "middle", "usl", "last two"))
        worst = " ".join(f"{np.quantile(pooled[m], 0.95):7.1%}" for m in ("curve", "middle", "usl", "last two"))
        held, width = pooled["held"].mean(), np.median(pooled["width"])
        print(f"{title:12} {where:7} {held:7.1%} {width:6.0%}  {errors}   {worst}")


def main(curves: int) -> None:
    """Measure `curves` curves of each shape and number of points."""
    rng = np.random.default_rng(1)
    results = {(s, p): [one_curve(s, p, rng) for _ in range(curves)] for s in SHAPES for p in POINTS}
    print(f"{curves} curves of each of {len(SHAPES)} shapes at each of {POINTS} points; 90% band; error: median, 95%")
    names = " ".join(f"{m:>7}" for m in ("curve", "middle", "usl", "last 2"))
    print(f"{'':12} {'':7} {'held':>7} {'width':>6}  {names}   {names}")
    for shape in SHAPES:
        show(shape, [r for p in POINTS for r in results[shape, p]])
    for points in POINTS:
        show(f"{points} points", [r for s in SHAPES for r in results[s, points]])
    show("all", [r for shape_results in results.values() for r in shape_results])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
