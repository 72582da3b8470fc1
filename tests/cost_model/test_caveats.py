"""Every warning about a cluster appears where it is due, with its figures by hand, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve

import planner
from planner import recommend
from planner.catalog import Straggler
from planner.catalog.manifest import Boot
from planner.cost_model.caveats import deciding
from planner.cost_model.workload import JobContext
from planner.planning.candidates.candidates import candidate
from planner.report.terminal.decision import price_text
from planner.schemas.plan import Candidate, PhaseEstimate, ResourceUse
from planner.statistics.scaling_curve import ScalingCurve
from planner.units import format_rate

Make = Callable[..., Any]
NODE = {"read": 4e9, "write": 2e9, "memory_bytes": 2 * 10**9}


def warned(make_job: Make, change: Callable[[JobContext], JobContext], *, nodes: int = 10, **asked: Any) -> list[str]:
    """Return the warnings of the only cluster of a job that `change` alters."""
    context, region, _ = make_job({"a": NODE}, **asked)
    return list(candidate(change(context), row=0, nodes=nodes, offer=region.offer).warnings)


def about(words: str, warnings: list[str]) -> list[str]:
    return [warning for warning in warnings if warning.startswith(words)]


def as_it_is(context: JobContext) -> JobContext:
    return context


@pytest.mark.parametrize(("tokens", "end"), [(674e9, "is spent before the job ends"), (675e9, "outlasts the job")])
def test_whether_a_full_token_bucket_lasts(make_job: Make, tokens: float, end: str) -> None:
    """Ten nodes send 0.9 TB each at 4 GB/s, three quarters of it from tokens: 675 GB."""

    def bursting(context: JobContext) -> JobContext:
        network = replace(context.rates.network, burst=np.array([4e9]), bucket_bytes=np.array([tokens]))
        return replace(context, rates=replace(context.rates, network=network))

    (text,) = about("network: bursts", warned(make_job, bursting))
    assert text == f"network: bursts at 4 GB/s, then 1 GB/s; a full token bucket {end}"
    assert not about("network: bursts", warned(make_job, as_it_is))


@pytest.mark.parametrize(
    ("resource", "model", "told"),
    [("local_read", "indy", True), ("network", "indy", True), ("volume_read", "indy", False)],
)
def test_a_tail_is_told_where_it_slows_something(make_job: Make, resource: str, model: str, told: bool) -> None:
    tail = Straggler(
        zone="z1", resource=resource, slow_fraction=0.05, slow_factor=3, per="node", evidence="measured", source="m"
    )

    def tailed(context: JobContext) -> JobContext:
        return replace(context, spreads=replace(context.spreads, tails={0: (tail,)}))

    text = f"{resource.replace('_', ' ')}: 5% of nodes were 3 times slower in z1"
    assert (text in warned(make_job, tailed, model=model)) == told


VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e15, "free_bytes_per_s": 1.25e8,
          "read_bytes_per_s_max": 1.25e8, "write_bytes_per_s_max": 1.25e8, "price_evidence": "spec",
          "limit_evidence": "spec"}  # fmt: skip


@pytest.mark.parametrize(("resource", "told"), [("volume_read", True), ("local_read", True), ("local_write", True)])
def test_of_several_volumes_a_node_waits_for_the_slowest(make_job: Make, resource: str, told: bool) -> None:
    """Four volumes a node, one in twenty slow: 1 - 0.95^4 = 18.5% of nodes."""
    tail = Straggler(
        zone="z1", resource=resource, slow_fraction=0.05, slow_factor=3, per="volume", evidence="measured", source="m"
    )

    def tailed(context: JobContext) -> JobContext:
        return replace(context, spreads=replace(context.spreads, tails={0: (tail,)}))

    def written_alone(context: JobContext) -> JobContext:
        return replace(tailed(context), model=replace(context.model, phases=context.model.phases[1:]))

    alone = warned(make_job, written_alone, model="cloudsort", files={"volumes": [VOLUME]})
    assert bool(about(resource.replace("_", " "), alone)) == (resource == "local_read"), "the second phase alone"
    texts = warned(make_job, tailed, model="cloudsort", files={"volumes": [VOLUME]})
    (text,) = about(resource.replace("_", " "), texts)
    assert text.endswith("5% of volumes were 3 times slower in z1, so 19% of nodes are") == told


def test_how_far_credit_lasts(make_job: Make, approve: Approve) -> None:
    """40 TB over 10 nodes."""

    def on_credit(context: JobContext) -> JobContext:
        return replace(context, volumes=replace(context.volumes, credit_bytes=np.array([5e12])))

    texts = warned(make_job, on_credit, model="cloudsort", files={"volumes": [VOLUME]})
    (text,) = about("volumes: fast on burst credit", texts)
    approve(text)
    assert not about("volumes: fast", warned(make_job, as_it_is, model="cloudsort", files={"volumes": [VOLUME]}))
    assert not about("volumes: fast", warned(make_job, on_credit, files={"volumes": [VOLUME]}))


def test_how_wide_the_network_may_be_missed(make_job: Make, approve: Approve) -> None:
    """A stated rate, 1 GB/s, has the prior's band up to the link; a measured one its own, beyond its points only."""
    stated = about("network: nobody", warned(make_job, as_it_is, nodes=50))
    band = ScalingCurve.through([2.0], [1e9]).band(50)
    assert band.high_bytes_per_s[0] > 1e9
    low, high = format_rate(float(band.low_bytes_per_s[0])), "1 GB/s"
    assert stated == [
        f"network: nobody measured how it scales; at 50 nodes it lies between {low} and {high} nine times in ten"
    ]
    assert not about("network: nobody", warned(make_job, as_it_is, nodes=1, data_bytes=10**12))

    def measured(context: JobContext) -> JobContext:
        curve = ScalingCurve.through([2, 16], [1e9, 9e8])
        network = replace(
            context.rates.network, stated=np.zeros(1, bool), curves={0: curve}, evidence=np.zeros(1, np.int8)
        )
        return replace(context, rates=replace(context.rates, network=network))

    assert not [text for text in warned(make_job, measured, nodes=16) if "nine times in ten" in text]
    (beyond,) = [text for text in warned(make_job, measured, nodes=32) if "nine times in ten" in text]
    approve(beyond)


