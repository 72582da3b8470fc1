"""Jobs that publish to one name, with crashes between any two steps: a model over the publishing code."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from obstore.store import MemoryStore
from refusals import refused, require

from planner.distributed_sort import publishing
from planner.distributed_sort.content.content import content_of, split
from planner.distributed_sort.dataset import object_store, shared_folder
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, dataset_of
from planner.distributed_sort.dataset.input_versions import with_versions
from planner.distributed_sort.job.job import SortRequest
from planner.distributed_sort.job.ledger import Journal
from planner.distributed_sort.node_files.node_environment import JobFiles, job_of_part
from planner.distributed_sort.node_tasks import node_tasks
from planner.distributed_sort.node_tasks.node_tasks import SortOrder
from planner.distributed_sort.publishing import ManifestPlace, publish
from planner.distributed_sort.sort import open_job
from planner.errors import BadInputError, IoFailureError
from planner.native import core
from tests.distributed_sort.inline_nodes import InlineNodes

LAYOUT = Layout()
PARTS = 2


class Crash(BaseException):
    """The process is killed here."""


class Nodes(InlineNodes):
    def run_on_all(self, task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        return {name: self.wait_for(self.run(name, task, *arguments), nodes=(name,)) for name in self.names}


@dataclass
class Driver:
    """One user's machine's knowledge of its job."""

    journal: Journal
    source: Path
    files: JobFiles | None = None
    done: dict[int, Partition] = field(default_factory=dict)


class Publishing(RuleBasedStateMachine):
    """Two users sort to one manifest, each with a journal of their own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.folder = folder / secrets.token_hex(4)
        (self.folder / "disk" / "out").mkdir(parents=True)
        patch.setenv("PLANNER_NODE_DIRECTORY", str(self.folder / "disk"))
        patch.setenv("PLANNER_NODE_MEMORY", str(self.folder))
        self.patch = patch
        self.nodes: Any = Nodes(["node-1"], patch)
        self.foreign = {
            self.folder / "disk" / "out" / name for name in ("mine.txt", "part-000000", "part-000001-x.csv")
        }
        self.drivers = [Driver(Journal(self.folder / f"j{turn}"), self.folder / f"in{turn}") for turn in range(2)]
        for path in (*self.foreign, *(driver.source for driver in self.drivers)):
            path.write_bytes(b"precious")
        self.manifest = self.folder / "out.json"
        self.places = [ManifestPlace(uri=str(self.manifest))]

    def request(self, driver: Driver) -> SortRequest:
        source = Dataset(partitions=(Partition(records=1, copies=(Copy(uri=str(driver.source)),)),))
        return SortRequest(source=with_versions(source, self.nodes), output="out")

    @rule(turn=st.integers(0, 1), changes=st.booleans())
    def begin_or_resume(self, turn: int, changes: bool) -> None:
        driver = self.drivers[turn]
        if changes:
            driver.source.write_bytes(secrets.token_bytes(8))
        before = driver.files
        with driver.journal.hold():
            files, progress = open_job(
                self.request(driver), self.nodes, driver.journal, lambda _: None, places=self.places
            )
            if progress is None:
                splitting = split(b"", partitions=PARTS, layout=LAYOUT)
                driver.journal.begin(slice_records=1, splitting=splitting, owner=["node-1"] * PARTS)
        assert changes is False or before is None or before.job != files.job, "another input is another job"
        driver.files, driver.done = files, {} if progress is None else {n: part for n, (part, _) in progress[3].items()}
        assert all(Path(part.uri).exists() for part in driver.done.values()), "what counts is there"

    @rule(turn=st.integers(0, 1), number=st.integers(0, PARTS - 1))
    def write_partition(self, turn: int, number: int) -> None:
        if (files := self.drivers[turn].files) is not None and number not in self.drivers[turn].done:
            self._write(self.drivers[turn], files, number)

    def _write(self, driver: Driver, files: JobFiles, number: int) -> None:
        records = np.empty(300, np.uint8)
        core.generate_records(records.data, start=secrets.randbelow(10**6), skewed=False, threads=1)
        order = SortOrder(number=number, slices=1, layout=LAYOUT, files=files, memory_bytes=10**6)
        done = node_tasks.write_partition(records, order)
        driver.journal.record_finished(number, done.partition, done.summary)
        driver.done[number] = done.partition

    @rule(turn=st.integers(0, 1))
    def lose_a_partition_while_nobody_runs(self, turn: int) -> None:
        driver = self.drivers[turn]
        if driver.files is not None and driver.done and not self._names(driver.files.job):
            Path(driver.done[min(driver.done)].uri).unlink(missing_ok=True)
            driver.files = None  # the process has ended, too

    @rule(turn=st.integers(0, 1))
    def fail(self, turn: int) -> None:
        driver = self.drivers[turn]
        if driver.files is not None:
            is_result = publishing.may_be_published(driver.journal, driver.files.job, self.places)
            (node_tasks.clean if is_result else node_tasks.undo)(driver.files)
            self._end(driver)

    @rule(turn=st.integers(0, 1), replaces=st.booleans(), step=st.integers(0, 12), between=st.booleans())
    def finish(self, turn: int, replaces: bool, step: int, between: bool) -> None:
        """Publish; before a step the process is killed, or the other user publishes, too."""
        driver, other = self.drivers[turn], self.drivers[1 - turn]
        if driver.files is None:
            return

        def act() -> None:
            if not between:
                raise Crash
            if other.files is not None:
                self._finish(other, replaces=replaces)

        with self._before_step(step, act):
            try:
                self._finish(driver, replaces=replaces)
            except Crash:
                driver.files = None

    def _finish(self, driver: Driver, *, replaces: bool) -> None:
        assert driver.files is not None
        for number in set(range(PARTS)) - driver.done.keys():
            self._write(driver, driver.files, number)
        partitions = tuple(driver.done[number] for number in range(PARTS))
        dataset, there = Dataset(partitions=partitions, layout=LAYOUT, job=driver.files.job), self._job()
        try:
            source = self.request(driver).source
            publish(self.places, dataset, journal=driver.journal, nodes=self.nodes, replaces=replaces, source=source)
        except BadInputError:
            assert there or self._job(), "nobody is refused whose output is the first"
            node_tasks.undo(driver.files)
        self._end(driver)

    def _end(self, driver: Driver) -> None:
        driver.journal.end()
        driver.files, driver.done = None, {}

    @contextmanager
    def _before_step(self, step: int, act: Callable[[], None]) -> Iterator[None]:
        """Act before the step of this number, counting steps that change or read shared state."""
        left = [step]

        def stepping(call: Callable[..., Any]) -> Callable[..., Any]:
            def stepped(*arguments: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] == -1:
                    act()
                return call(*arguments, **options)

            return stepped

        with self.patch.context() as patch:
            for name in ("read_version", "put_if", "delete_file"):
                patch.setattr(shared_folder, name, stepping(getattr(shared_folder, name)))
            for name in ("record_replaced", "end"):
                patch.setattr(Journal, name, stepping(getattr(Journal, name)))
            yield

    def _job(self) -> str:
        return publishing.job_of(publishing.read_manifest_text(str(self.manifest)))

    def _names(self, job: str) -> bool:
        return self._job() == job

    @invariant()
    def foreign_files_are_as_they_were(self) -> None:
        assert all(path.read_bytes() == b"precious" for path in self.foreign)

    @invariant()
    def a_manifest_names_whole_files_of_one_job(self) -> None:
        if not self.manifest.exists():
            return
        dataset = dataset_of(json.loads(self.manifest.read_text()))
        assert len(dataset.partitions) == PARTS
        for partition in dataset.partitions:
            assert job_of_part(Path(partition.uri).name) == dataset.job
            summary, _ = content_of(LAYOUT).validate(partition, 1)
            assert f"{summary.checksum:x}" == partition.checksum

    @precondition(lambda self: not any(driver.journal.path.exists() for driver in self.drivers))
    @invariant()
    def nothing_is_left_of_jobs_that_are_over(self) -> None:
        left = {job_of_part(path.name) for path in (self.folder / "disk" / "out").iterdir()}
        assert left <= {"", "x", self._job()}


