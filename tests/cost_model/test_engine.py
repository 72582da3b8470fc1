"""Additions of engines to the equations, against sums done by hand."""

from __future__ import annotations

import math
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from approvals import Approve
from refusals import refused

import planner
from planner.catalog import load_catalog
from planner.config import paths
from planner.cost_model import run_overheads
from planner.cost_model.engine import IDEAL, Emulated, TaskSizes
from planner.cost_model.model import run_by
from planner.cost_model.model_reader import engine_choices, load_engine, load_model, parse_engine
from planner.distributed_sort.job.job import SortRequest
from planner.errors import BadInputError
from planner.planning.recommendation import recommend
from planner.schemas.plan import Candidate, Request
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import choose_sizes

CLOUD = "tests/golden/cloud"
MEMORY_BYTES = 64e9
DATA_BYTES = 1_600_000_000_000
TYPE = "dense.2"


def best(engine: str, *, nodes: int, model: str = "indy") -> Candidate:
    plan = planner.recommend(
        data=DATA_BYTES, model=model, catalogs=(CLOUD,), instances=(TYPE,), nodes=nodes, engine=engine
    )
    assert plan.best is not None
    return plan.best


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("nodes", [2, 20, 200])
@pytest.mark.parametrize("vcpu", [2, 8, 64])
@pytest.mark.parametrize("data_bytes", [500_000_000, 20_000_000_000, 10_000_000_000_000])
@pytest.mark.parametrize("memory_bytes", [1_000_000_000, 256_000_000_000])
@pytest.mark.parametrize("link_bytes_per_s", [None, 25e6, 500e6, 12e9])
def test_slices_and_partitions_are_as_many_as_the_sort_makes(
    nodes: int, vcpu: int, data_bytes: int, memory_bytes: int, link_bytes_per_s: float | None, *, copied: bool
) -> None:
    sizes, concurrency = load_engine("ray").sizes, Concurrency.of([vcpu])
    assert sizes is not None
    made = choose_sizes(
        data_bytes=data_bytes,
        record_size=100,
        node_count=nodes,
        memory_bytes=int(memory_bytes * sizes.sort_share),
        store_bytes=int(memory_bytes * sizes.store_share),
        replicated=copied,
        concurrency=concurrency,
        link_bytes_per_s=link_bytes_per_s,
    )
    memory, cpus, counts = np.array([float(memory_bytes)]), np.array([float(vcpu)]), np.array([float(nodes)])
    partitions = sizes.partitions(data_bytes, memory_bytes=memory, vcpu=cpus, nodes=counts, copied=copied)
    slices = sizes.slices(
        data_bytes,
        memory_bytes=memory,
        vcpu=cpus,
        nodes=counts,
        link_bytes_per_s=np.array([[link_bytes_per_s or 0.0]]),
        partitions=np.array([[float(made.partitions)]]),
    )
    long_slices = data_bytes / (made.slice_records * 100)
    assert slices[0, 0] - sizes.slices_extra * nodes == pytest.approx(long_slices, rel=0.01)
    # the sort makes this number for each node, and at least one
    assert partitions[0, 0] == pytest.approx(made.partitions, rel=0.05, abs=nodes)


BY_HAND = """
title = "round figures"
source = "made"
in_memory = false
send_s_per_byte = 3e-9
copy_s_per_byte = 4e-9
memory_node_bytes = 8e9
memory_task_bytes = 1e9
cpu_s_per_byte = { partition = 1e-9, sort = 2e-9 }
[sizes]
store_share = 0.3
sort_share = 0.4
tasks_min = 3
tasks_max = 8
slices_per_task = 2
slice_turns = 2
slices_extra = 4
parcels_min = 1
parcels_max = 2
slice_bytes_max = 1e9
slice_store_share = 0.4
slice_sort_share = 0.5
partition_sort_share = 0.3
copied_store_share = 0.15
partitions_per_node = 8
[tasks.partition]
driver_s = 0.01
node_s = 0.05
driver_parcel_s = 0.002
node_block_s = 0.01
driver_per_node_s = 0.0005
[tasks.sort]
driver_s = 0.1
node_s = 0
"""


