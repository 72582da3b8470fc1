"""Tasks of a phase match the scheduler's cuts; joining many of them loses none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner.api.request_inputs import inputs_of
from planner.cost_model.workload import JobContext
from planner.simulation.phase_tasks import join_tasks, phase_tasks
from planner.simulation.simulate import simulation_context
from planner.sort_policy.concurrency import Concurrency
from planner.sort_policy.sizing import choose_sizes, slice_lengths

GIB = 2**30


def job(nodes: int, data: str = "2TB", model: str = "daytona") -> JobContext:
    answer = planner.recommend(data, instance="i4i.4xlarge", nodes=nodes, model=model, engine="ray")
    request, given_inputs = inputs_of(answer.plan.request)
    assert answer.best is not None
    return simulation_context(
        request,
        answer.best,
        models=given_inputs.models,
        catalogs=given_inputs.catalogs,
        overheads=given_inputs.overheads,
    )


def test_slices_and_partitions_are_the_schedulers() -> None:
    """A node of 16 processors and 128 GiB: 0.3 of it for the store, 0.4 for sorting."""
    context, rate = job(4), 1.17e9
    shuffle, reduce = (phase_tasks(context, phase, 4, link_bytes_per_s=rate) for phase in context.model.phases[-2:])
    assert shuffle is not None and reduce is not None
    sizes = choose_sizes(
        data_bytes=2 * 10**12,
        record_size=100,
        node_count=4,
        memory_bytes=round(128 * GIB * 0.4),
        store_bytes=round(128 * GIB * 0.3),
        replicated=True,
        concurrency=Concurrency.of([16.0]),
        link_bytes_per_s=rate,
    )
    cut = list(slice_lengths(5_000_000_000, longest=sizes.slice_records, record_size=100))
    assert shuffle.lengths == pytest.approx([length / 5_000_000_000 for length in cut])
    assert (shuffle.slices, shuffle.threads, shuffle.is_sent_by_parcel) == (sizes.slices, 2.0, True)
    assert shuffle.parcels is not None
    assert shuffle.parcels.full * 500_000_000_000 == pytest.approx(sizes.parcel_bytes)
    assert len(reduce.lengths) == sizes.partitions // 4
    assert reduce.copied and not reduce.slices


def test_where_coordinators_order_what_is_sent_is_one_flow() -> None:
    tasks = phase_tasks(job(40), job(40).model.phases[-1], 40, link_bytes_per_s=1e9)
    assert tasks is not None and not tasks.is_sent_by_parcel


def test_an_engine_without_tasks_has_none() -> None:
    context = job(8)
    ideal = replace(context, model=replace(context.model, engine=replace(context.model.engine, sizes=None)))
    assert phase_tasks(ideal, ideal.model.phases[-1], 8, link_bytes_per_s=1e9) is None


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=3000))
def test_joined_tasks_do_all_of_the_work_and_single_ones_begin_and_end_it(lengths: list[float]) -> None:
    parts = join_tasks([length / sum(lengths) for length in lengths])
    assert sum(parts) == pytest.approx(1.0)
    assert parts[0] == pytest.approx(lengths[0] / sum(lengths))
    assert len(parts) <= 160


def test_a_few_tasks_stay_as_they_are() -> None:
    assert join_tasks((0.25,) * 4) == [0.25] * 4


def test_a_part_of_the_work_is_that_of_the_last_tasks() -> None:
    context = job(8)
    tasks = phase_tasks(context, context.model.phases[-2], 8, link_bytes_per_s=1e9)
    assert tasks is not None
    half = tasks.times(0.5)
    assert len(half.lengths) == round(len(tasks.lengths) / 2)
    assert sum(half.lengths) == pytest.approx(1.0)
    assert tasks.times(1.01).lengths == pytest.approx(tasks.lengths)


def test_what_would_be_too_many_blocks_is_one_flow() -> None:
    """16 nodes of 100 tasks or more would send 25,600 blocks."""
    context = job(16, "10TB")
    tasks = phase_tasks(context, context.model.phases[-2], 16, link_bytes_per_s=1e9)
    assert tasks is not None and len(tasks.shares) > 40
    assert not tasks.is_sent_by_parcel
