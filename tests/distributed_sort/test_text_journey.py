"""Lines of text sorted on a real Ray cluster, as one machine sorts them."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from refusals import refused

from planner.distributed_sort.dataset.dataset import Copy, CsvFormat, Dataset, Layout, Partition, TextFormat
from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
from planner.errors import BadInputError
from planner.native import core
from planner.sorting.records.keys import Key, parse_key
from planner.sorting.text.text_job import CsvColumns
from tests.marks import quick_soak

if TYPE_CHECKING:
    from conftest import SortCluster

TABLE = TextFormat(keys=(parse_key("2,2nr"), parse_key("1,1")), separator=",")


def rows(count: int, *, seed: int) -> bytes:
    """Return rows of a table, a fifth of them equal, with a line of 600 kB among them and no line end at the last."""
    chance = random.Random(seed)
    lines = [
        b"%d,%d,%s" % (chance.randrange(50), chance.randrange(10**6), b"x" * chance.randrange(80)) for _ in range(count)
    ]
    lines += [b"same,77"] * (count // 4) + [b"long,5," + b"y" * 600_000]
    chance.shuffle(lines)
    return b"\n".join(lines)


def written(cluster: SortCluster, name: str, texts: list[bytes], text: TextFormat) -> Dataset:
    """Write texts to the nodes in turn and return the dataset."""
    partitions = []
    for turn, content in enumerate(texts):
        node = 1 + turn % cluster.emulated.nodes.workers
        path = cluster.directory(node) / f"{name}-{turn}"
        path.write_bytes(content)
        copy = Copy(uri=str(path), node=cluster.emulated.nodes.name(node))
        partitions.append(Partition(records=len(content), copies=(copy,)))
    return Dataset(partitions=tuple(partitions), layout=Layout.of_text(text))


def expected(texts: list[bytes], text: TextFormat) -> bytes:
    whole = b"".join(part if part.endswith(b"\n") or not part else part + b"\n" for part in texts)
    return core.sorted_text(whole, text.order().for_core(), unique=text.unique)


def held(output: Dataset, *, copy: int = 0) -> bytes:
    return b"".join(Path(partition.copies[copy].uri).read_bytes() for partition in output.partitions)


@pytest.mark.parametrize("text", [TextFormat(), TABLE], ids=["lines", "columns"])
def test_the_output_is_that_of_one_machine(sort_cluster: SortCluster, tmp_path: Path, text: TextFormat) -> None:
    texts = [rows(60_000, seed=seed) for seed in range(3)] + [b"", b"\n", b"alone"]
    source = written(sort_cluster, "text-in", texts, text)
    output, report = sort_cluster.sort(source, tmp_path / "j", output="text", copies=2)
    assert held(output) == held(output, copy=1) == expected(texts, text)
    lines = sum(part.removesuffix(b"\n").count(b"\n") + bool(part) for part in texts)
    assert (report["records"], report["sorted"], report["data_bytes"]) == (lines, True, len(held(output)))
    dataset = json.loads(output.to_json())
    for copy in sort_cluster.do({"do": "validate", "dataset": dataset})["copies"]:
        assert copy["problems"] == []
        assert copy["validation"]["records"] == lines
        assert copy["validation"]["checksum"] == report["checksum"]
    assert report["partitions"] > 3
    assert report["largest_partition_bytes"] < 3 * 600_000 + 2 * len(held(output)) / report["partitions"]


def test_of_equal_keys_one_line_is_left(sort_cluster: SortCluster, tmp_path: Path) -> None:
    text = TextFormat(keys=(parse_key("1,1n"),), separator=",", unique=True)
    texts = [b"".join(b"%d,%d\n" % (number % 997, seed) for number in range(50_000)) for seed in range(3)]
    output, report = sort_cluster.sort(written(sort_cluster, "u", texts, text), tmp_path / "j", output="unique")
    assert [int(line.split(b",")[0]) for line in held(output).splitlines()] == list(range(997))
    assert (report["records"], report["duplicates"]) == (997, 0)


def csv_rows(count: int, *, seed: int) -> bytes:
    """Return rows whose second column has quotes, delimiters and newlines, some of them for tens of kilobytes."""
    chance = random.Random(seed)
    texts = ["plain", "a,b", "two\nlines", 'says ""so""', "\n" * 50, "z\n" * 20_000]
    values = (chance.choices(texts, weights=[9, 9, 9, 9, 9, 0.01])[0] for _ in range(count))
    return "".join(f'{chance.randrange(10**6)},"{value}"\n' for value in values).encode()


def test_rows_with_quoted_newlines_are_sorted_into_files_with_headers(
    sort_cluster: SortCluster, tmp_path: Path
) -> None:
    header = "number,text\n"
    text = TextFormat(keys=(Key(first_field=0, options="Ir"),), csv=CsvFormat(delimiter=",", columns=2, header=header))
    texts = [csv_rows(40_000, seed=seed) for seed in range(3)]
    output, report = sort_cluster.sort(written(sort_cluster, "csv-in", texts, text), tmp_path / "j", output="csv")
    parts = [Path(partition.uri).read_bytes() for partition in output.partitions]
    assert len(parts) >= 3
    assert b"".join(part.removeprefix(header.encode()) for part in parts) == expected(texts, text)
    assert {part.copies[0].offset for part in output.partitions} == {len(header)}
    assert (report["records"], report["sorted"]) == (120_000, True)
    again, _ = sort_cluster.sort(output, tmp_path / "j", output="csv-again", copies=2)
    assert b"".join(Path(part.uri).read_bytes()[len(header) :] for part in again.partitions) == expected(texts, text)


def packed_files(folder: Path, texts: list[bytes]) -> list[str]:
    """Write texts compressed with gzip and zstd in turn, where all nodes reach them."""
    folder.mkdir()
    for number, content in enumerate(texts):
        pack = zstandard.compress if number % 2 else gzip.compress
        (folder / f"{number}").write_bytes(pack(content[: len(content) // 3]) + pack(content[len(content) // 3 :]))
    return [str(folder)]


def test_compressed_files_are_sorted_as_plain_ones(sort_cluster: SortCluster, tmp_path: Path) -> None:
    texts = [rows(40_000, seed=seed) for seed in range(4)]
    source = lines_of(packed_files(tmp_path / "lines", texts), TABLE)
    assert all(partition.is_estimated for partition in source.partitions)
    output, report = sort_cluster.sort(source, tmp_path / "j", output="packed", copies=2)
    assert held(output) == expected(texts, TABLE)
    assert list(report["phases_s"])[:2] == ["decompress", "sample"]
    assert report["moved_bytes"]["input_read"] > sum(map(len, texts))
    assert not list(sort_cluster.directory(1).parent.rglob(".planner-sort-*"))

    header = "number,text\n"
    texts = [header.encode() + csv_rows(20_000, seed=seed) for seed in range(2)]
    columns = CsvColumns(keys=("number:int:desc",))
    source = rows_of(packed_files(tmp_path / "rows", texts), columns, unique=False)
    output, _ = sort_cluster.sort(source, tmp_path / "j", output="packed-csv")
    parts = [Path(partition.uri).read_bytes().removeprefix(header.encode()) for partition in output.partitions]
    assert source.layout.text is not None
    assert b"".join(parts) == expected([content.removeprefix(header.encode()) for content in texts], source.layout.text)


def test_damaged_files_are_all_named_and_nothing_is_left(sort_cluster: SortCluster, tmp_path: Path) -> None:
    sources = packed_files(tmp_path / "in", [random.Random(seed).randbytes(3_000_000) for seed in range(3)])
    for number in (0, 1):
        path = tmp_path / "in" / str(number)
        path.write_bytes(path.read_bytes()[:-2000])
    with refused("broken-compression", "in/0") as caught:
        sort_cluster.sort(lines_of(sources, TextFormat()), tmp_path / "j", output="damaged")
    assert "in/1: the zstd data end early" in str(caught.value.details)
    assert not list(sort_cluster.directory(1).parent.rglob(".planner-sort-*"))


def test_a_wrong_row_of_csv_is_named_with_its_file(sort_cluster: SortCluster, tmp_path: Path) -> None:
    text = TextFormat(keys=(Key(first_field=0),), csv=CsvFormat(delimiter=",", columns=2))
    texts = [b"1,a\n" * 1000 + b"2,b,c\n" + b"3,d\n" * 1000]
    with refused("bad-record", "wrong-0: row '2,b,c'", "3 fields"):
        sort_cluster.sort(written(sort_cluster, "wrong", texts, text), tmp_path / "j", output="wrong")


def test_nothing_but_empty_files(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = written(sort_cluster, "empty", [b"", b""], TextFormat())
    output, report = sort_cluster.sort(source, tmp_path / "j", output="none")
    assert (held(output), report["records"], report["sorted"]) == (b"", 0, True)


def once(act: Callable[[], object], *, phase: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that acts when a phase begins, once."""
    left = [act]

    def on_event(event: dict[str, Any]) -> None:
        if event["event"] == "progress" and event["phase"] == phase and left:
            left.pop()()

    return on_event


