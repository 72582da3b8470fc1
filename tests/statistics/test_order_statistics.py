"""The slowest of N nodes, compared with theory and simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.arrays import Floats
from planner.statistics.order_statistics import (
    Durations,
    Loads,
    Spread,
    barriers,
    durations_of,
    from_bandwidths,
    lognormal,
    on_ladder,
    shared_factors,
    slowest_mean,
    slowest_mean_cached,
    sums_s,
    with_tail,
)
from planner.statistics.scaling_curve import mean_slowdowns

DRAWS = 20_000


def load(median_s: float, spread: Spread, count: float, spares: int = 0) -> Loads:
    """Return a resource of a phase of one cluster."""
    one = np.ones(1)
    return Loads(
        median_s=median_s * one[None], spreads=[(spread, np.zeros(1, int))], count=count * one, spares=spares * one
    )


def sums_of(phases: Sequence[Durations], *, shared_sigma: float) -> Durations:
    return durations_of(sums_s(phases), shared_sigma=shared_sigma)


def mean(durations: Durations) -> float:
    return float(durations.mean_s.mean())


def quantile(durations: Durations, probability: float) -> float:
    return float(durations.quantile_s([probability]).mean())


def simulated(sigma: float, count: int, seed: int = 7) -> np.ndarray:
    normal = np.random.default_rng(seed).standard_normal((DRAWS, count))
    return np.exp(sigma * normal.max(axis=1))


def slowest_quantile(spread: Spread, *, count: float, probability: float) -> float:
    """Return the slowness that the slowest of `count` nodes stays below with `probability`."""
    return quantile(barriers([load(1, spread, count)]), probability)


def variance_s2(durations: Durations) -> float:
    times, cdf = durations.times_s.ravel(), durations.cdf.ravel()
    off = np.append(times[0], (times[1:] + times[:-1]) / 2) - mean(durations)
    return float(np.diff(cdf, prepend=0.0) @ off**2)


def simulate(phases: Sequence[Sequence[Loads]], *, shared_sigma: float, rng: np.random.Generator) -> Floats:
    """Draw durations by brute force: every node of every resource of every phase, and the shared factor."""
    total = np.zeros(DRAWS)
    for loads in phases:
        slowest = [of.median_s[0] * of.spreads[0][0].sample((DRAWS, int(of.count[0])), rng).max(axis=1) for of in loads]
        total += np.max(slowest, axis=0)
    return np.asarray(total * np.exp(shared_sigma * rng.standard_normal(DRAWS)))


@pytest.mark.parametrize("count", [1, 2, 20, 178])
def test_slowest_mean_is_what_simulation_gives(count: int) -> None:
    draws = simulated(0.2, count)
    error = 4 * draws.std() / np.sqrt(DRAWS)
    assert slowest_mean(lognormal(0.2), count) == pytest.approx(draws.mean(), abs=error)


def test_slowest_quantile_is_what_simulation_gives() -> None:
    slowest = slowest_quantile(lognormal(0.1), count=50, probability=0.95)
    assert slowest == pytest.approx(np.quantile(simulated(0.1, 50), 0.95), rel=0.01)


def test_the_papers_slowest_disk_of_178_fixes_the_shipped_sigma() -> None:
    """SoCC 2015, section 5.1: the slowest VM's DiskBench was 87% of the mean."""
    assert 1 / slowest_mean(lognormal(0.055), 178) == pytest.approx(0.87, abs=0.01)


def test_without_variation_the_slowest_is_the_median() -> None:
    assert slowest_mean(lognormal(0.0), [1, 1000]) == pytest.approx([1, 1])


def test_a_barrier_over_two_resources_is_what_simulation_gives() -> None:
    rng = np.random.default_rng(3)
    loads = [load(600, lognormal(0.03), 100), load(590, lognormal(0.05), 100)]
    draws = np.maximum(
        600 * np.exp(0.03 * rng.standard_normal((DRAWS, 100))).max(1),
        590 * np.exp(0.05 * rng.standard_normal((DRAWS, 100))).max(1),
    )
    phase = barriers(loads)
    assert mean(phase) == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(DRAWS))
    assert variance_s2(phase) == pytest.approx(draws.var(), rel=0.1)


def test_a_certain_resource_floors_the_barrier() -> None:
    phase = barriers([load(600, lognormal(0.0), 9), load(1, lognormal(0.1), 9)])
    assert mean(phase) == pytest.approx(600)
    assert variance_s2(phase) == pytest.approx(0, abs=1e-6)


