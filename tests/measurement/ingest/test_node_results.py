"""Rates of single nodes from files: the values read, and every kind of bad file."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from refusals import refused

from planner.errors import BadInputError
from planner.measurement.ingest.node_results import median_rates, read_node_results


def read(tmp_path: Path, text: str) -> dict[str, dict[str, float]]:
    path = tmp_path / "nodes"
    path.write_text(text)
    return median_rates(read_node_results(path))


def test_csv_has_a_column_per_rate_and_blanks_are_unknown(tmp_path: Path) -> None:
    results = read(tmp_path, "node,read,net\na,1e9,5\nb,,6\n")
    assert results["net"] == {"a": 5.0, "b": 6.0}
    assert results["read"]["a"] == 1e9 and math.isnan(results["read"]["b"])


def test_json_is_the_same_by_node(tmp_path: Path) -> None:
    assert read(tmp_path, '{"a": {"net": 5}, "b": {"net": 6.5}}') == {"net": {"a": 5.0, "b": 6.5}}


def test_runs_of_a_node_count_as_their_median(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("node,run,net\na,1,5\na,2,9\na,3,6\nb,1,\nb,2,4\nc,1,\n")
    runs = read_node_results(path)
    assert runs["net"]["a"] == [5.0, 9.0, 6.0]
    results = median_rates(runs)["net"]
    assert (results["a"], results["b"]) == (6.0, 4.0) and math.isnan(results["c"])


def test_netbench_gives_the_nodes_of_its_largest_cluster(tmp_path: Path) -> None:
    node = [{"address": name, "bytes_per_s": rate} for name, rate in (("a:1", 5e8), ("b:1", 2e8), ("c:1", 5e8))]
    runs = [{"nodes": 2, "per_node": node[:2]}, {"nodes": 3, "per_node": node}]
    results = read(tmp_path, json.dumps({"instrument": "netbench", "runs": runs}))
    assert results == {"network_bytes_per_s": {"a:1": 5e8, "b:1": 2e8, "c:1": 5e8}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no column 'node'"),
        ("node,net\n", "no node with a figure"),
        ("host,net\na,1\n", "no column 'node' among host, net"),
        ("node,net\na,1\na,2\n", "'a' appears more than once"),
        ("node,net\na,1\na,2\n", "give repeated runs a column run"),
        ("node,run,net\na,1,1\na,1,2\n", "'a run 1' appears more than once"),
        ('{"instrument": "netbench", "runs": [{"nodes": 2}]}', "not as netbench writes it"),
        ("node,net\na,1,2\n", ":2: 3 cells, the header has 2"),
        ("node,net\na,-1\nb,fast\n", "2 problems"),
        ("node,net\na,inf\n", "'inf' is not a rate"),
        ('{"a": {"net": 5}', "was it cut off"),
        ("[1, 2]", "expected a JSON object"),
        ('{"a": 5}', "expected an object of nodes"),
        ('{"a": {"net": true}}', "True is not a rate"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BadInputError) as error:
        read(tmp_path, text)
    assert says in str(error.value)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="cannot be read"):
        read_node_results(tmp_path / "none.csv")


def test_what_a_node_is_is_no_metric(tmp_path: Path) -> None:
    assert set(read(tmp_path, "node,vcpu,mem_gib,zone,read_MBps\na,8,32,us-east-1a,950\nb,4,16,us-east-1b,940\n")) == {
        "read_MBps"
    }


SAMPLES = Path(__file__).parent / "data" / "samples"


def test_files_of_our_instruments_are_runs_of_the_hosts_that_they_name(tmp_path: Path) -> None:
    paths = []
    for day, host, factor in ((2, "a", 1.0), (1, "a", 2.0), (1, "b", 3.0)):
        document = json.loads((SAMPLES / "own-disk-read.json").read_text())
        document |= {"host": host, "measured_at": f"2026-11-0{day}T10:00:00"}
        document["rates"][0]["read_bytes_per_s"] = 1e8 * factor
        paths.append(tmp_path / f"{day}{host}.json")
        paths[-1].write_text(json.dumps(document))
    assert read_node_results(paths) == {"read_bytes_per_s": {"a": [2e8, 1e8], "b": [3e8]}}


def test_clients_of_fio_are_nodes_with_rates_and_latencies() -> None:
    results = read_node_results(SAMPLES / "fio-clients-in-turn.json")
    assert all(set(nodes) == {"node-1", "node-2"} for nodes in results.values())
    assert set(results) == {
        f"{name}_{figure}"
        for name in ("read_1M", "both_read_random_4K", "both_write_random_4K")
        for figure in ("bytes_per_s", "latency_p99_s")
    }


@pytest.mark.parametrize("name", ["ioping", "iperf3-one", "own-small-io", "own-sort", "fio-in-turn"])
def test_every_instrument_can_be_screened(name: str) -> None:
    assert all(rates for nodes in read_node_results(SAMPLES / f"{name}.json").values() for rates in nodes.values())


@pytest.mark.parametrize(
    "text",
    [
        "node,kernel,flavour,mb_s\na,5.10,x y,1\nb,5.10,x y,NA\n",
        " Node ,mb_s\na,1\nb,n/a\n",
        'mb_s,"node"\n1,a\n-,b\n',
        '[{"node": "a", "mb_s": 1}, {"node": "b", "mb_s": null}]',
        '{"node": "a", "mb_s": 1}\n{"node": "b", "mb_s": "nan"}\n',
    ],
)
def test_tables_as_other_tools_write_them(tmp_path: Path, text: str) -> None:
    """Labels without a number are not metrics; R, pandas and people each spell a missing figure in their own way."""
    path = tmp_path / "nodes"
    path.write_text(text)
    runs = read_node_results(path)
    assert list(runs) == ["mb_s"] and runs["mb_s"]["a"] == [1.0] and math.isnan(runs["mb_s"]["b"][0])


def test_columns_that_say_what_nodes_are_are_named_where_there_is_no_other(tmp_path: Path) -> None:
    path = tmp_path / "nodes"
    path.write_text("node,vcpu\na,4\n")
    with refused("no-figures", "vcpu"):
        read_node_results(path)