@pytest.mark.needs_root(why="finds a node's processes by its network namespace")
@quick_soak
@pytest.mark.parametrize("phase", ["map and shuffle", "sort and reduce"])
def test_killed_worker_processes_change_nothing(sort_cluster: SortCluster, tmp_path: Path, phase: str) -> None:
    texts = [rows(80_000, seed=seed) for seed in range(3)]
    source, killed = written(sort_cluster, "killed-in", texts, TABLE), list[int]()
    fault = once(lambda: killed.append(sort_cluster.kill(1, "ray::")), phase=phase)
    output, _ = sort_cluster.sort(source, tmp_path / "j", output=f"killed-{phase[:3]}", on_event=fault)
    assert killed[0] > 0
    assert held(output) == expected(texts, TABLE)


@pytest.fixture
def restarted(sort_cluster: SortCluster) -> Iterator[None]:
    yield
    sort_cluster.restart(3)


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="kills nodes in network namespaces")
@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize("phase", ["map and shuffle", "sort and reduce"])
def test_a_lost_node_changes_nothing_where_all_reach_the_text(
    sort_cluster: SortCluster, tmp_path: Path, phase: str
) -> None:
    texts = [rows(400_000, seed=seed) for seed in range(3)]
    source = written(sort_cluster, "lost-in", texts, TABLE)
    shared = tuple(replace(part, copies=(replace(part.copies[0], node=""),)) for part in source.partitions)
    fault = once(lambda: sort_cluster.lose(3), phase=phase)
    output, report = sort_cluster.sort(
        replace(source, partitions=shared), tmp_path / "j", output=f"lost-{phase[:3]}", on_event=fault
    )
    assert report["lost_nodes"] == ["node-3"]
    assert held(output) == expected(texts, TABLE)


