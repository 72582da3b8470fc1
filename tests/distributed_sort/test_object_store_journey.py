"""Input and output in an S3-compatible store that fails now and then, over HTTP, from every node."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, TextFormat, dataset_of
from planner.errors import IoFailureError
from planner.native import core
from tests.distributed_sort.test_sort_journey import REDUCE, Once, generated
from tests.marks import quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

SERVER = Path(__file__).parents[1] / "emulators" / "s3_server.py"
RECORDS = 30_000
BUCKET = "s3://sorted"
ON_HEAD = """
import sys
import obstore
from obstore.store import from_url
store = from_url({bucket!r})
{code}
"""


class Store:
    """The server, and the tests' requests from the head, which alone reaches it besides the nodes."""

    def __init__(self, cluster: SortCluster, counted: Path) -> None:
        self._cluster = cluster
        self._counted = counted

    @property
    def faults(self) -> int:
        return int(self._counted.read_text()) if self._counted.exists() else 0

    def on_head(self, code: str, content: bytes = b"") -> bytes:
        words = self._cluster.emulated.command(0, sys.executable, "-c", ON_HEAD.format(bucket=BUCKET, code=code))
        return subprocess.run(
            words, env=self._cluster.emulated.environment(), input=content, stdout=subprocess.PIPE, check=True
        ).stdout

    def put(self, contents: dict[str, bytes]) -> list[Copy]:
        """Put objects by one process, since starting it takes longer than a put."""
        sizes = {name: len(content) for name, content in contents.items()}
        code = f"for name, size in {sizes!r}.items(): obstore.put(store, name, sys.stdin.buffer.read(size))"
        self.on_head(code, b"".join(contents.values()))
        return [Copy(uri=f"{BUCKET}/{name}") for name in contents]

    def sizes(self, prefix: str) -> dict[str, int]:
        code = f"for e in obstore.list(store, prefix={prefix!r}).collect(): print(e['path'], e['size'])"
        return {name: int(size) for name, size in (line.split() for line in self.on_head(code).decode().splitlines())}

    def get(self, *uris: str) -> bytes:
        """Return the content of objects, one after another."""
        names = [uri.removeprefix(f"{BUCKET}/") for uri in uris]
        return self.on_head(
            f"for name in {names!r}: sys.stdout.buffer.write(obstore.get(store, name).bytes().to_bytes())"
        )