SPREADS = {
    "lognormal": lognormal(0.1),
    "one in twenty three times slower": with_tail(lognormal(0.05), fraction=0.05, factor=3),
    "measured quantiles": from_bandwidths(
        probabilities=(0.01, 0.25, 0.5, 0.75, 0.99), bytes_per_s=(1, 3, 4, 5, 9), median_bytes_per_s=4
    ),
}


@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("shared_sigma", [0.0, 0.15])
def test_order_statistics_and_simulation_agree(name: str, count: int, shared_sigma: float) -> None:
    """Two phases over two resources, every node drawn, against F(t)^N and the computed sum."""
    spread = SPREADS[name]
    phases = [[load(100, spread, count), load(90, lognormal(0.05), count)], [load(50, spread, count)]]
    draws = simulate(phases, shared_sigma=shared_sigma, rng=np.random.default_rng(11))
    whole = sums_of([barriers(phase) for phase in phases], shared_sigma=shared_sigma)
    assert mean(whole) == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(DRAWS) + 2e-3 * draws.mean())
    for probability in (0.5, 0.95):
        reached = (draws <= quantile(whole, probability) * (1 + 2e-3)).mean()
        below = (draws <= quantile(whole, probability) * (1 - 2e-3)).mean()
        error = 4 * np.sqrt(probability * (1 - probability) / DRAWS) + 0.02
        assert below - error <= probability <= reached + error


def test_a_tail_is_certain_in_a_large_cluster() -> None:
    """One in twenty is three times slower: some of 300 nodes are, so the barrier takes three times as long."""
    spread = with_tail(lognormal(0.0), fraction=0.05, factor=3)
    assert slowest_mean(spread, 300) == pytest.approx(3, rel=1e-5)
    assert slowest_mean(spread, 1) == pytest.approx(0.95 + 0.05 * 3)


def test_bandwidths_become_slowness() -> None:
    spread = SPREADS["measured quantiles"]
    assert slowest_quantile(spread, count=1, probability=0.5) == pytest.approx(1, rel=0.01)
    assert slowest_quantile(spread, count=1, probability=0.75) == pytest.approx(4 / 3, rel=0.01)
    assert slowest_quantile(spread, count=10_000, probability=0.5) == pytest.approx(4)


@given(st.floats(0, 0.5), st.integers(1, 5000), st.integers(1, 5000))
def test_more_nodes_are_never_faster(sigma: float, nodes: int, other_nodes: int) -> None:
    few, many = sorted((nodes, other_nodes))
    spread = lognormal(round(sigma, 3))
    assert slowest_mean(spread, few) <= slowest_mean(spread, many) + 1e-12


@given(st.floats(0.01, 1e6), st.floats(0, 0.4), st.integers(1, 1000))
def test_quantiles_are_ordered_and_positive(median_s: float, sigma: float, count: int) -> None:
    phase = barriers([load(median_s, lognormal(round(sigma, 3)), count)])
    ((p5, p50, p95),) = sums_of([phase], shared_sigma=0.1).quantile_s([0.05, 0.5, 0.95])
    assert 0 < p5 < p50 < p95


def test_one_of_several_durations_has_their_mean_and_holds_their_ends() -> None:
    ways = load(10.0, lognormal(0.1), 10).times(np.array([[1.0, 2.0, 4.0]]))
    durations = barriers([ways])
    whole = sums_of([durations], shared_sigma=0.0)
    assert mean(whole) == pytest.approx(durations.mean_s.sum() / 3, rel=1e-3)
    assert quantile(whole, 0.95) > durations.quantile_s([0.99])[0, 1, 0]


@pytest.mark.parametrize("spares", [1, 5, 20])
def test_spares_stand_in_for_the_slowest_as_in_simulation(spares: int) -> None:
    nodes, spread = 50, with_tail(lognormal(0.1), fraction=0.1, factor=3)
    slowest = barriers([load(100, spread, nodes, spares)])
    drawn = np.sort(spread.sample((DRAWS, nodes + spares), np.random.default_rng(3)), axis=1)[:, nodes - 1] * 100
    assert mean(slowest) == pytest.approx(drawn.mean(), rel=0.02)
    assert load(100, spread, nodes, spares).mean_s == pytest.approx(mean(slowest))
    for probability in (0.05, 0.5, 0.95):
        assert float(np.mean(drawn <= quantile(slowest, probability))) == pytest.approx(probability, abs=0.015)


def test_the_slower_of_two_by_hand() -> None:
    """The mean of the larger of two is 2 e^(s^2/2) Phi(s / sqrt 2): s = 0.3 gives 2 x 1.04603 x 0.58400."""
    assert slowest_mean(lognormal(0.3), [1, 2]) == pytest.approx([1.04603, 1.22176], rel=2e-4)


