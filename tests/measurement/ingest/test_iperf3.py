"""iperf3's files give one rate of a pair of nodes, and unusable ones give the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from approvals import Approve

DATA = Path(__file__).parent / "data"
IPERF = json.loads((DATA / "iperf3_p4.json").read_text())
IPERF_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "iperf3 failed: unable to connect": lambda d: d.update(error="unable to connect"),
    "did not finish": lambda d: d.update(end={}),
    "over UDP": lambda d: d["start"]["test_start"].update(protocol="UDP"),
    "no sum_received": lambda d: [d["end"].pop(name) for name in ("sum_received", "streams")],
    "a run of 0 s and 0 bytes": lambda d: d["end"]["sum_received"].update(bytes=0, seconds=0),
    "negative figure": lambda d: d["end"]["sum_received"].update(bytes=-5),
    "held back by target_bitrate 10000000": lambda d: d["start"]["test_start"].update(target_bitrate=10_000_000),
    # esnet/iperf#1159
    "(-F), at a disk's pace": lambda d: d["end"]["streams"][0].update(diskfile={"filename": "/data/x"}),
    "no interval above": lambda d: [i["sum"].update(bits_per_second=1e6) for i in d["intervals"]],
    "two units": lambda d: d["end"]["sum_received"].update(bits_per_second=d["end"]["sum_received"]["bytes"]),
}


def test_iperf3_parallel_streams_are_one_rate(read: Callable[..., Any]) -> None:
    (result,) = read(DATA / "iperf3_p4.json", placement_group="no")
    received = IPERF["end"]["sum_received"]
    assert result.bytes_per_s == pytest.approx(received["bytes"] / received["seconds"], rel=1e-3)
    assert (result.quantity, result.nodes, result.connections) == ("network", 2, 4)


def test_iperf3_reverse_and_both_directions(read: Callable[..., Any]) -> None:
    (back,) = read(DATA / "iperf3_reverse.json", placement_group="yes")
    assert "reverse" in back.method and back.placement_group == "yes"
    end = json.loads((DATA / "iperf3_bidir.json").read_text())["end"]
    (both,) = read(DATA / "iperf3_bidir.json", placement_group="no")
    ways = [end[name]["bits_per_second"] / 8 for name in ("sum_received", "sum_received_bidir_reverse")]
    assert both.bytes_per_s == min(ways)


@pytest.mark.parametrize("says", IPERF_FAULTS)
def test_bad_iperf3_files_say_why(says: str, changed: Callable[..., Any], refusal: Callable[..., Any]) -> None:
    assert says in refusal(changed(IPERF, IPERF_FAULTS[says]), placement_group="no")


def test_what_may_not_be_the_networks_rate_is_noted(
    changed: Callable[..., Any], read: Callable[..., Any], approve: Approve
) -> None:
    """A fixed window (esnet/iperf#198), and one address at both ends (#781)."""

    def between_two(document: dict[str, Any]) -> None:
        for pair in document["start"]["connected"]:
            pair.update(local_host="10.0.0.1", remote_host="10.0.0.2")

    def narrow(document: dict[str, Any]) -> None:
        between_two(document)
        document["start"].update(sock_bufsize=8192)

    (result,) = read(changed(IPERF, between_two), placement_group="no")
    assert not result.note
    (result,) = read(changed(IPERF, narrow), placement_group="no")
    approve(result.note)
    (result,) = read(DATA / "iperf3_p4.json", placement_group="no")
    approve(result.note)


def test_a_stream_of_events_is_the_run_that_it_tells(tmp_path: Path, read: Callable[..., Any]) -> None:
    events = [{"event": "start", "data": IPERF["start"]}]
    events += [{"event": "interval", "data": interval} for interval in IPERF["intervals"]]
    events += [{"event": "end", "data": IPERF["end"]}]
    path = tmp_path / "stream.json"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    (streamed,), (whole,) = read(path, placement_group="no"), read(DATA / "iperf3_p4.json", placement_group="no")
    assert (streamed.bytes_per_s, streamed.retransmits) == (whole.bytes_per_s, whole.retransmits)
    assert streamed.within_run_sigma == whole.within_run_sigma


def test_an_error_before_the_start_is_told(tmp_path: Path, refusal: Callable[..., str]) -> None:
    path = tmp_path / "refused.json"
    path.write_text('{"start": {}, "intervals": [], "end": {}, "error": "unable to connect to server"}')
    assert "iperf3 failed: unable to connect" in refusal(path)


def test_equal_names_of_both_directions_are_both_read(read: Callable[..., Any], tmp_path: Path) -> None:
    """iperf3 3.7 writes the sum of each direction as sum_received."""
    text = (DATA / "iperf3_bidir.json").read_text().replace("_bidir_reverse", "")
    path = tmp_path / "both.json"
    path.write_text(text)
    (told,) = read(DATA / "iperf3_bidir.json", placement_group="no")
    (both,) = read(path, placement_group="no")
    assert both.bytes_per_s == told.bytes_per_s and "both directions" in both.method


def test_a_run_of_so_many_bytes_that_ended_at_once_is_refused(
    changed: Callable[..., Path], refusal: Callable[..., str]
) -> None:
    """`iperf3 -n 10240` between two clouds, as posted: 14,080 bytes, counted until the receiver's end."""

    def shorten(document: dict[str, Any]) -> None:
        document["start"]["test_start"].update(duration=0, bytes=10_240)
        received = {"bytes": 14_080, "seconds": 0.251127, "bits_per_second": 448_537.99}
        document["end"]["sum_received"].update(received)

    assert "a run of 0.25 s and 1.41e+04 bytes; run iperf3 for a minute" in refusal(
        changed(IPERF, shorten), placement_group="no"
    )