@pytest.fixture(scope="module")
def store(sort_cluster: SortCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    counted = tmp_path_factory.mktemp("s3") / "faults"
    host, port = sort_cluster.store_address
    words = sort_cluster.emulated.command(0, sys.executable, str(SERVER), host, str(port), "7", str(counted))
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    made = f"""
import urllib.request
urllib.request.urlopen(urllib.request.Request("http://{host}:{port}/sorted", method="PUT"))
"""
    try:
        assert server.stdout is not None and int(server.stdout.readline()) == port, "it listens"
        subprocess.run(sort_cluster.emulated.command(0, sys.executable, "-c", made), check=True)
        yield Store(sort_cluster, counted)
    finally:
        server.kill()
        server.communicate()


def dataset_of_store(store: Store, call: str) -> Dataset:
    """Return the dataset that a call finds in the store from the head."""
    code = f"""
from planner.distributed_sort.dataset.table_dataset import tables_of
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.sorting.text.text_job import CsvColumns
from planner.distributed_sort.dataset.dataset import TextFormat
print({call}.to_json())
"""
    return dataset_of(json.loads(store.on_head(code)))


def test_tables_are_sorted_from_the_store_and_to_it(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    rows = pa.table({"k": [n * 7919 % 20_011 for n in range(20_000)], "t": ["text"] * 20_000})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=3000)
    store.put({"tables/day=1/a.parquet": sink.getvalue().to_pybytes(), "tables/_SUCCESS": b"x"})
    dataset = dataset_of_store(store, f"tables_of(['{BUCKET}/tables'], ['k:desc'])")
    assert [partition.groups for partition in dataset.partitions] == [(3000,) * 6 + (2000,)]
    output, report = sort_cluster.sort(dataset, tmp_path / "j", output=f"{BUCKET}/tables-sorted")
    assert all(partition.uri.endswith(".parquet") for partition in output.partitions)
    held = [pq.read_table(pa.BufferReader(store.get(partition.uri))) for partition in output.partitions]
    assert pa.concat_tables(held)["k"].to_pylist() == sorted(rows["k"].to_pylist(), reverse=True)
    (checked,) = sort_cluster.do({"do": "validate", "dataset": json.loads(output.to_json())})["copies"]
    assert (checked["problems"], checked["validation"]["checksum"]) == ([], report["checksum"])


@pytest.mark.soak
@pytest.mark.quick
def test_one_command_sorts_from_store_to_store(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"k": [n * 7919 % 20_011 for n in range(20_000)]}), sink)
    store.put({"events/a.parquet": sink.getvalue().to_pybytes()})
    words = ["--format", "parquet", "--key", "k:desc", f"{BUCKET}/events", f"{BUCKET}/events-sorted"]
    command = [sys.executable, "-m", "planner", "sort", *words, "--ray", sort_cluster.emulated.ray.address]
    done = subprocess.run(
        sort_cluster.emulated.command(0, *command),
        cwd=tmp_path,
        env=sort_cluster.emulated.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"the manifest of {BUCKET}/events-sorted is events-sorted.json, here" in done.stderr
    output = dataset_of(json.loads((tmp_path / "events-sorted.json").read_text()))
    held = [pq.read_table(pa.BufferReader(store.get(partition.uri))) for partition in output.partitions]
    assert pa.concat_tables(held)["k"].to_pylist() == sorted((n * 7919 % 20_011 for n in range(20_000)), reverse=True)


def test_csv_is_sorted_from_the_store_and_to_it(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    numbers = [n * 7919 % 20_011 for n in range(20_000)]
    parts = [b"".join(b'%d,"two\nlines"\n' % n for n in numbers[first::2]) for first in range(2)]
    store.put({f"csv/{number}.csv": b"k,t\n" + part for number, part in enumerate(parts)})
    dataset = dataset_of_store(store, f"rows_of(['{BUCKET}/csv'], CsvColumns(keys=('k:int:desc',)), unique=False)")
    assert [(part.records, part.copies[0].offset) for part in dataset.partitions] == [(len(part), 4) for part in parts]
    output, report = sort_cluster.sort(dataset, tmp_path / "j", output=f"{BUCKET}/csv-sorted")
    held = [store.get(partition.uri) for partition in output.partitions]
    assert all(part.startswith(b"k,t\n") for part in held)
    expected = b"".join(b'%d,"two\nlines"\n' % n for n in sorted(numbers, reverse=True))
    assert b"".join(part.removeprefix(b"k,t\n") for part in held) == expected
    assert report["records"] == 20_000


def stored(store: Store, name: str) -> tuple[Dataset, int]:
    """Put three partitions into the store; return the dataset and its checksum."""
    contents, checksum = {}, 0
    for number in range(3):
        records = np.empty(RECORDS * 100, np.uint8)
        core.generate_records(records.data, start=number * RECORDS, skewed=False, threads=1)
        checksum += core.validate_records(records.data).checksum
        contents[f"{name}/{number}"] = records.tobytes()
    partitions = [Partition(records=RECORDS, copies=(copy,)) for copy in store.put(contents)]
    return Dataset(partitions=tuple(partitions)), checksum


@pytest.mark.soak
@pytest.mark.quick
def test_round_trip_through_a_store_that_fails_now_and_then(
    sort_cluster: SortCluster, store: Store, tmp_path: Path
) -> None:
    source, checksum = stored(store, "in")
    before = store.faults
    output, report = sort_cluster.sort(source, tmp_path / "j", output=f"{BUCKET}/out")
    assert store.faults > before, "some requests failed and were repeated"
    assert report["moved_bytes"]["input_read"] == report["moved_bytes"]["output_written"] == source.bytes
    sizes = store.sizes("out")
    assert sizes == {
        partition.uri.removeprefix(f"{BUCKET}/"): partition.records * 100 for partition in output.partitions
    }
    whole = core.validate_records(store.get(*(partition.uri for partition in output.partitions)))
    assert (whole.records, whole.unordered, whole.checksum) == (source.records, 0, checksum)


def run(cluster: SortCluster, source: Dataset, journal: Path, **options: Any) -> dict[str, Any]:
    """Do a whole run on a dataset of the store."""
    whole = {"records": source.records, "copies": 1, "source": json.loads(source.to_json()), **options}
    return cluster.do({"do": "run", "request": whole, "journal": str(journal)})


@quick_soak
def test_sorted_in_place_from_store_to_store(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    """Nothing is staged; the input's checksum is computed while it is sorted."""
    source, checksum = stored(store, "place")
    done = run(sort_cluster, source, tmp_path / "j", output=f"{BUCKET}/in-place", in_place=True)
    assert (
        done["checksum"] == f"{checksum:x}" == done["validations"][0]["checksum"] and done["validations"][0]["sorted"]
    )
    assert done["staged"] == {} and list(done["steps_s"]) == ["connect", "sort", "validate"]
    assert done["sort"]["moved_bytes"]["input_read"] == source.bytes
    manifest = json.loads(store.get(done["manifest"]))
    assert manifest == done["dataset"] and done["manifest"] == f"{BUCKET}/in-place/manifest.json"
    assert set(store.sizes("in-place")) - {"in-place/manifest.json"} == {
        partition["copies"][0]["uri"].removeprefix(f"{BUCKET}/") for partition in manifest["partitions"]
    }


@quick_soak
def test_of_equal_lines_one_is_left_in_the_store(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    """The input's checksum is no use then: the output read back must be what the sort wrote, without equal keys."""
    lines = [b"%05d\n" % (n * 7919 % 5003) for n in range(20_000)]
    store.put({f"equal/{number}": b"".join(lines[number::3]) for number in range(3)})
    source = dataset_of_store(store, f"lines_of(['{BUCKET}/equal'], TextFormat(unique=True))")
    for in_place in (True, False):
        prefix = f"{BUCKET}/distinct-{in_place}"
        done = run(sort_cluster, source, tmp_path / "j", output=prefix, in_place=in_place, records=0)
        (validation,) = done["validations"]
        assert done["is_unique"] and done["records"] == validation["records"] == 5003
        assert (done["checksum"], validation["sorted"], validation["duplicates"]) == (validation["checksum"], True, 0)
        parts = [partition.uri for partition in dataset_of(json.loads(store.get(done["manifest"]))).partitions]
        assert store.get(*parts).splitlines() == sorted({line.strip() for line in lines})


@quick_soak
def test_what_follows_a_sort_of_rows_can_be_done_again(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    """As `planner cluster attach` does: the event alone suffices to validate rows and take them to the store."""
    rows = [b'%d,"two\nlines"\n' % (n * 7919 % 20_011) for n in range(20_000)]
    store.put({f"again/{number}": b"k,t\n" + b"".join(rows[number::3]) for number in range(3)})
    source = dataset_of_store(store, f"rows_of(['{BUCKET}/again'], CsvColumns(keys=('k:int',)), unique=False)")
    request = {"records": 0, "copies": 2, "source": json.loads(source.to_json()), "output": f"{BUCKET}/again-out"}
    events = list[dict[str, Any]]()
    first = sort_cluster.do({"do": "run", "request": request, "journal": str(tmp_path / "j")}, events.append)
    (event,) = (event for event in events if event["event"] == "sorted")
    store.on_head(f"obstore.delete(store, {first['manifest'].removeprefix(f'{BUCKET}/')!r})")
    done = sort_cluster.do({"do": "finish", "request": request, "sorted": event})
    assert done["dataset"] == first["dataset"] == json.loads(store.get(done["manifest"]))
    assert (done["records"], done["checksum"]) == (20_000, first["checksum"])
    assert {(part["records"], part["checksum"]) for part in done["validations"]} == {(20_000, first["checksum"])}


def disks_of(cluster: SortCluster) -> list[Path]:
    return [cluster.emulated.disk(node, number) for node in (1, 2, 3) for number in (0, 1)]


def test_staged_to_all_disks_and_out_again(sort_cluster: SortCluster, store: Store, tmp_path: Path) -> None:
    for disk in disks_of(sort_cluster):
        shutil.rmtree(disk / "input", ignore_errors=True)
    source, checksum = stored(store, "staged")
    done = run(sort_cluster, source, tmp_path / "j", output=f"{BUCKET}/staged-out", copies=2)
    assert list(done["steps_s"]) == ["connect", "stage in", "sort", "validate", "stage out"]
    assert [partition["checksum"] for partition in done["validations"]] == [f"{checksum:x}"] * 2
    assert {name: moved["bytes"] for name, moved in done["staged"].items()} == {
        "stage in": source.bytes, "stage out": source.bytes
    }  # fmt: skip
    held = [sum(path.stat().st_size for path in (disk / "input").iterdir()) for disk in disks_of(sort_cluster)]
    assert sum(held) == source.bytes and min(held) >= source.bytes / 12, "no disk without a fair share"
    assert json.loads(store.get(done["manifest"])) == done["dataset"]


@quick_soak
@pytest.mark.parametrize("in_place", [False, True])
def test_an_object_that_was_refused_once_is_read_again(
    sort_cluster: SortCluster, store: Store, tmp_path: Path, in_place: bool
) -> None:
    """The library does not ask again where access was denied, as happens for a moment when credentials are renewed."""
    lines = [b"%05d\n" % (n * 7919 % 20_011) for n in range(20_000)]
    names = ["plain", "once-refused"]
    folder = f"refused-{in_place}"
    copies = store.put({f"{folder}/{name}": b"".join(lines[turn::2]) for turn, name in enumerate(names)})
    parts = tuple(Partition(records=60_000, copies=(copy,)) for copy in copies)
    source = Dataset(partitions=parts, layout=Layout.of_text(TextFormat()))
    prefix = f"{BUCKET}/{folder}-out"
    done = run(sort_cluster, source, tmp_path / "j", output=prefix, in_place=in_place, records=0)
    written = [partition.uri for partition in dataset_of(json.loads(store.get(done["manifest"]))).partitions]
    assert store.get(*written) == b"".join(sorted(lines))


def test_output_that_cannot_be_taken_is_noticed_before_anything_else(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = Dataset(partitions=(Partition(records=1, copies=(Copy(uri=f"{BUCKET}/none"),)),))
    with pytest.raises(IoFailureError, match="cannot write s3://nobodys-bucket/out"):
        run(sort_cluster, source, tmp_path / "j", output="s3://nobodys-bucket/out")


def test_a_missing_object_is_named_and_no_output_is_left(
    sort_cluster: SortCluster, store: Store, tmp_path: Path
) -> None:
    source, _ = stored(store, "lacking")
    (copy,) = source.partitions[1].copies
    store.on_head("obstore.delete(store, 'lacking/1')")
    with pytest.raises(IoFailureError, match=f"cannot read {copy.uri}"):
        sort_cluster.sort(source, tmp_path / "j", output=f"{BUCKET}/none", uniform=True)
    assert store.sizes("none") == {}
    assert sort_cluster.forget(), "what is done stays for a call when the object is there"


def test_a_store_needs_no_second_copy(sort_cluster: SortCluster, tmp_path: Path) -> None:
    with refused("store-keeps-copies"):
        sort_cluster.sort(Dataset(partitions=()), tmp_path / "j", output=f"{BUCKET}/twice", copies=2)


BEGIN_UPLOADS = """
import boto3
s3 = boto3.client("s3", region_name="us-east-1")
for key in {keys!r}:
    begun = s3.create_multipart_upload(Bucket="sorted", Key=key)
    s3.upload_part(Bucket="sorted", Key=key, PartNumber=1, UploadId=begun["UploadId"], Body=b"some")
"""
LIST_UPLOADS = """
import boto3
s3 = boto3.client("s3", region_name="us-east-1")
for upload in s3.list_multipart_uploads(Bucket="sorted").get("Uploads", ()):
    print(upload["Key"])
"""


def test_a_sort_that_is_put_away_leaves_nothing_in_the_store(
    sort_cluster: SortCluster, store: Store, tmp_path: Path
) -> None:
    source, output, journal = generated(sort_cluster, "put-away-in"), f"{BUCKET}/put-away", tmp_path / "j"
    event = Once(lambda: os.kill(sort_cluster.driver(), signal.SIGKILL), phase=REDUCE, share=0.3)
    with pytest.raises(IoFailureError, match="run the same command again"):
        sort_cluster.sort(source, journal, output=output, on_event=event)
    job = json.loads(journal.read_text().splitlines()[0])["files"]["job"]
    assert store.sizes("put-away/")
    keys = [f"put-away/part-000900-{job}", "put-away/part-000900-other", f"elsewhere/part-000900-{job}"]
    store.on_head(BEGIN_UPLOADS.format(keys=keys))
    order = {"do": "abandon", "journal": str(journal), "manifest": str(tmp_path / "out.json"), "wait_s": 60}
    done = sort_cluster.do(order | {"forgets_absent": False, "request": {"output": output}}, lambda _: None)
    assert (done["uploads"], done["job"], done["absent_nodes"]) == (1, job, [])
    assert store.sizes("put-away/") == {}
    assert sorted(store.on_head(LIST_UPLOADS).decode().split()) == sorted(keys[1:])