@pytest.fixture
def by_hand(tmp_path: Path) -> str:
    """An engine of round figures."""
    path = tmp_path / "hand.toml"
    path.write_text(BY_HAND, "utf-8")
    return str(path)


def test_processors_work_for_bytes_and_tasks_and_the_driver_for_tasks(by_hand: str) -> None:
    """1.6 TB on 4 nodes of 16 vCPUs and 128 GB: 400 GB each.

    A slice is a single parcel where the driver decides.
    A slice is 128 GB x 0.3 x 0.4 / (2 x (8 + 1)) = 853.3 MB, so there are 1875, and 4 more on each node: 1891.
    A partition is 128 GB x 0.4 x 0.3 / 8 = 1.92 GB: 833.3.
    """
    first, second = best(by_hand, nodes=4).phases
    driver_s = 0.01 + 0.002 * 1 + 0.0005 * 4
    assert first.resources["driver"].equation_s == pytest.approx(1891 * driver_s)
    by_bytes = (1 + 3 * 3 / 4) * 400 / 16
    by_tasks = 1891 * ((0.05 + 0.01 * 3) / 4 + driver_s) / 16
    assert first.resources["cpu"].equation_s == pytest.approx(by_bytes + by_tasks)
    assert second.resources["driver"].equation_s == pytest.approx(833.333 * 0.1, rel=1e-5)
    assert second.resources["cpu"].equation_s == pytest.approx(2 * 400 / 16 + 833.333 * 0.1 / 16, rel=1e-5)


def test_on_many_nodes_coordinators_order_the_tasks(by_hand: str) -> None:
    """A task costs them 3 times as much. On 4 nodes there are 2, on 5 nodes 3, on 2 nodes none.

    A slice travels in 1 / (1 + 1/2) parcels on 2 nodes, in 1 on more.
    """
    Path(by_hand).write_text(BY_HAND.replace("[sizes]", "[sizes]\nnodes_per_coordinator = 2\ncoordinated_cost = 3"))
    slices = {2: 1875 + 8, 4: 1875 + 16, 5: 1875 + 20}
    for nodes, share, parcels in ((2, 1, 2 / 3), (4, 3 / 2, 1), (5, 3 / 3, 1)):
        driver_s = best(by_hand, nodes=nodes).phases[0].resources["driver"].equation_s
        assert driver_s == pytest.approx(slices[nodes] * (0.01 + 0.002 * parcels + 0.0005 * nodes) * share)


def test_all_coordinators_together_use_the_processors_of_one_machine() -> None:
    sizes = load_engine("ray").sizes
    assert sizes is not None
    sizes = replace(sizes, nodes_per_coordinator=16, coordinated_cost=2)
    nodes = np.array([16.0, 17, 32, 33, 178])
    np.testing.assert_allclose(sizes.ordering(nodes, decides=True), [1, 1, 1, 2 / 3, 2 / 12])
    np.testing.assert_allclose(sizes.ordering(nodes, decides=False), [1, 2, 2, 2, 2])


def test_the_planner_knows_the_sorts_coordinators() -> None:
    sizes = load_engine("ray").sizes
    assert sizes is not None
    assert sizes.nodes_per_coordinator == SortRequest.nodes_per_coordinator


def test_processors_that_are_busy_half_of_the_time_take_twice_as_long(by_hand: str) -> None:
    """As above for bytes and for tasks; the driver's processor has no other work."""
    half = replace(load_engine(by_hand), busy={"cpu": {"partition": 0.5}})
    request = Request(data_bytes=int(DATA_BYTES), model="indy", catalogs=(CLOUD,), instances=(TYPE,), nodes=4)
    model = run_by(load_model("indy"), half)
    plan = recommend(request, model=model, catalogs=[load_catalog(CLOUD)], overheads=run_overheads.shipped())
    assert plan.best is not None
    by_tasks = 1891 * ((0.05 + 0.01 * 3) / 4 + 0.014) / 16
    first, second = plan.best.phases
    assert first.resources["cpu"].equation_s == pytest.approx(2 * ((1 + 3 * 3 / 4) * 400 / 16 + by_tasks))
    assert second.resources["cpu"].equation_s == pytest.approx(2 * 400 / 16 + 833.333 * 0.1 / 16, rel=1e-5)


