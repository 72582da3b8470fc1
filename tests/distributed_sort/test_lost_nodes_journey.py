"""Nodes that are lost while a cluster sorts, never came, or run another version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Dataset, Partition
from planner.errors import IoFailureError
from tests.distributed_sort.test_sort_journey import (
    ALONE,
    COORDINATED,
    MAP,
    RECORDS_PER_NODE,
    REDUCE,
    Event,
    Once,
    check,
    generated,
    summary_of,
)
from tests.marks import QUICK_SOAK

if TYPE_CHECKING:
    from conftest import SortCluster


@pytest.fixture
def restarted(sort_cluster: SortCluster) -> Iterator[None]:
    yield
    sort_cluster.restart(3)


@pytest.mark.needs_root(why="cuts links and kills nodes in network namespaces")
@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize(
    ("phase", "fault", "nodes_each"),
    [
        pytest.param("sample", "power", ALONE, marks=pytest.mark.soak),
        pytest.param(MAP, "power", ALONE, marks=QUICK_SOAK),
        pytest.param(MAP, "power", COORDINATED, marks=pytest.mark.soak),
        (REDUCE, "power", COORDINATED),
        pytest.param(REDUCE, "power", ALONE, marks=pytest.mark.soak),
        pytest.param(REDUCE, "link", ALONE, marks=QUICK_SOAK),
        pytest.param(REDUCE, "link", COORDINATED, marks=pytest.mark.soak),
    ],
)
def test_a_lost_node_costs_time_but_no_data(
    sort_cluster: SortCluster, tmp_path: Path, phase: str, fault: str, nodes_each: int
) -> None:
    source = generated(sort_cluster, "node-in", records=2 * RECORDS_PER_NODE)
    checksum = summary_of([partition.uri for partition in source.partitions]).checksum

    def lose() -> None:
        sort_cluster.lose(3) if fault == "power" else sort_cluster.emulated.nodes.cut(3)

    share = 0.0 if phase == "sample" or nodes_each == COORDINATED else 0.2  # coordinators have few moments to report
    event = Once(lose, phase=phase, share=share)
    options = {"copies": 2, "on_event": event, "nodes_per_coordinator": nodes_each}
    output, report = sort_cluster.sort(source, tmp_path / "j", output=f"{fault}-{phase[:3]}", **options)
    assert event.done
    assert report["lost_nodes"] == event.lost == ["node-3"]
    check(source, output, copies=2, checksum=checksum)
    assert not any(copy.node == "node-3" for partition in output.partitions for copy in partition.copies)


@pytest.mark.soak
@pytest.mark.needs_root(why="kills nodes in network namespaces")
@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize(
    ("step", "copies"),
    [
        ("generate", 1),
        ("checksum of the input", 1),
        pytest.param("sort", 2, marks=pytest.mark.quick),
        pytest.param("validate", 1, marks=pytest.mark.quick),
        ("validate", 2),
    ],
)
def test_a_whole_run_outlives_a_node_at_any_step(
    sort_cluster: SortCluster, tmp_path: Path, step: str, copies: int
) -> None:
    """A node is lost as the step begins, with the only copy of a third of the data or one of two."""
    lost = []

    def on_event(event: Event) -> None:
        if event["event"] == "step" and event["name"] == step and not lost:
            lost.append(sort_cluster.lose(3))

    rates = {f"node-{number}": 1e9 for number in (1, 2, 3)}
    request = {"records": 300_000, "copies": copies, "rates": rates, "replaced_within_s": 0.1}
    done = sort_cluster.do({"do": "run", "request": request, "journal": str(tmp_path / "j")}, on_event)
    assert len(lost) == 1 and lost[0], "processes ended, once"
    whole = (300_000, done["checksum"], True)
    assert (done["validations"][0]["records"], *[done["validations"][0][k] for k in ("checksum", "sorted")]) == whole
    used = {copy["node"] for partition in done["dataset"]["partitions"] for copy in partition["copies"]}
    assert done["dataset"]["records"] == 300_000
    assert used == {"node-1", "node-2"} or step == "validate", "what was read before the loss counts"
    disks = [sort_cluster.emulated.disk(node, number) for node in (1, 2) for number in (0, 1)]
    files = [path.name for disk in disks for path in (disk / "input").iterdir()]
    assert len(set(files)) == len(files), "what an attempt had written is not there twice"
    assert len(files) in ((4, 6) if step == "generate" else (4,)), "those of the lost node may be made by others"


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="kills nodes in network namespaces")
@pytest.mark.usefixtures("restarted")
def test_lost_input_that_cannot_be_had_again_is_named(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = generated(sort_cluster, "lost-in", recipes=False)
    event = Once(lambda: sort_cluster.lose(3), phase=MAP, share=0.0)
    with pytest.raises(IoFailureError, match="lost with node-3") as caught:
        sort_cluster.sort(source, tmp_path / "j", output="lost", on_event=event)
    assert caught.value.details[0] == f"{source.partitions[2].uri} on node-3: {RECORDS_PER_NODE} records"


def test_input_of_a_node_that_never_came_is_made_anew_or_named(sort_cluster: SortCluster, tmp_path: Path) -> None:
    """Its node was lost before the sort began, which nothing notices, and no other node reads for it."""
    source = generated(sort_cluster, "absent-in")
    first, lost = source.partitions[0], replace(source.partitions[2].copies[0], node="node-9")
    away = Dataset(partitions=(*source.partitions[:2], replace(source.partitions[2], copies=(lost,))))
    output, report = sort_cluster.sort(away, tmp_path / "j", output="absent")
    check(source, output)
    assert report["moved_bytes"]["input_remade"] == RECORDS_PER_NODE * 100
    without = Dataset(partitions=(first, Partition(records=RECORDS_PER_NODE, copies=(lost,))))
    with refused("node-absent", "node-9", kind=IoFailureError):
        sort_cluster.sort(without, tmp_path / "j", output="absent")


def restart_with_another_version(cluster: SortCluster, folder: Path) -> None:
    """Start the third node so that it finds this package in version 0.0.1."""
    old = folder / "old" / "sortplanner-0.0.1.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: sortplanner\nVersion: 0.0.1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(old.parent))
        cluster.restart(3)


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="ends a node's processes by its network namespace")
@pytest.mark.usefixtures("restarted")
def test_nodes_of_different_versions_are_named(sort_cluster: SortCluster, tmp_path: Path) -> None:
    """The driver was connected before, so it does not send its own version."""
    source = generated(sort_cluster, "version-in")
    sort_cluster.do({"do": "validate", "dataset": json.loads(source.to_json())})
    restart_with_another_version(sort_cluster, tmp_path)
    with pytest.raises(IoFailureError, match="do not run the same versions") as caught:
        sort_cluster.sort(source, tmp_path / "j", output="version")
    assert caught.value.details == (f"node-3 has planner 0.0.1, the driver {version('sortplanner')}",)
    assert not (tmp_path / "j").exists()


@pytest.mark.soak
@pytest.mark.needs_root(why="ends a node's processes by its network namespace")
@pytest.mark.usefixtures("restarted")
def test_nodes_of_another_version_get_the_drivers(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source, events = generated(sort_cluster, "sent-in"), list[Event]()
    restart_with_another_version(sort_cluster, tmp_path)
    with sort_cluster.emulated.session() as session:
        order = {"do": "validate", "dataset": json.loads(source.to_json())}
        (copy,) = session.do(order, events.append)["copies"]
    assert copy["validation"]["records"] == source.records
    assert [event["packages"] for event in events if event["event"] == "shipped"] == [["sortplanner"]]
