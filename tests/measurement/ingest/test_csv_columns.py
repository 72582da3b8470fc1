"""CSV of any columns: mapped, with units from exactly one place."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.measurement.ingest.csv_columns import parse_choices, parse_mapping, read_columns
from planner.measurement.ingest.measurement import Reading


def read(tmp_path: Path, text: str, *mapping: str) -> list[Reading]:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return read_columns(path, parse_mapping(mapping))


def test_our_own_column_names_need_no_mapping(tmp_path: Path) -> None:
    text = "instance_type,quantity,bytes_per_s,nodes,as_of\na.large,network,1e9,4,2026-01-02\n"
    (row,) = read(tmp_path, text)
    assert row == {
        "instance_type": "a.large", "quantity": "network", "bytes_per_s": 1e9, "nodes": 4,
        "as_of": date(2026, 1, 2), "source": "table.csv", "row": "line 2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("header", "cell", "mapping", "rate"),
    [
        ("speed", "250", "bytes_per_s=speed:MB/s", 250e6),
        ("speed", "250", "bytes_per_s=speed:MiB/s", 250 * 2**20),
        ("baseline_Gbps", "10", "bytes_per_s=baseline_Gbps", 1.25e9),
        ("disk_MBps", "100", "bytes_per_s=disk_MBps", 1e8),
        ("disk_MBps", "100", "bytes_per_s=disk_MBps:MB/s", 1e8),
        ("speed", "8 Gbit/s", "bytes_per_s=speed", 1e9),
    ],
)
def test_units_come_from_mapping_name_or_cell(
    tmp_path: Path, header: str, cell: str, mapping: str, rate: float
) -> None:
    (row,) = read(tmp_path, f"type,{header}\na,{cell}\n", mapping, "instance_type=type")
    assert row["bytes_per_s"] == pytest.approx(rate)
    assert row["instance_type"] == "a"


def test_a_wide_table_has_a_reading_and_a_writing_rate(tmp_path: Path) -> None:
    text = "cloud,instance_type,disks,instance_read_MBps,instance_write_MBps\naws,i3.large,1,653.9,215.1\naws,x,2,10,\n"
    rows = read(tmp_path, text)
    assert [(r["instance_type"], r["quantity"], r["bytes_per_s"]) for r in rows] == [
        ("i3.large", "read_only", pytest.approx(653.9e6)),
        ("i3.large", "write_only", pytest.approx(215.1e6)),
        ("x", "read_only", pytest.approx(1e7)),
    ]


@pytest.mark.parametrize(
    ("text", "mapping", "says"),
    [
        ("speed\n5\n", ("bytes_per_s=speed",), "no unit"),
        ("speed_MBps\n5\n", ("bytes_per_s=speed_MBps:Gbit/s",), "two units"),
        ("speed_MBps\n5 GB/s\n", ("bytes_per_s=speed_MBps",), "two units"),
        ("speed\n5 GB/s\n", ("bytes_per_s=speed:MB/s",), "two units"),
        ("speed\n-5\n", ("bytes_per_s=speed:MB/s",), "must be positive"),
        ("speed\n0\n", ("bytes_per_s=speed:MB/s",), "must be positive"),
        ("speed\nfast\n", ("bytes_per_s=speed",), "not a number"),
        ("speed\n5\n", ("bytes_per_s=speed:parsec",), "unknown unit"),
        ("speed\n5\n", (), "which column is the rate"),
        ("speed\n5\n", ("bytes_per_s=sped:MB/s",), "no column 'sped'. Did you mean speed"),
        ("speed,nodes\n5,two\n", ("bytes_per_s=speed:MB/s",), "column nodes: 'two'"),
        ("speed,as_of\n5,1.2.26\n", ("bytes_per_s=speed:MB/s",), "column as_of"),
        ("speed,x\n5\n", ("bytes_per_s=speed:MB/s",), "1 cells, the header has 2"),
        ("speed\n", ("bytes_per_s=speed:MB/s",), "no row has a rate"),
        ("speed\n5\n", ("bytes_per_s",), "write FIELD=COLUMN"),
        ("speed\n5\n", ("rate=speed",), "rate is no field"),
        ("speed\n5\n", ("nodes=speed:GB",), "only bytes_per_s takes a unit"),
    ],
)
def test_what_is_unclear_is_refused(tmp_path: Path, text: str, mapping: tuple[str, ...], says: str) -> None:
    with pytest.raises(BadInputError) as error:
        read(tmp_path, text, *mapping)
    assert says in str(error.value)


@pytest.mark.parametrize("name", ["MBps", "speed_MBps", "Rate (MB/s)"])
def test_the_only_column_with_a_unit_of_rates_is_the_rate(tmp_path: Path, name: str) -> None:
    assert [row["bytes_per_s"] for row in read(tmp_path, f"threads,{name}\n4,300\n")] == [300e6]
    with refused("no-rate", "which column is the rate", "for example --column bytes_per_s="):
        read(tmp_path, f"{name},other_GB/s\n300,5\n")


def test_every_bad_cell_is_listed_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as error:
        read(tmp_path, "speed\n5\n-1\nx\n", "bytes_per_s=speed:MB/s")
    assert len(error.value.details) == 2
    assert "table.csv:3" in error.value.details[0] and "table.csv:4" in error.value.details[1]


def test_rows_can_be_chosen_by_a_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("cloud,speed_MBps\naws,5\ngcp,bad\naws,7\n")
    mapping = parse_mapping(["bytes_per_s=speed_MBps"])
    assert [row["bytes_per_s"] for row in read_columns(path, mapping, parse_choices(["cloud=aws"]))] == [5e6, 7e6]
    with refused("no-rate"):
        read_columns(path, mapping, {"cloud": "oci"})
    with refused("unknown-column", "cloud"):
        read_columns(path, mapping, {"clod": "aws"})
    with pytest.raises(BadInputError, match="COLUMN=VALUE"):
        parse_choices(["aws"])
