"""Text options that `planner sort --ray` accepts, and requests it refuses before it looks for a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from approvals import Approve
from refusals import refused
from typer.testing import CliRunner

import planner
from planner.api.input_dataset import files_dataset
from planner.api.sort_on_ray import files_among, manifest_and_place, name_of
from planner.cli.app import build
from planner.distributed_sort.dataset import object_store
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, TextFormat, write_manifest
from planner.errors import BadInputError, IoFailureError
from planner.sorting.records.keys import parse_key
from planner.sorting.sort_job import InputFormat


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"b\na\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--lines --stable a.txt out.json", "--stable does not go with --ray"),
        ("--lines --file-size 1KB a.txt out.json", "a file of the output holds 1 MB at least"),
        ("--lines --threads 2 a.txt out.json", "--threads does not go with --ray"),
        ("--lines --key-offset 5 a.txt out.json", "--key-offset does not go with --ray"),
        ("--key 1,1 --merge a.txt out.json", "--merge does not go with --ray"),
        ("--key 1,1 --limit 3 a.txt out.json", "--limit does not go with --ray"),
        ("--key 0 a.txt out.json", "field number is zero"),
        ("--separator ab a.txt out.json", "--separator is one byte"),
        ("--lines a.txt out.json --more-output b.json", "--more-output does not go with --ray"),
        ("--lines nothing.txt out.json", "nothing.txt: no such file"),
        ("--lines a.txt s3://b/out --to s3://b/other", "OUTPUT s3://b/out and --to s3://b/other: say once"),
        ("--lines a.txt out.json --to ../up", "--to ../up: .. leads out of the nodes' disks"),
        ("a.txt out.json", "to sort text, say --lines, --key or --format csv"),
        ("a.txt a.txt out.json", "one INPUT"),
        ("--format csv a.txt out.json", "say which columns to sort by"),
        ("--format csv --key c a.txt out.json", "there is no column 'c'"),
        ("--format csv --key b -z a.txt out.json", "-z does not go with --format csv"),
        ("--format csv --key b --lines a.txt out.json", "--lines does not go with --format csv"),
        ("--lines --no-header a.txt out.json", "--no-header applies only with --format csv"),
        ("--key 0:8:u64le a.txt out.json", "field number is zero"),
        ("--format parquet --key b a.txt out.json", "no Parquet file"),
        ("--format parquet --key b -z a.txt out.json", "-z does not go with --format parquet"),
        ("--format parquet --key b nothing.txt out.json", "nothing.txt: no such file"),
    ],
)
def test_refused(folder: Path, words: str, reason: str) -> None:
    done = CliRunner().invoke(build(), ["sort", *words.split(), "--ray", "127.0.0.1:1"])
    assert isinstance(done.exception, BadInputError)
    assert reason in str(done.exception)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]


def test_the_layout_has_the_keys(folder: Path) -> None:
    dataset = files_dataset(InputFormat(key=["2,2n"], separator=",", unique=True), [str(folder / "a.txt")])
    assert dataset.layout.text
    order = dataset.layout.text.order()
    assert (order.keys, order.separator, order.unique) == ((parse_key("2,2n"),), b",", True)


def test_directories_and_prefixes_are_sources_of_parquet(folder: Path) -> None:
    sources = [folder / "a.txt", folder, Path("s3://bucket/prefix")]
    assert files_among(sources) == [folder / "a.txt"]
    assert [name_of(path) for path in sources[1:]] == [str(folder), "s3://bucket/prefix"]


def test_an_output_in_a_store_is_where_the_partitions_go(approve: Approve) -> None:
    messages: list[str] = []
    assert manifest_and_place(Path("s3://lake/day/sorted"), None, say=messages.append) == (
        Path("sorted.json"),
        "s3://lake/day/sorted",
    )
    approve(messages)
    assert manifest_and_place(Path("s3a://lake"), "s3://lake/", say=None) == (Path("lake.json"), "s3://lake")
    assert manifest_and_place(Path("s3a://b/x"), "s3a://b/x", say=None) == (Path("x.json"), "s3://b/x")
    assert manifest_and_place(Path("out.json"), "gs://b/x", say=None) == (Path("out.json"), "gs://b/x")


def test_an_output_that_is_a_link_to_nothing_is_refused(folder: Path) -> None:
    (folder / "out.json").symlink_to("/nowhere/out.json")
    with refused("dangling-link", "out.json"):
        planner.sort(folder / "a.txt", folder / "out.json", lines=True, ray="127.0.0.1:1")


@pytest.mark.parametrize(
    ("source", "output", "options"),
    [
        ("in", "in/out.json", {}),
        ("in/a.txt", "in/a.txt", {}),
        ("in", "out.json", {"directory": ".", "to": "in"}),
        ("in", "earlier.json", {}),
        ("earlier.json", "earlier.json", {}),
    ],
)
def test_an_output_among_the_inputs_is_refused(folder: Path, source: str, output: str, options: dict[str, str]) -> None:
    """The repeated sort would have its rows twice, or a manifest instead of its input."""
    for name in ("a.txt", "out.json", "part-000000-0123456789ab"):
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / name).write_bytes(b"b\na\n")
    partition = Partition(records=4, copies=(Copy(uri=str(folder / "in" / "part-000000-0123456789ab"), node="n"),))
    write_manifest(Dataset(partitions=(partition,), layout=Layout.of_text(TextFormat())), folder / "earlier.json")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with refused("output-among-inputs"):
        planner.sort(source, output, lines=True, ray="127.0.0.1:1", force=True, **options)
    with pytest.raises(IoFailureError, match="nothing listens there"):
        planner.sort(source, "new.json", lines=True, ray="127.0.0.1:1", force=True)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_columns_of_folders_that_text_does_not_get_are_told(folder: Path) -> None:
    messages: list[str] = []
    for name in ("plain/1.txt", "parted/day=1/1.txt"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(b"b\na\n")
        with pytest.raises(IoFailureError, match="nothing listens there"):
            planner.sort(
                folder / name.split("/")[0], folder / "o.json", lines=True, ray="127.0.0.1:1", say=messages.append
            )
    assert [text.split(",")[0] for text in messages] == ["note: folders name columns"]


@pytest.mark.parametrize(("source", "is_refused"), [("lake", True), ("lake/out", True), ("lake/raw", False)])
def test_an_output_among_the_inputs_in_a_store_is_refused(
    folder: Path, bucket: str, source: str, is_refused: bool
) -> None:
    for name in ("raw/a.txt", "out/part-000000-0123456789ab"):
        object_store.put_if(f"{bucket}/lake/{name}", b"b\na\n", expected_version=None)
    error, reason = (BadInputError, "among the inputs") if is_refused else (IoFailureError, "nothing listens there")
    with pytest.raises(error, match=reason):
        planner.sort(f"{bucket}/{source}", f"{bucket}/lake/out", lines=True, ray="127.0.0.1:1", force=True)