def test_a_spot_price_from_a_saving_is_told(make_job: Make) -> None:
    context, region, _ = make_job({"a": NODE})
    spot = candidate(context, row=0, nodes=10, offer=replace(region.offer, pricing="spot"))
    assert not about("spot", warned(make_job, as_it_is))
    assert not about("spot: the price", list(spot.warnings))
    derived = replace(region.offer, pricing="spot", evidence=("derived",) * len(region.offer.evidence))
    assert about("spot: the price", list(candidate(context, row=0, nodes=10, offer=derived).warnings))


@pytest.mark.parametrize(("usd", "told"), [(0.99, False), (1.0, True), (1.2, True)])
def test_a_spot_price_that_is_not_below_on_demand_is_told(make_job: Make, usd: float, told: bool) -> None:
    ways = {"on-demand": 1.0, "spot": usd}
    prices = [
        {"instance_type": "a", "region": "here", "pricing": way, "price_usd_per_hour": p} for way, p in ways.items()
    ]
    context, region, _ = make_job({"a": NODE}, files={"prices": prices}, pricing="spot")
    best = candidate(context, row=0, nodes=10, offer=region.offer)
    assert bool(about("spot: the price is not below the on-demand price of $1.00 an hour", list(best.warnings))) == told
    assert price_text(best) == f"${usd:.2f} spot{' (on demand $1.00)' * told} an hour"


STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02, "write_usd_per_request": 5e-6, "read_usd_per_request":
    4e-7, "egress_usd_per_gib": None, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "measured",
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "egress", "told"), [("object-store", None, True), ("object-store", 0, False), ("indy", None, False)]
)
def test_unknown_traffic_from_the_store_is_told_where_it_is_used(
    make_job: Make, model: str, egress: float | None, told: bool
) -> None:
    files = {"object_stores": [STORE | {"egress_usd_per_gib": egress}]}
    warnings = warned(make_job, as_it_is, model=model, files=files)
    assert bool(about("object store: traffic: price unknown: assumed", warnings)) == told


def planned(make_job: Make, **asked: Any) -> Candidate:
    context, region, _ = make_job({"a": NODE}, **asked)
    return candidate(context, row=0, nodes=10, offer=region.offer)


def test_prices_of_storage_weigh_where_they_are_paid(make_job: Make) -> None:
    """A recalled price of volumes warns under a model that uses them; a stated one never does."""
    recalled = {"volumes": [VOLUME | {"price_evidence": "recalled"}]}
    told = "volume price: recalled, not verified against a source"
    assert told in planned(make_job, model="cloudsort", files=recalled).warnings
    assert planned(make_job, model="cloudsort", files=recalled).evidence == "recalled"
    assert told not in planned(make_job, files=recalled).warnings
    assert told not in planned(make_job, model="cloudsort", files=recalled, assume={"price": 1.0}).warnings
    assert told not in planned(make_job, model="cloudsort", files={"volumes": [VOLUME]}).warnings


def phase(bottleneck: str, *others: str) -> PhaseEstimate:
    use = ResourceUse(bytes_per_node=1, bytes_per_s=1, time_s=1, equation_s=1)
    uses = dict.fromkeys([bottleneck, *others], use)
    return PhaseEstimate(name="p", time_s=1, equation_s=1, bottleneck=bottleneck, resources=uses)