def test_a_load_is_done_when_enough_of_its_nodes_are() -> None:
    """Each node is done by 2 x 60 s with 0.9: both of two 0.81; two of three 0.729 + 3 x 0.081 = 0.972; two of four
    1 - 0.1^4 - 4 x 0.9 x 0.1^3 = 0.9963.
    """
    spread = Spread(log_slowness=np.log([1.0, 2.0, 3.0]), log_cdf=np.log([0.5, 0.9, 1.0]))
    at, late = np.log([[[2 * 60.0]]]), np.ones((1, 1), bool)
    done = [np.exp(load(60, spread, 2, spares).log_cdf_at(at, late)).item() for spares in (0, 1, 2)]
    assert done == pytest.approx([0.81, 0.972, 0.9963])


def test_a_tail_by_hand() -> None:
    """A tenth takes three times as long: of nodes evenly at 1 or 2, 0.45 are up to 1, 0.9 up to 2, 0.95 up to 3."""
    even = Spread(log_slowness=np.log([1.0, 1.999999, 2.0]), log_cdf=np.log([0.5, 0.5, 1.0]))
    tailed = with_tail(even, fraction=0.1, factor=3)
    assert np.exp(tailed.log_cdf_at(np.log([1.0, 2.0, 3.0, 6.0]))) == pytest.approx([0.45, 0.9, 0.95, 1.0], abs=1e-6)


def test_between_two_quantiles_of_a_bandwidth_it_is_evenly_spread() -> None:
    """A hundredth is below 100 MB/s, half below 200, 0.99 below 800. 0.745 are below 500, which is half of 1 GB/s,
    0.6225 below 350 and 0.255 below 150.
    """
    spread = from_bandwidths(probabilities=[0.01, 0.5, 0.99], bytes_per_s=[1e8, 2e8, 8e8], median_bytes_per_s=1e9)
    assert np.exp(spread.log_cdf_at(np.log([2.0, 1e9 / 3.5e8, 1e9 / 1.5e8]))) == pytest.approx(
        [0.255, 0.3775, 0.745], rel=1e-3
    )


def test_what_a_run_shares_stretches_its_mean() -> None:
    """Two fixed phases of 10 and 20 s, times a lognormal of sigma 0.2: 30 x e^0.02; median 30, 95% 30 x e^0.329."""
    certain = [barriers([load(seconds, lognormal(0), 1)]) for seconds in (10.0, 20.0)]
    whole = sums_of(certain, shared_sigma=0.2)
    assert whole.cdf[0, -1] == 1
    assert mean(whole) == pytest.approx(30 * np.exp(0.02), rel=1e-3)
    assert whole.quantile_s([0.5, 0.95])[0] == pytest.approx([30, 30 * np.exp(0.2 * 1.64485)], rel=2e-3)
    assert mean(sums_of(certain, shared_sigma=0)) == pytest.approx(30)


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.3])
def test_the_values_of_the_shared_factor_have_its_moments(sigma: float) -> None:
    factors, weights = shared_factors(sigma)
    assert factors @ weights == pytest.approx(np.exp(sigma**2 / 2))
    assert factors**4 @ weights == pytest.approx(np.exp(8 * sigma**2))
    assert np.log(factors) @ weights == pytest.approx(0, abs=1e-12)
    assert np.log(factors) ** 2 @ weights == pytest.approx(sigma**2)


def test_phases_in_turn_add_up_by_hand() -> None:
    """Two uniform phases of 0 to 1 s: mean 1 s, median 1 s, and a tenth takes more than 2 - sqrt 0.2 = 1.553 s."""
    shares = np.linspace(0.0, 1.0, 101)[None, None]
    even = Durations(times_s=shares, cdf=shares)
    whole = sums_of([even, even], shared_sigma=0)
    assert mean(whole) == pytest.approx(1, abs=2e-3)
    assert whole.quantile_s([0.5, 0.9])[0] == pytest.approx([1, 2 - 0.2**0.5], abs=0.01)
    assert whole.probability_by(np.array([1.0])) == pytest.approx(0.5, abs=0.03)


def test_nothing_to_do_takes_no_time() -> None:
    idle = barriers([load(0, lognormal(0.1), 3)])
    assert (mean(idle), quantile(idle, 0.95)) == (0, 0)
    assert mean(sums_of([idle, idle], shared_sigma=0.1)) == 0