def test_a_copy_costs_its_senders_and_receivers_processors(by_hand: str) -> None:
    """Copied partitions are 128 GB x 0.3 x 0.15 / 9 = 640 MB: 2500 of them, each 0.1 s of the head's processors."""
    _, second = best(by_hand, nodes=4, model="daytona").phases
    assert second.resources["cpu"].equation_s == pytest.approx((2 + 4) * 400 / 16 + 2500 * 0.1 / 16)


def test_nodes_that_share_processors_share_the_drivers_work(by_hand: str) -> None:
    model = load_model("indy")
    shared = replace(load_engine(by_hand), shares_processors=True)
    request = Request(data_bytes=int(DATA_BYTES), model="indy", catalogs=(CLOUD,), instances=(TYPE,), nodes=4)
    plan = recommend(
        request, model=run_by(model, shared), catalogs=[load_catalog(CLOUD)], overheads=run_overheads.shipped()
    )
    assert plan.best is not None
    by_tasks = 1891 * (0.08 + 0.01 + 0.002 * 1.2 + 0.002) / 4 / 16
    assert plan.best.phases[0].resources["cpu"].equation_s == pytest.approx(3.25 * 400 / 16 + by_tasks)


def test_a_slow_processor_slows_tasks_and_driver_too(by_hand: str) -> None:
    plan = planner.recommend(
        data=DATA_BYTES, model="indy", catalogs=(CLOUD,), instances=(TYPE,), nodes=4, engine=by_hand
    ).plan
    halved = planner.api.recommend.answer(replace(plan.request, scale={"cpu": 0.5})).plan
    assert plan.best is not None and halved.best is not None
    for was, now in zip(plan.best.phases, halved.best.phases, strict=True):
        assert now.resources["cpu"].equation_s == pytest.approx(2 * was.resources["cpu"].equation_s)
        assert now.resources["driver"].equation_s == pytest.approx(2 * was.resources["driver"].equation_s)


def test_estimates_of_a_grid_agree_with_the_exact_candidate(by_hand: str) -> None:
    """Where the driver decides, only variation shared by all nodes spreads the time."""
    slow_driver = BY_HAND.replace("driver_s = 0.01\n", "driver_s = 9\n")
    Path(by_hand).write_text(slow_driver, "utf-8")
    candidate = best(by_hand, nodes=4)
    point = next(
        point
        for point in planner.recommend(
            data=DATA_BYTES, model="indy", catalogs=(CLOUD,), instances=(TYPE,), engine=by_hand, nodes=4
        ).frontier
    )
    assert candidate.phases[0].bottleneck == "driver"
    assert point.time_s == pytest.approx(candidate.time_s.expected, rel=0.01)


def test_a_node_with_too_little_memory_is_rejected_with_what_it_needs(by_hand: str, approve: Approve) -> None:
    """lean.1 has 8 vCPUs and 16 GB: 8 GB + 8 x 1 GB just fits; with 9 GB for a node it does not."""
    enough = planner.recommend(data="100GB", model="indy", catalogs=(CLOUD,), instances=("lean.1",), engine=by_hand)
    assert enough.best is not None
    Path(by_hand).write_text(BY_HAND.replace("memory_node_bytes = 8e9", "memory_node_bytes = 9e9"), "utf-8")
    less = planner.recommend(data="100GB", model="indy", catalogs=(CLOUD,), instances=("lean.1",), engine=by_hand)
    (rejection,) = [rejection for rejection in less.rejected if rejection.instance_type == "lean.1"]
    approve((rejection.reason, rejection.detail))


