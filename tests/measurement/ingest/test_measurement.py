"""Files and the user together supply all facts needed of a measurement, or the error names the gap."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.measurement.ingest.ingest import read_measurements

DATA = Path(__file__).parent / "data"
USER_VALUES = {"instance_type": "i4i.4xlarge", "zone": "us-east-1a"}
FIO = json.loads((DATA / "fio_read.json").read_text())


@pytest.mark.parametrize(("files_are", "sigma"), [("repeats", "across_time"), ("instances", "across_instances")])
def test_several_files_tell_how_a_rate_varies(tmp_path: Path, files_are: str, sigma: str) -> None:
    paths = []
    for factor in (1, 2):
        document = json.loads((DATA / "fio_read.json").read_text())
        side = document["jobs"][0]["read"]
        for name in ("bw_bytes", "io_bytes", "total_ios"):
            side[name] *= factor
        side["bw_samples"], side["bw_dev"] = 6, side["bw_mean"] * 0.1
        paths.append(tmp_path / f"{factor}.json")
        paths[-1].write_text(json.dumps(document))
    (result,) = read_measurements(paths, user_values=USER_VALUES, mapping={}, files_are=files_are)
    sigmas = {name: getattr(result, f"{name}_sigma") for name in ("across_time", "across_instances", "within_run")}
    assert sigmas.pop(sigma) == pytest.approx(math.log(2) / math.sqrt(2), rel=1e-3)
    assert sigmas.pop("within_run") == pytest.approx(0.1, rel=0.01) and list(sigmas.values()) == [None]


def test_what_cannot_be_known_is_asked_for_by_name() -> None:
    with pytest.raises(BadInputError) as error:
        read_measurements([DATA / "iperf3_p4.json"], user_values={}, mapping={})
    assert error.value.details == (
        "instance_type: give --type",
        "zone: give --where",
        "placement_group: give --placement-group or --no-placement-group",
    )


def test_what_the_file_says_is_not_overruled(refusal: Callable[..., Any]) -> None:
    assert "says nodes 2, --nodes says 8" in refusal(DATA / "iperf3_p4.json", placement_group="no", nodes=8)


def test_a_file_given_twice_is_refused() -> None:
    with refused("repeated"):
        read_measurements([DATA / "fio_read.json"] * 2, user_values=USER_VALUES, mapping={})


def test_files_of_one_name_in_two_directories_are_two(tmp_path: Path) -> None:
    text = (DATA / "fio_read.json").read_text()
    paths = [tmp_path / node / "fio.json" for node in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(text)
    (result,) = read_measurements(paths, user_values=USER_VALUES, mapping={}, files_are="instances")
    assert result.instances == 2


def test_duplicate_rows_are_all_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "instance_type,quantity,bytes_per_s\na.large,network,1e9\nb.large,network,1e9\na.large,network,2e9\n"
    )
    with refused("repeated", "table.csv") as caught:
        read_measurements([table], user_values=USER_VALUES, mapping={})
    assert list(caught.value.details) == ["line 2, line 4: a.large, network"]


def test_two_files_of_two_instances(changed: Callable[..., Any]) -> None:
    def slower(document: dict[str, Any]) -> None:
        for name in ("bw_bytes", "io_bytes", "total_ios"):
            document["jobs"][0]["read"][name] /= 2
        document["timestamp"] -= 2 * 86400

    paths = [DATA / "fio_read.json", changed(FIO, slower)]
    with pytest.raises(BadInputError, match="--files-are instances, or --files-are repeats"):
        read_measurements(paths, user_values=USER_VALUES, mapping={})
    (result,) = read_measurements(paths, user_values=USER_VALUES, mapping={}, files_are="instances")
    assert result.bytes_per_s == pytest.approx(0.75 * FIO["jobs"][0]["read"]["bw_bytes"])
    assert (result.instances, result.repeats, result.period_days) == (2, 1, 2.0)
    assert result.source == "fio_read.json, changed.json"


def test_volumes_are_told_by_type_and_number(refusal: Callable[..., Any]) -> None:
    read = read_measurements(
        [DATA / "fio_read.json"], user_values={**USER_VALUES, "volume_type": "gp3", "volumes": 4}, mapping={}
    )
    assert [(m.volume_type, m.volumes, m.disks) for m in read] == [("gp3", 4, None)]
    with pytest.raises(BadInputError) as caught:
        read_measurements([DATA / "fio_read.json"], user_values={**USER_VALUES, "volume_type": "gp3"}, mapping={})
    assert caught.value.details == ("volumes: give --count",)


@pytest.mark.parametrize(
    ("file", "option", "values"),
    [
        ("iperf3_p4.json", "--volume", {"volume_type": "gp3", "placement_group": "no"}),
        ("iperf3_p4.json", "--disks", {"disks": 1, "placement_group": "no"}),
        ("fio_read.json", "--nodes", {"nodes": 2}),
        ("fio_read.json", "--placement-group", {"placement_group": "no"}),
        ("fio_read.json", "--column", {"mapping": {"zone": ("where", "")}}),
        ("fio_read.json", "--only", {"only": {"cloud": "aws"}}),
    ],
)
def test_what_says_nothing_of_any_file_is_refused(file: str, option: str, values: dict[str, Any]) -> None:
    of_tables: dict[str, Any] = {"mapping": values.pop("mapping", {}), "only": values.pop("only", {})}
    with refused("not-applicable", field=option):
        read_measurements([DATA / file], user_values={**USER_VALUES, **values}, **of_tables)


def test_volumes_say_nothing_of_a_network() -> None:
    values = {**USER_VALUES, "volume_type": "gp3", "volumes": 4, "placement_group": "no"}
    network, disk = read_measurements([DATA / "iperf3_p4.json", DATA / "fio_read.json"], user_values=values, mapping={})
    assert (disk.volume_type, disk.volumes) == ("gp3", 4)
    assert (network.volume_type, network.volumes, network.retransmits) == (None, None, 104)
