"""`planner catalog check` finds every planted error in a copy of a shipped catalog, and none in the shipped one."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pytest
from approvals import Approve
from typer.testing import CliRunner

from planner.catalog import Finding, check_catalog
from planner.cli.app import build
from planner.config.paths import catalogs_directory
from planner.errors import BadInputError

TODAY = date(2026, 11, 21)
RUNNER = CliRunner()
Change = Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class Error:
    """A cell to spoil: in the first row of the file that begins with `row` and contains all of `also`."""

    kind: str
    file: str
    row: str
    column: str
    change: Change
    also: tuple[str, ...] = ()


def times(factor: float) -> Change:
    return lambda cell: f"{float(cell) * factor:.12g}"


def plus(amount: float) -> Change:
    return lambda cell: f"{float(cell) + amount:.12g}"


def becomes(value: str) -> Change:
    return lambda cell: value


def price(kind: str, row: str, change: Change, *, pricing: str = "on-demand") -> Error:
    return Error(kind=kind, file="prices", row=row, column="price_usd_per_hour", change=change, also=(pricing,))


def shape(kind: str, row: str, column: str, change: Change) -> Error:
    return Error(kind=kind, file="instances", row=row, column=column, change=change)


def network(kind: str, row: str, change: Change) -> Error:
    return shape(kind, row, "network_baseline_bytes_per_s", change)


def stated(kind: str, row: str, change: Change) -> Error:
    return Error(kind=kind, file="network_specs", row=row, column="baseline_bytes_per_s", change=change)


def limit(kind: str, row: str, column: str, change: Change) -> Error:
    return Error(kind=kind, file="volume_limits", row=row, column=column, change=change)


def disk(kind: str, row: str, change: Change, *, column: str = "bytes_per_s") -> Error:
    return Error(kind=kind, file="disks", row=row, column=column, change=change, also=("read_only",))


def further(kind: str, row: str, region: str, change: Change) -> Error:
    return Error(kind=kind, file="region_prices", row=row, column=region, change=change)


GIB_AS_GB = times(1.073741824)
MIB_AS_MB = times(1.048576)
IN_MB = times(1e-6)
BITS_AS_BYTES = times(8)

AWS = [
    price("another shape's price", "c6i.4xlarge", times(1.5)),
    price("price times ten", "m7g.2xlarge", times(10)),
    price("price in the wrong decimal", "r6i.8xlarge", times(0.1)),
    price("dedicated tenancy, 10%", "c7i.metal-24xl", times(1.1)),
    price("dedicated tenancy, 6%", "i7ie.metal-48xl", times(1.0649)),
    price("price of another region", "c6gn.8xlarge", times(1.128)),
    price("swapped digits", "m6i.4xlarge", becomes("0.786")),
    price("stale copy of another size", "r7g.4xlarge", becomes("0.4284")),
    price("outlier in its family", "m7a.8xlarge", times(1.05)),
    price("price without the disks", "m6id.24xlarge", becomes("4.608")),
    price("spot above on demand", "m5.large", becomes("99"), pricing="spot"),
    price("spot as on demand", "c5.2xlarge", becomes("0.34"), pricing="spot"),
    price("spot in cents", "r5.xlarge", times(0.01), pricing="spot"),
    shape("current family called previous", "c5.large", "current_generation", becomes("no")),
    shape("previous family called current", "m4.large", "current_generation", becomes("yes")),
    network("bits as bytes", "c6gn.4xlarge", BITS_AS_BYTES),
    network("total of two cards", "m6in.16xlarge", times(2)),
    network("larger size slower", "r5b.24xlarge", times(0.3)),
    shape("volumes of the largest size slower", "r7i.24xlarge", "volume_bytes_per_s", times(0.25)),
    shape("volumes in bits", "m7i.8xlarge", "volume_bytes_per_s", BITS_AS_BYTES),
    shape("operations of a smaller size", "c7g.16xlarge", "volume_iops", times(0.1)),
    shape("disks removed", "c6gd.4xlarge", "local_disks", becomes("0")),
    shape("disk in GiB", "i4i.8xlarge", "local_disk_bytes", GIB_AS_GB),
    shape("memory in MB", "m6a.12xlarge", "memory_bytes", IN_MB),
    shape("memory in MiB", "r6g.8xlarge", "memory_bytes", MIB_AS_MB),
    shape("virtual CPUs doubled", "c7i.12xlarge", "vcpu", times(2)),
    shape("virtual CPUs of arm doubled", "m8g.8xlarge", "vcpu", times(2)),
    shape("disks of twice the size in a family", "c6id.12xlarge", "local_disks", times(2)),
    shape("disk of half the size", "m6gd.2xlarge", "local_disk_bytes", times(0.5)),
    shape("disks of a type with accelerators", "g4dn.16xlarge", "local_disk_bytes", times(10)),
    shape("metal without its twin's memory", "c5n.metal", "memory_bytes", times(0.5)),
    shape("metal with fewer disks than its twin", "i4i.metal", "local_disks", times(0.5)),
    shape("metal with another network than its twin", "m7g.metal", "network_baseline_bytes_per_s", times(2)),
    shape("memory of a type with accelerators", "g6.16xlarge", "memory_bytes", times(10)),
    shape("volumes of another source", "i4g.large", "volume_bytes_per_s", times(2)),
    shape("processors of the only size", "hpc7a.24xlarge", "vcpu", times(2)),
    stated("baseline above the peak", "r6i.2xlarge", times(5)),
    disk("disks ten times slower", "i3en.24xlarge", times(0.1)),
    disk("disks of twice the size", "i7i.4xlarge", times(2)),
    disk("disks of half the size", "i4g.4xlarge", times(0.5)),
    disk("disks ten times faster", "i4g.16xlarge", times(10)),
    disk("operations of one disk", "i7ie.24xlarge", times(0.1), column="operations_per_s"),
    stated("bits as bytes of a further source", "m6g.16xlarge", BITS_AS_BYTES),
]
GCP = [
    price("another shape's price", "n2-standard-32", times(1.5)),
    price("price times ten", "c3-standard-44", times(10)),
    price("price in the wrong decimal", "e2-standard-8", times(0.1)),
    price("spot above on demand", "n2d-standard-16", becomes("99"), pricing="spot"),
    price("spot in cents", "c4-standard-24", times(0.01), pricing="spot"),
    price("price of another region", "n4-standard-16", times(1.1)),
    price("swapped digits", "c4-standard-48", becomes("2.732")),
    further("price of another region", "n2-standard-8", "europe-west3", times(0.9)),
    further("stale copy of another size", "c3d-standard-16", "us-east4", times(2)),
    further("accelerator in another currency", "g2-standard-8", "asia-northeast1", times(150)),
    further("price without the disks", "c4-standard-96-lssd", "us-east1", becomes("4.74408")),
    price("price without the disks", "c4a-standard-72-lssd", becomes("2.2")),
    network("bits as bytes", "c4a-standard-48", BITS_AS_BYTES),
    network("larger size slower", "c3d-standard-180", times(0.2)),
    network("a quarter of the other source", "n2-highmem-64", times(0.25)),
    stated("bits as bytes of a further source", "n4d-standard-64", BITS_AS_BYTES),
    shape("disks removed", "c4d-standard-96-lssd", "local_disks", becomes("0")),
    shape("disks removed from a high-density type", "z3-highmem-44-highlssd", "local_disks", becomes("0")),
    shape("disk in GiB", "c3d-standard-60-lssd", "local_disk_bytes", GIB_AS_GB),
    shape("memory in MB", "n2-highmem-16", "memory_bytes", IN_MB),
    shape("memory in MiB", "c4-standard-96", "memory_bytes", MIB_AS_MB),
    shape("memory of twice the size", "n4-highmem-16", "memory_bytes", times(2)),
    shape("virtual CPUs doubled", "n4-standard-32", "vcpu", times(2)),
    shape("disks of half the number", "c4a-standard-32-lssd", "local_disks", times(0.5)),
    shape("disk of another cloud's size", "z3-highmem-176-standardlssd", "local_disk_bytes", times(2)),
    disk("disks ten times slower", "z3-highmem-88-highlssd", times(0.1)),
    limit("volumes of the largest size slower", "n2-standard-80", "volume_bytes_per_s", times(0.1)),
    limit("operations in the wrong decimal", "n2d-standard-64", "volume_iops", times(0.1)),
]
AZURE = [
    price("Windows price", "Standard_D16s_v5", plus(0.046 * 16)),
    price("Windows price of a constrained size", "Standard_E16-4ds_v5", plus(0.046 * 16)),
    price("Windows price of a burstable size", "Standard_B8s_v2", plus(0.0046 * 8)),
    price("price of another region", "Standard_D64s_v5", times(1.15)),
    further("Windows price", "Standard_D8ads_v5", "westeurope", plus(0.046 * 8)),
    further("Windows price of a burstable size", "Standard_B16as_v2", "japaneast", plus(0.0046 * 16)),
    further("Windows price of the only burstable size of its shape", "Standard_B2ts_v2", "eastus2", plus(0.0046 * 2)),
    further("price of another region", "Standard_E8s_v5", "uksouth", times(0.94)),
    further("price of a month", "Standard_D96as_v5", "koreacentral", times(730)),
    further("spot price", "Standard_F16s_v2", "canadacentral", times(0.3)),
    price("price times ten", "Standard_F32s_v2", times(10)),
    price("price in the wrong decimal", "Standard_E8s_v5", times(0.1)),
    price("another shape's price", "Standard_L16s_v3", times(1.5)),
    stated("bits as bytes", "Standard_E32s_v5", BITS_AS_BYTES),
    stated("larger size slower", "Standard_D48s_v5", times(0.2)),
    network("bits as bytes of the L series", "Standard_L48s_v3", BITS_AS_BYTES),
    limit("volumes in bits", "Standard_E32ds_v5", "volume_bytes_per_s", BITS_AS_BYTES),
    limit("volumes of the largest size slower", "Standard_D96ds_v5", "volume_bytes_per_s", times(0.1)),
    limit("operations in the wrong decimal", "Standard_E64s_v5", "volume_iops", times(0.1)),
    shape("disks removed", "Standard_D8ds_v5", "local_disks", becomes("0")),
    shape("disks removed from another family", "Standard_E4ads_v5", "local_disks", becomes("0")),
    shape("disk in GiB", "Standard_L32s_v3", "local_disk_bytes", GIB_AS_GB),
    shape("memory in MB", "Standard_D32s_v5", "memory_bytes", IN_MB),
    shape("memory in MiB", "Standard_E20s_v5", "memory_bytes", MIB_AS_MB),
    shape("memory of twice the size", "Standard_D8s_v4", "memory_bytes", times(2)),
    shape("virtual CPUs doubled", "Standard_E8ads_v5", "vcpu", times(2)),
    shape("virtual CPUs of the constrained size", "Standard_D16s_v4", "vcpu", times(0.5)),
    shape("disk of half the size", "Standard_E32ads_v5", "local_disk_bytes", times(0.5)),
    shape("disks of another size", "Standard_L16as_v4", "local_disks", times(2)),
    disk("disks ten times slower", "Standard_L80s_v3", times(0.1)),
]
OCI = [
    price("another shape's price", "VM.Standard.E4.Flex-8", times(1.5)),
    price("price times ten", "VM.Standard3.Flex-16", times(10)),
    price("price in the wrong decimal", "VM.DenseIO.E5.Flex-16", times(0.1)),
    network("bits as bytes", "VM.Standard.E5.Flex-4", BITS_AS_BYTES),
    network("larger size slower", "VM.Standard.E6.Flex-16", times(0.2)),
    limit("volumes in bits", "VM.Standard3.Flex-8", "volume_bytes_per_s", BITS_AS_BYTES),
    shape("disks removed", "VM.DenseIO.E4.Flex-8", "local_disks", becomes("0")),
    shape("disk in GiB", "VM.DenseIO.E5.Flex-32", "local_disk_bytes", GIB_AS_GB),
    shape("disks of twice the size in a family", "VM.DenseIO.E5.Flex-24", "local_disks", times(2)),
    shape("memory in MB", "VM.Standard.E4.Flex-16", "memory_bytes", IN_MB),
    shape("memory in MiB", "VM.Standard.E5.Flex-16", "memory_bytes", MIB_AS_MB),
    shape("virtual CPUs doubled", "VM.Standard.E3.Flex-8", "vcpu", times(2)),
    disk("disks ten times slower", "VM.DenseIO.E5.Flex-48", times(0.1)),
]
PLANTED = {"aws": AWS, "gcp": GCP, "azure": AZURE, "oci": OCI}


def copied(cloud: str, directory: Path) -> Path:
    return Path(shutil.copytree(catalogs_directory() / cloud, directory / cloud))


def planted(directory: Path, error: Error) -> None:
    path = directory / f"{error.file}.csv"
    header, *rows = list(csv.reader(path.read_text().splitlines()))
    place = header.index(error.column)
    may_be_blank = error.file != "region_prices"
    row = next(r for r in rows if r[0] == error.row and set(error.also) <= set(r) and (may_be_blank or r[place]))
    before = row[place]
    row[place] = error.change(before)
    assert row[place] != before, error
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def found(findings: list[Finding], error: Error) -> bool:
    column = "price_usd_per_hour" if error.file == "region_prices" else error.column
    return any(
        (f.severity, f.file, f.row, f.column) == ("error", f"{error.file}.csv", error.row, column) for f in findings
    )


@pytest.mark.parametrize("cloud", PLANTED)
def test_every_planted_error_is_found(cloud: str, tmp_path: Path) -> None:
    directory = copied(cloud, tmp_path)
    for error in PLANTED[cloud]:
        planted(directory, error)
    findings = check_catalog(directory, today=TODAY)
    assert [error.kind for error in PLANTED[cloud] if not found(findings, error)] == []
    doubted = [f for f in findings if f.severity == "error"]
    assert all(f.line and f.value and f.reason and f.next_step for f in doubted)
    assert len(doubted) <= 1.5 * len(PLANTED[cloud]), "right rows are doubted because of wrong ones"


UNREADABLE = [
    price("price of zero", "{}", becomes("0")),
    price("price of words", "{}", becomes("two dollars")),
    shape("less than no memory", "{}", "memory_bytes", becomes("-1")),
    shape("row of another type twice", "{}", "instance_type", becomes("the first row's")),
]


@pytest.mark.parametrize("cloud", PLANTED)
def test_cells_that_no_row_may_hold_are_found(cloud: str, tmp_path: Path) -> None:
    directory = copied(cloud, tmp_path)
    _, *lines = (directory / "instances.csv").read_text().splitlines()
    names = [line.partition(",")[0] for line in lines]
    for error, name in zip(UNREADABLE, names[3:], strict=False):
        change = error.change if error.column != "instance_type" else becomes(names[0])
        planted(directory, replace(error, row=name, change=change))
    findings = [f for f in check_catalog(directory, today=TODAY) if f.severity == "error"]
    places = {(f.file, f.column) for f in findings if f.line and f.value and f.reason and f.next_step}
    assert {(f"{error.file}.csv", error.column) for error in UNREADABLE} <= places


def test_the_command_names_the_cell_and_ends_with_2(tmp_path: Path, approve: Approve) -> None:
    directory = copied("oci", tmp_path)
    planted(directory, OCI[1])
    outcome = RUNNER.invoke(build(), ["catalog", "check", f"{directory}", "--json"])
    assert isinstance(outcome.exception, BadInputError)
    assert outcome.exception.exit_code == 2
    (finding,) = [f for f in json.loads(outcome.stdout)["catalogs"][f"{directory}"] if f["severity"] == "error"]
    rows = (directory / "prices.csv").read_text().splitlines()
    line = next(number for number, row in enumerate(rows, start=1) if row.startswith(OCI[1].row))
    assert {key: finding[key] for key in ("file", "line", "row", "column")} == {
        "file": "prices.csv",
        "line": line,
        "row": "VM.Standard3.Flex-16",
        "column": "price_usd_per_hour",
    }
    approve(finding["reason"])
    assert "reviews.csv" in finding["next_step"]
    shown = RUNNER.invoke(build(), ["catalog", "check", f"{directory}"])
    assert f"prices.csv:{line}, VM.Standard3.Flex-16" in " ".join(shown.stdout.split())