@pytest.mark.parametrize(
    ("evidence", "weakest"),
    [
        ({"price": "spec", "shape": "spec", "network": "measured", "cpu": "assumed"}, "measured"),
        ({"price": "spec", "shape": "derived", "network": "spec", "cpu": "assumed"}, "spec"),
        ({"price": "recalled", "shape": "spec", "network": "spec", "cpu": "measured"}, "recalled"),
        ({"price": "measured", "volume_price": "assumed", "network": "spec", "cpu": "measured"}, "assumed"),
    ],
    ids=str,
)
def test_what_decides_is_as_weak_as_its_weakest_part(evidence: dict[str, str], weakest: str) -> None:
    """For stated facts, the cloud's word counts as much as a measurement; the CPU does not decide the phase."""
    assert deciding(evidence, (phase("network", "cpu"),)) == weakest


def test_of_the_figures_that_count_only_the_worst_is_scored(make_job: Make) -> None:
    """The made-up rates of the disks meet more demands than the network's, so the score leaves them out."""
    (score,) = about("cloud truth", warned(make_job, as_it_is))
    assert score.startswith("cloud truth 1 of 6: network,")


@pytest.mark.parametrize(
    ("given", "measured_rate", "speed"),
    [
        ({}, np.nan, None),
        ({"cpu_s_per_byte": {"sort": 1e-9}, "evidence": "measured"}, np.nan, None),
        ({"cpu_s_per_byte": {"sort": 1e-9}, "evidence": "assumed"}, np.nan, "taken to be as fast as the one"),
        ({"cpu_s_per_byte": {"sort": 1e-9}, "evidence": "assumed"}, 1e9, "as fast as was measured, beside the one"),
        ({"evidence": "assumed"}, np.nan, None),
    ],
    ids=str,
)
def test_how_fast_an_engine_takes_processors_to_be(
    make_job: Make, given: dict[str, Any], measured_rate: float, speed: str | None
) -> None:
    def with_engine(context: JobContext) -> JobContext:
        context.catalog.sort_bytes_per_s_per_vcpu[:] = measured_rate
        engine = replace(context.model.engine, **given)
        alike = replace(context.rates, vcpu_sigma=np.zeros(1))
        return replace(context, rates=alike, model=replace(context.model, engine=engine))

    texts = about("engine", warned(make_job, with_engine))
    told = f"engine ideal: a vCPU is {speed} that it was measured on"
    assert texts == ([] if speed is None else [told])


@pytest.mark.parametrize(
    ("instance_type", "counts"),
    [
        ("m7i.8xlarge", "counts for 1.00 by the type's zstd rate, 0.81 to 1.24"),
        ("c9g.8xlarge", "counts for 1.92 by its generation's zstd rate, 1.29 to 2.85"),
    ],
)
def test_how_many_of_the_measured_processors_a_type_counts_for(instance_type: str, counts: str) -> None:
    best = recommend("1TB", model="object-store", cloud="aws", instance=instance_type, nodes=8).best
    assert best is not None
    told = f"engine ray: a vCPU {counts} nine times in ten, of those that it was measured on"
    assert about("engine ray: a vCPU", best.warnings) == [told]


@pytest.mark.parametrize(
    ("name", "measured", "told"), [("a.metal", True, True), ("a", True, False), ("a.metal", False, False)]
)
def test_bare_metal_may_boot_longer_than_what_was_measured(
    make_job: Make, name: str, measured: bool, told: bool
) -> None:
    context, region, _ = make_job({name: NODE})
    boot = Boot(launches=7, median_s=30, p90_s=40, p95_s=50, node_sigma=0.1, evidence="measured", source="made")
    context = replace(context, overheads=replace(context.overheads, boot=boot if measured else None))
    warnings = list(candidate(context, row=0, nodes=10, offer=region.offer).warnings)
    assert bool(about("boot: hardly any", warnings)) == told


def test_what_a_store_is_asked_for_and_was_seen_to_give(make_job: Make, approve: Approve) -> None:
    """10 TB leave and enter the store during the phase; five nodes were once measured at 10 MB/s each."""
    stores = [STORE | {"reads_per_s": 5500, "writes_per_s": 3500}]
    rates = [{"object_store": "store", "instance_type": "a", "nodes": 5, "mode": "read_only", "bytes_per_s": 1e7}]

    def cluster_of(**files: Any) -> Candidate:
        context, region, _ = make_job({"a": NODE}, model="object-store", files={"object_stores": stores, **files})
        return candidate(context, row=0, nodes=10, offer=region.offer)

    cluster = cluster_of(object_store_rates=rates)
    limits = about("object store: one place takes", list(cluster.warnings))
    approve(limits)
    planned_rate = max(1e13 / phase.equation_s for phase in cluster.phases)
    (seen,) = about("object store: planned", list(cluster.warnings))
    assert seen == f"object store: planned with {format_rate(planned_rate)} in all; the most observed is 50 MB/s"
    assert not about("object store: planned", list(cluster_of().warnings))
    fast = [rates[0] | {"bytes_per_s": planned_rate / 5 * 1.01}]
    assert not about("object store: planned", list(cluster_of(object_store_rates=fast).warnings))