def test_the_least_time_of_a_phase_is_that_of_links_or_processors(by_hand: str) -> None:
    """100 GB on 4 nodes with 16 CPUs together; in the first phase each node sends 3/4 of its 25 GB."""
    engine = replace(load_engine(by_hand), decode_s_per_byte={"csv": 1e-9}, encode_s_per_byte={"csv": 2e-9})
    per_byte = [engine.cpu_s_per_byte["partition"] + engine.send_s_per_byte * 3 / 4, engine.cpu_s_per_byte["sort"]]

    def phases(form: str, link_bytes_per_s: float) -> list[tuple[float, str]]:
        return engine.least_phases_s(
            form, data_bytes=1e11, copies=1, nodes=4, cpus=16, link_bytes_per_s=link_bytes_per_s
        )

    assert phases("records", 1e12) == [(pytest.approx(1e11 * seconds / 16), "processors") for seconds in per_byte]
    csv = [1e11 * (seconds + coding_s) / 16 for seconds, coding_s in zip(per_byte, (1e-9, 2e-9), strict=True)]
    assert phases("csv", 1e12) == [(pytest.approx(seconds), "processors") for seconds in csv]
    assert phases("records", 1e6)[0] == (pytest.approx(25e9 * 3 / 4 / 1e6), "links")


def test_a_name_of_an_engine_is_one_of_those_shipped() -> None:
    assert engine_choices() == ("ideal", "local", "ray", "spark")
    with pytest.raises(BadInputError, match="unknown engine 'rai'"):
        load_engine("rai")


def test_everything_wrong_in_an_engine_is_named() -> None:
    tasks = {"sort": {"driver_s": 1.1e15}}
    document = {"title": "x", "sauce": "y", "cpu_s_per_byte": {"partition": "fast"}, "tasks": tasks}
    document["decode_s_per_byte"] = {"orc": 1e-9}
    with pytest.raises(BadInputError) as error:
        parse_engine("mine", document, where="mine.toml")
    wrong = {line.split()[0].rstrip(":") for line in error.value.details}
    assert wrong == {
        "sauce", "source", "cpu_s_per_byte.partition", "decode_s_per_byte.orc", "tasks.sort.driver_s",
        "tasks.sort.node_s",
    }  # fmt: skip
    assert "'fast'" in str(error.value)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"decode_s_per_byte": {"csv": 1e-9}}, "decode_s_per_byte"),
        ({"sizes": dict.fromkeys((item.name for item in fields(TaskSizes)), 1.0)}, "tasks"),
        ({"name": "x"}, "name"),
    ],
)
def test_an_engine_whose_parts_do_not_fit_is_refused(change: dict[str, object], field: str) -> None:
    document = {"title": "x", "source": "y", "cpu_s_per_byte": {"sort": 1e-9}}
    assert parse_engine("mine", document, where="mine.toml").cpu_s_per_byte == {"partition": 0.0, "sort": 1e-9}
    with pytest.raises(BadInputError) as error:
        parse_engine("mine", document | change, where="mine.toml")
    assert error.value.field == field


def test_a_model_with_software_of_its_own_is_run_by_that() -> None:
    assert run_by(load_model("framework"), load_engine("ray")) == load_model("framework")


def test_ray_keeps_intermediate_data_in_files_and_ideal_changes_nothing() -> None:
    indy = load_model("indy")
    assert indy.in_memory and not run_by(indy, load_engine("ray")).in_memory
    assert run_by(indy, IDEAL) == indy


def test_the_paper_knows_no_engine() -> None:
    ray, ideal = (
        planner.recommend(data="5TB", model="indy", catalogs=(CLOUD,), max_nodes=48, paper=True, engine=engine).plan
        for engine in ("ray", "ideal")
    )
    assert ray.candidates == ideal.candidates


def test_local_sorts_on_one_machine() -> None:
    plan = planner.recommend(data="100GB", model="daytona", catalogs=(CLOUD,), engine="local").plan
    assert {candidate.nodes for candidate in plan.candidates} == {1}
    with refused("one-machine-engine", "local", "4", field="engine"):
        best("local", nodes=4)