@pytest.mark.soak
@pytest.mark.quick
@pytest.mark.needs_root(why="kills nodes in network namespaces")
@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize(
    ("phase", "group"),
    [("decompress", 16), ("sample", 16), ("map and shuffle", 16), ("map and shuffle", 2), ("sort and reduce", 16)],
)
def test_a_lost_node_changes_nothing_where_text_is_compressed(
    sort_cluster: SortCluster, tmp_path: Path, phase: str, group: int
) -> None:
    """Its text is lost, so another node decompresses these files again; also where coordinators order the tasks."""
    texts = [rows(200_000, seed=seed) for seed in range(6)]
    source = lines_of(packed_files(tmp_path / "in", texts), TABLE)
    fault, name = once(lambda: sort_cluster.lose(3), phase=phase), f"packed-{phase[:3]}-{group}"
    output, report = sort_cluster.sort(source, tmp_path / "j", output=name, on_event=fault, nodes_per_coordinator=group)
    assert report["lost_nodes"] == ["node-3"]
    assert held(output) == expected(texts, TABLE)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def made_unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("phase", "group", "fault"),
    [
        ("sample", 16, emptied),
        ("map and shuffle", 16, Path.unlink),
        ("map and shuffle", 16, made_unreadable),
        ("map and shuffle", 2, emptied),
    ],
)
def test_plain_text_that_becomes_bad_is_made_again(
    sort_cluster: SortCluster, tmp_path: Path, phase: str, group: int, fault: Callable[[Path], None]
) -> None:
    """Its node stays alive and continues; also where coordinators order the tasks."""
    texts = [rows(40_000, seed=seed) for seed in range(4)]
    source = lines_of(packed_files(tmp_path / "in", texts), TABLE)
    kinds = list[str]()

    def break_texts() -> None:
        plain = [path for path in sort_cluster.directory(1).parent.rglob("input-*") if path.is_file()]
        assert len(plain) == 4
        for path in plain[:2]:
            fault(path)

    on_fault, name = once(break_texts, phase=phase), f"bad-{phase[:3]}-{group}-{fault.__name__}"

    def on_event(event: dict[str, Any]) -> None:
        on_fault(event)
        kinds.append(event["event"])

    output, report = sort_cluster.sort(
        source, tmp_path / "j", output=name, on_event=on_event, nodes_per_coordinator=group
    )
    assert held(output) == expected(texts, TABLE)
    assert not report["lost_nodes"]
    assert report["moved_bytes"]["input_read"] > sum(map(len, texts))
    assert "unreadable" in kinds or phase == "sample"
    assert not list(sort_cluster.directory(1).parent.rglob(".planner-sort-*"))


def test_even_keys_are_for_records(sort_cluster: SortCluster, tmp_path: Path) -> None:
    source = written(sort_cluster, "even", [b"a\n"], TextFormat())
    with pytest.raises(BadInputError, match="without --uniform"):
        sort_cluster.sort(source, tmp_path / "j", output="even", uniform=True)