@pytest.mark.usefixtures("this_node")
def test_readers_see_one_result_or_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = settings(
        max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    run_state_machine_as_test(lambda: Publishing(tmp_path, monkeypatch), settings=short)


def manifest(job: str, *, replaced: str | None = None) -> publishing.Manifest:
    return publishing.Manifest.of(Dataset(partitions=(), job=job), replaced=replaced)


@pytest.fixture(params=["folder", "store"])
def uri(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "folder":
        return str(tmp_path / "new" / "manifest.json")
    store = MemoryStore()
    monkeypatch.setattr(object_store, "_store", lambda _: store)
    return "s3://bucket/out/manifest.json"


def test_the_first_result_stays(uri: str) -> None:
    assert publishing.put_manifest(uri, manifest("a")) is None
    assert publishing.put_manifest(uri, manifest("a")) is None, "the answer to the first call was lost"
    refusal = publishing.put_manifest(uri, manifest("b"))
    require(refusal, "another-result", uri)
    assert publishing.job_of(publishing.read_manifest_text(uri)) == "a"


def test_what_was_seen_is_replaced_and_nothing_else(uri: str) -> None:
    publishing.put_manifest(uri, manifest("a"))
    first = publishing.read_manifest_text(uri)
    assert publishing.put_manifest(uri, manifest("b", replaced=first)) is None
    assert publishing.put_manifest(uri, manifest("c", replaced=first)) is not None
    assert publishing.put_manifest(uri, manifest("a", replaced=first)) is not None, "its files may be gone"
    assert publishing.job_of(publishing.read_manifest_text(uri)) == "b"


def test_who_comes_between_look_and_write_wins(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = publishing.place_of(uri)
    put = place.put_if

    def put_after_another(where: str, content: bytes, *, expected_version: Any) -> bool:
        assert put(where, manifest("quick").content.encode(), expected_version=expected_version)
        return put(where, content, expected_version=expected_version)

    monkeypatch.setattr(place, "put_if", put_after_another)
    assert publishing.put_manifest(uri, manifest("slow")) is not None
    assert publishing.job_of(publishing.read_manifest_text(uri)) == "quick"


def test_other_objects_below_a_prefix_refuse_it(uri: str) -> None:
    prefix = uri.rpartition("/")[0]
    place = publishing.place_of(uri)
    publishing.require_unoccupied(prefix, "a")
    place.put_if(f"{prefix}/part-000000-a.csv", b"x", expected_version=None)
    publishing.require_unoccupied(prefix, "a")
    place.put_if(f"{prefix}/part-000000.csv", b"x", expected_version=None)
    with pytest.raises(BadInputError, match="not empty"):
        publishing.require_unoccupied(prefix, "a")
    publishing.put_manifest(uri, manifest("a"))
    publishing.require_unoccupied(prefix, "a")


def test_a_manifest_that_may_be_there_keeps_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> bool:
        raise IoFailureError("503 Slow Down")

    monkeypatch.setattr(shared_folder, "put_if", refuse)
    with refused("publishing-unknown", "out.json", "503", kind=publishing.PublishingUnknownError):
        publish(
            [ManifestPlace(uri=str(tmp_path / "out.json"))], Dataset(partitions=(), job="a"),
            journal=Journal(tmp_path / "j"), nodes=None, replaces=False, source=Dataset(partitions=()),  # type: ignore[arg-type]
        )  # fmt: skip


@pytest.mark.parametrize(("records", "kept"), [((0, 2, 0, 1), [1, 3]), ((0, 0), [0]), ((3,), [0])])
def test_files_without_records_are_deleted_and_not_named(
    this_node: Path, monkeypatch: pytest.MonkeyPatch, records: tuple[int, ...], kept: list[int]
) -> None:
    files = JobFiles(job="j", output="out")
    partitions = []
    for number, count in enumerate(records):
        path = Path(files.output_uri(number))
        path.parent.mkdir(exist_ok=True)
        path.touch()
        partitions.append(Partition(records=count, copies=(Copy(uri=str(path), node="node-1"),)))
    dataset = Dataset(partitions=tuple(partitions), job="j")
    nodes: Any = Nodes(["node-1"], monkeypatch)
    assert publishing.without_empty_files(nodes, dataset).partitions == tuple(partitions[number] for number in kept)
    assert sorted(this_node.rglob("part-*")) == sorted(Path(partitions[number].uri) for number in kept)


@pytest.mark.parametrize("changed", [{"partition_bytes": 2_000_000}, {"directory": "/mnt/other"}])
def test_other_options_begin_another_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    monkeypatch.setenv("PLANNER_NODE_DIRECTORY", str(tmp_path))
    nodes: Any = Nodes(["node-1"], monkeypatch)
    journal, events = Journal(tmp_path / "journal"), list[dict[str, Any]]()
    request = SortRequest(source=Dataset(partitions=()), output="out", partition_bytes=1_000_000)
    for now in (request, request, replace(request, **changed)):
        files, _ = open_job(now, nodes, journal, events.append, places=[])
        journal.begin(slice_records=1, splitting=split(b"", partitions=1, layout=LAYOUT), owner=["node-1"])
    assert [event["event"] for event in events] == ["anew"]
    assert files.directory == changed.get("directory", "")