def test_what_was_measured_of_a_types_processors_counts(by_hand: str, tmp_path: Path) -> None:
    """Sorting in memory at 2.4 GB/s per vCPU, where the sort core's usual rate is 1.2: half the seconds."""
    catalog = tmp_path / "cloud"
    shutil.copytree(CLOUD, catalog)
    rate = 2 * run_overheads.shipped().cpu_bytes_per_s_per_vcpu["sort"]
    columns = "instance_type,bytes_per_s_per_vcpu,aggregate,method,evidence,source,as_of\n"
    (catalog / "sort_rates.csv").write_text(
        f"{columns}{TYPE},{rate:.0f},mean,bench,measured,made,2026-11-01\n", "utf-8"
    )
    usual, fast = (
        planner.recommend(
            data=DATA_BYTES, model="indy", catalogs=(str(place),), instances=(TYPE,), nodes=4, engine=by_hand
        ).best
        for place in (CLOUD, catalog)
    )
    assert usual is not None and fast is not None
    assert fast.phases[0].resources["cpu"].equation_s == pytest.approx(usual.phases[0].resources["cpu"].equation_s / 2)
    assert fast.phases[0].resources["driver"].equation_s == usual.phases[0].resources["driver"].equation_s


def test_slices_by_hand(by_hand: str) -> None:
    """With 64 GB and 4 processors, 2 x (4 + 1) slices are under way in 0.3 x 0.4 of memory, 768 MB each; each of 4
    tasks sorts in 0.4 x 0.5 of it, 3.2 GB, or in 0.4 x 0.05, 320 MB. No slice exceeds 1 GB, a node has at least 2 x 10,
    plus 4 a node.
    """
    sizes = load_engine(by_hand).sizes
    assert sizes is not None
    nodes = {"vcpu": np.array([4.0]), "nodes": np.array([4.0])}

    def slices(data_bytes: float, memory_bytes: float = 64e9, sort_share: float = 0.5) -> float:
        of = replace(sizes, slice_sort_share=sort_share)
        unknown = {"link_bytes_per_s": np.zeros((1, 1)), "partitions": np.full((1, 1), 32.0)}
        return float(of.slices(data_bytes, memory_bytes=np.array([memory_bytes]), **nodes, **unknown)[0, 0])

    assert slices(1.6e12) == pytest.approx(1.6e12 / 768e6 + 16)
    assert slices(1.6e12, sort_share=0.05) == pytest.approx(1.6e12 / 320e6 + 16)
    assert slices(1.6e12, memory_bytes=640e9) == pytest.approx(1600 + 16)
    assert slices(1e9) == 2 * 10 * 4 + 16


@pytest.mark.parametrize(
    ("link_bytes_per_s", "partitions", "count"),
    [(0.0, 32.0, 80), (60e6, 32.0, 80), (80e6, 32.0, 40), (170e6, 32.0, 20), (1e12, 32.0, 20), (0.0, 800.0, 40)],
)
def test_slices_are_longer_over_fast_links_by_hand(
    by_hand: str, link_bytes_per_s: float, partitions: float, count: int
) -> None:
    """1 GB on 4 nodes of 4 processors: 80 slices of 12.5 MB, or 40 of 25 MB, or 20 of 50 MB. 0.2 s at 60 MB/s are
    12 MB, at 80 MB/s 16 MB, at 170 MB/s 34 MB; 200 partitions of a node with 64 kB each are 12.8 MB.
    """
    sizes = load_engine(by_hand).sizes
    assert sizes is not None
    sizes = replace(sizes, slice_link_s=0.2, piece_bytes_min=64e3, slice_bytes_min=1e6)
    slices = sizes.slices(
        1e9,
        memory_bytes=np.array([64e9]),
        vcpu=np.array([4.0]),
        nodes=np.array([4.0]),
        link_bytes_per_s=np.array([[link_bytes_per_s]]),
        partitions=np.array([[partitions]]),
    )
    assert slices[0, 0] == count + 16