@pytest.mark.parametrize("model", ["indy", "object-store"])
def test_what_a_stores_requests_cost_the_processors_is_told_where_there_is_a_store(make_job: Make, model: str) -> None:
    def busy(context: JobContext) -> JobContext:
        return replace(context, model=replace(context.model, engine=replace(context.model.engine, cpu_s_per_byte=CPU)))

    asked = {"model": model, "files": {"object_stores": [STORE]}}
    assert bool(about("cpu: measured on files", warned(make_job, busy, **asked))) == (model == "object-store")
    assert not about("cpu: measured on files", warned(make_job, as_it_is, **asked))


CPU = {"partition": 1e-12, "sort": 1e-12}


def warnings(instance: str, **options: object) -> list[str]:
    """Return the warnings of a plan of 12 nodes with 5 GB each."""
    answer = planner.recommend("60GB", model="indy", instance=instance, nodes=12, **options)  # type: ignore[arg-type]
    assert answer.best is not None
    return [warning for warning in answer.best.warnings if "planner simulate" in warning]


def test_links_that_burst_are_worth_a_simulation() -> None:
    (advice,) = warnings("i4i.4xlarge")
    assert "took 0.6" in advice and "3.12 GB/s at first" in advice


def test_where_the_equations_agree_nothing_is_said() -> None:
    assert not warnings("i4i.8xlarge")


def test_a_network_that_is_known_does_not_burst() -> None:
    assert not warnings("i4i.4xlarge", assume={"network": "25Gbit/s"})


def test_without_tasks_a_simulation_says_the_same() -> None:
    assert not warnings("i4i.4xlarge", engine="ideal")


LIMIT = '\n[placement]\nmachines_most = 11\nevidence = "spec"\nsource = "test"\n'


def best(catalog: str, **asked: object) -> Candidate:
    plan = recommend(data="10TB", model="indy", engine="ideal", catalogs=(catalog,), **asked)  # type: ignore[arg-type]
    assert plan.best is not None
    return plan.best


@pytest.fixture
def limited(make_catalog: Callable[..., str]) -> str:
    """Return a catalog whose placement groups take eleven machines."""
    catalog = make_catalog({"a": {"read": 2e9, "write": 2e9}})
    path = Path(catalog) / "catalog.toml"
    path.write_text(path.read_text("utf-8").replace("\n[sources", LIMIT + "\n[sources", 1), "utf-8")
    return str(catalog)


def group_warned(cluster: Candidate) -> bool:
    return any("a placement group of this cloud takes 11 machines" in text for text in cluster.warnings)


def test_spares_take_places_of_the_group(limited: str) -> None:
    """10 nodes and their spare are 11 machines; 11 nodes and theirs are one too many."""
    inside, outside = best(limited, nodes=10), best(limited, nodes=11)
    assert (inside.nodes + inside.spares, outside.nodes + outside.spares) == (11, 12)
    assert (inside.placement_group, group_warned(inside)) == (True, False)
    assert (outside.placement_group, group_warned(outside)) == (False, True)


def test_machines_over_several_zones_are_in_no_group_and_not_warned_of(limited: str) -> None:
    cluster = best(limited, nodes=12, zones=3)
    assert (cluster.placement_group, group_warned(cluster)) == (False, False)


def test_google_states_its_limit_in_the_catalog_as_the_preflight_has_it() -> None:
    from planner.catalog.loading import load_catalog
    from planner.clouds.gcp.preflight import MOST_PLACED

    stated = load_catalog("gcp").manifest.placement
    assert stated is not None and stated.machines_most == MOST_PLACED


def test_disks_of_computed_rate_that_a_phase_waits_for_say_what_they_follow_and_how_wide_they_are() -> None:
    """c8id has the disks of c6id, one of which was measured; i4i was measured itself."""
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "nodes": 20}
    (text,) = about("local disks: nobody", list(_best(**asked, instances=["c8id.32xlarge"]).warnings))
    assert "computed (like c6id." in text
    assert re.search(r"nine in ten lie at 7\d% to 13\d% of them$", text)
    assert not about("local disks: nobody", list(_best(**asked, instances=["i4i.8xlarge"]).warnings))


def _best(**asked: Any) -> Candidate:
    best = recommend(**asked).best
    assert best is not None
    return best