def load_of(loads: Loads, cluster: int) -> Loads:
    """Return the load of one cluster."""
    spread, alone = next(spread for spread, rows in loads.spreads if cluster in rows), [cluster]
    first = [(spread, np.zeros(1, np.intp))]
    return Loads(median_s=loads.median_s[alone], spreads=first, count=loads.count[alone], spares=loads.spares[alone])


def test_a_batch_is_what_its_clusters_are_alone() -> None:
    """Clusters of other sizes, spreads and spares, two resources, and one that is idle in the last."""
    rng = np.random.default_rng(5)
    disks, links = rng.uniform(50, 150, (6, 1)), rng.uniform(50, 150, (6, 4))
    links[-1] = 0
    counts, spares = np.array([1.0, 2, 30, 400, 5, 9]), np.array([0.0, 0, 3, 0, 1, 0])
    even, odd = np.arange(0, 6, 2), np.arange(1, 6, 2)
    spreads = [(lognormal(0.1), even), (with_tail(lognormal(0.02), fraction=0.1, factor=2), odd)]
    loads = [
        Loads(median_s=np.repeat(disks, 4, axis=1), spreads=spreads, count=counts, spares=spares),
        Loads(median_s=links, spreads=[(lognormal(0.3), np.arange(6))], count=counts, spares=0 * spares),
    ]
    whole = barriers(loads)
    for cluster in range(6):
        alone = barriers([load_of(of, cluster) for of in loads])
        assert alone.mean_s[0] == pytest.approx(whole.mean_s[cluster], rel=1e-12)
        assert alone.cdf[0] == pytest.approx(whole.cdf[cluster], abs=1e-12)


def test_a_bandwidths_slowness_ends_at_its_least_quantile() -> None:
    """From 0.8 GB/s, 1.25 times slower than the given median, to 0.1 GB/s, ten times slower."""
    spread = from_bandwidths(probabilities=[0.01, 0.5, 0.99], bytes_per_s=[1e8, 2e8, 8e8], median_bytes_per_s=1e9)
    assert np.exp(spread.log_slowness[[0, -1]]) == pytest.approx([1.25, 10])
    assert (np.diff(spread.log_slowness) > 0).all()
    assert np.exp(spread.log_cdf[[0, -2, -1]]) == pytest.approx([0.01, 0.99, 1])


def fourth_root(sizes: Floats) -> Floats:
    return np.asarray(sizes**0.25)


def test_between_two_rungs_a_law_is_straight_in_the_logarithm_of_the_size() -> None:
    """64 rungs span 200 to 400 nodes, each 2^(1/64) times the one before. Half way between the first two the fourth
    root is the mean of 200^(1/4) and (200 x 2^(1/64))^(1/4).
    """
    middle = 200 * 2 ** (1 / 128)
    sizes = np.append(np.arange(300.0, 400.0), middle)
    by_hand = (200**0.25 + (200 * 2 ** (1 / 64)) ** 0.25) / 2
    assert on_ladder(fourth_root, sizes)[-1] == pytest.approx(by_hand, rel=1e-12)
    assert on_ladder(fourth_root, sizes)[-1] == pytest.approx(middle**0.25, rel=1e-5)


def test_up_to_two_hundred_nodes_and_of_few_sizes_all_are_evaluated() -> None:
    asked = []

    def law(sizes: Floats) -> Floats:
        asked.append(len(sizes))
        return sizes

    assert on_ladder(law, np.arange(1.0, 201.0)).tolist() == list(range(1, 201))
    few = np.linspace(201, 400, 65)  # as many as the ladder has rungs to 400
    assert np.array_equal(on_ladder(law, few), few)
    on_ladder(law, np.linspace(199, 400, 67))  # 199 separately, the 66 beyond by 65 rungs
    assert asked == [200, 65, 1, 65]


def test_the_laws_in_use_are_within_two_in_ten_thousand() -> None:
    sizes = np.arange(1.0, 100_001.0)
    some = np.array([1.0, 199, 200, 201, 207, 1007, 12_345, 99_999, 100_000])
    exact = slowest_mean(lognormal(0.2), some)
    assert slowest_mean_cached(lognormal(0.2), sizes.tobytes())[some.astype(int) - 1] == pytest.approx(exact, rel=1e-5)
    alone = [float(mean_slowdowns(np.array([size]).tobytes())[0]) for size in some.tolist()]
    few = np.sort(np.append(some, np.linspace(1500, 90_000, 900)))
    assert mean_slowdowns(few.tobytes())[np.searchsorted(few, some)] == pytest.approx(alone, rel=2e-4)