@pytest.mark.parametrize(("copied", "largest_bytes"), [(False, 1.92e9), (True, 0.576e9)])
def test_partitions_by_hand(by_hand: str, *, copied: bool, largest_bytes: float) -> None:
    """Each of 4 tasks sorts in 0.4 x 0.3 of 64 GB, 1.92 GB; with copies, five hold 0.3 x 0.15, 576 MB each."""
    sizes = load_engine(by_hand).sizes
    assert sizes is not None
    node = {"memory_bytes": np.array([64e9]), "vcpu": np.array([4.0]), "nodes": np.array([4.0])}
    assert sizes.partitions(1.6e12, **node, copied=copied)[0, 0] == pytest.approx(1.6e12 / largest_bytes)
    assert sizes.partitions(1e9, **node, copied=copied)[0, 0] == 8 * 4
    roomy = replace(sizes, copied_store_share=0.9)  # now one of three sorters decides, while a fourth copies
    assert roomy.partitions(1.6e12, **node, copied=True)[0, 0] == pytest.approx(1.6e12 / 2.56e9)


def test_tasks_and_parcels_by_hand(by_hand: str) -> None:
    """Three to eight tasks at a time. 3 of 4 nodes get parcels, 3 / (1 + 3/2) = 1.2 a slice, or one if it waits."""
    sizes = load_engine(by_hand).sizes
    assert sizes is not None
    assert sizes.tasks(np.array([2.9, 5.5, 64.0])).tolist() == [3, 5, 8]
    nodes = np.array([2.0, 4.0])
    assert sizes.parcels(nodes, driver_decides=False) == pytest.approx([2 / 3, 1.2])
    assert sizes.parcels(nodes, driver_decides=True) == pytest.approx([2 / 3, 1])


def test_of_two_kinds_of_work_the_one_that_reaches_less_counts() -> None:
    engine = replace(IDEAL, busy={"network": {"partition": 0.5, "sort": 0.8}})
    assert engine.busy_share("network", ("partition", "sort")) == 0.5
    assert engine.busy_share("network", ("sort", "other")) == 0.8
    assert engine.busy_share("network", ("other",)) == engine.busy_share("cpu", ("sort",)) == 1


def test_a_byte_costs_more_behind_a_slower_cap_as_far_as_that_was_measured() -> None:
    """Half way between 1/100 and 1/50 in the time of a byte is 1/66.7."""
    seen = Emulated(
        capped_s_per_byte=1e-9, cap_bytes_per_s=100e6, slow_capped_s_per_byte=4e-9, slow_cap_bytes_per_s=50e6
    )
    caps = [None, 1e9, 100e6, 100e6 / 1.5, 50e6, 1e6]
    assert [seen.packets_s_per_byte(cap) * 1e9 for cap in caps] == pytest.approx([0.0, 1.0, 1.0, 2.5, 4.0, 4.0])
    assert Emulated(capped_s_per_byte=2e-9).packets_s_per_byte(1e6) == 2e-9


def test_each_phase_ends_with_a_barrier_that_grows_with_the_nodes(tmp_path: Path) -> None:
    shipped = (paths.models_directory() / "engines" / "ray.toml").read_text("utf-8")
    engine = load_engine("ray")
    times_s = {}
    for seconds in (0.0, 0.5):
        file = tmp_path / f"waits-{seconds}.toml"
        line = f"barrier_per_node_s = {engine.barrier_per_node_s:g}"
        assert line in shipped
        file.write_text(shipped.replace(line, f"barrier_per_node_s = {seconds:g}"), "utf-8")
        times_s[seconds] = best(str(file), nodes=20).time_s
    added_s = 2 * 20 * 0.5
    assert engine.shared_sigma is not None
    assert times_s[0.5].equation == times_s[0.0].equation
    assert times_s[0.5].expected - times_s[0.0].expected == pytest.approx(
        added_s * math.exp(engine.shared_sigma**2 / 2), rel=0.02
    )
    started_s = best("ray", nodes=20).overheads_s["install"] - best("ideal", nodes=20).overheads_s["install"]
    assert started_s == pytest.approx(engine.start_s + 20 * engine.start_per_node_s)
