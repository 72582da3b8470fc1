"""iperf3's JSON output: the network rate of a pair of nodes over TCP, with any number of streams, either direction."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from planner.errors import BadInputError
from planner.measurement.ingest.json_documents import day_of, number
from planner.measurement.ingest.measurement import LEAST_S, Reading
from planner.statistics.variance_components import within_runs

_OF_INTERVAL: Final = ("sum", "sum_bidir_reverse")
_LOOPBACK: Final = re.compile(r"127\.|::1$|localhost$|::ffff:127\.")
_MORE: Final = 1.2
_ROUNDING: Final = 1.1
"""Factor by which the receiver's clock may measure a shorter time than the interval's."""


def is_iperf3(document: dict[str, Any]) -> bool:
    """Return whether a parsed file is iperf3's."""
    start = document.get("start")
    if document.keys() == {"error"}:
        return True
    if not isinstance(start, dict):
        return False
    return "test_start" in start or "iperf" in str(start.get("version", "")) or {"intervals", "end"} <= document.keys()


def merge_stream(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents of a file; the events of each run of `iperf3 --json-stream` become the one document that
    `-J` writes. With `--json-stream-full-output` that document follows, and the events are left out.
    """
    events = [document for document in documents if {"event", "data"} <= document.keys()]
    others = [document for document in documents if document not in events]
    if any(map(is_iperf3, others)):
        return others
    runs: list[dict[str, Any]] = []
    for event in events:
        name, data = str(event["event"]), event["data"]
        if name == "start" or not runs:
            runs.append({"intervals": [], "end": {}})
        if name == "interval":
            runs[-1]["intervals"].append(data)
        else:
            runs[-1][name] = data
    return [*others, *runs]


def read_iperf3(path: Path, document: dict[str, Any]) -> Reading:
    """Return the reading of an iperf3 file: payload bytes/s as received, all streams together (the lower of both
    directions with --bidir).

    iperf3 3.7 writes the sums of both directions under one name. Raises BadInputError for a failed, unfinished or
    zero-length run, one over UDP, of files, rate-limited or through loopback, and a sum that no interval reached.
    """
    if document.get("error"):
        raise BadInputError(f"{path}: iperf3 failed: {document['error']}", code="tool-failed")
    start, end = document.get("start"), document.get("end")
    if not isinstance(start, dict):
        raise BadInputError(f"{path}: it does not say how iperf3 began; run iperf3 again", code="incomplete-output")
    test = start.get("test_start")
    if not isinstance(test, dict) or not isinstance(end, dict) or not end:
        raise BadInputError(f"{path}: the run did not finish; run iperf3 again", code="unfinished-run")
    if str(test.get("protocol", "TCP")).upper() != "TCP":
        raise BadInputError(f"{path}: measured over {test['protocol']}; a shuffle runs over TCP", code="not-tcp")
    _refuse_held_back(path, start, test)
    if any(_LOOPBACK.match(str(pair.get("remote_host"))) for pair in _pairs(start)):
        raise BadInputError(f"{path}: both ends are one machine (loopback); measure between two", code="loopback")
    if any("diskfile" in stream for stream in end.get("streams") or ()):
        raise BadInputError(
            f"{path}: a file was sent or written (-F), at a disk's pace; run iperf3 without -F", code="disk-paced"
        )
    sums = [value for name, value in end.items() if name.startswith("sum_received")] or _sum_streams(end)
    if not sums:
        raise BadInputError(f"{path}: no sum_received in it; was the run interrupted?", code="incomplete-output")
    _check_intervals(path, document, sums)
    _check_sent(path, end)
    streams = int(number(path, test, "num_streams"))
    return {
        "quantity": "network",
        "bytes_per_s": min(_rate(path, received) for received in sums),
        "nodes": 2,
        "connections": streams,
        "seconds": number(path, sums[0], "seconds"),
        "as_of": day_of((start.get("timestamp") or {}).get("timesecs")),
        "instances": 2,
        "repeats": 1,
        "aggregate": "mean",
        "within_run_sigma": _within_run(document),
        "retransmits": _retransmits(end),
        "method": _method(start, test, streams=streams, both=len(sums) > 1),
        "note": _note(start),
        "source": path.name,
    }


def _pairs(start: dict[str, Any]) -> list[dict[str, Any]]:
    return start.get("connected") or []


def _note(start: dict[str, Any]) -> str:
    """Return what may have kept the rate from being that of the network, as far as the file shows it."""
    limits = {"-w": start.get("sock_bufsize"), "-M": start.get("tcp_mss")}
    given = [f"{option} {size} bytes" for option, size in limits.items() if size]
    notes = [f"{' and '.join(given)} may have limited the rate"] if given else []
    if any(pair.get("remote_host") == pair.get("local_host", "") for pair in _pairs(start)):
        notes.append("both ends have one address, as within one machine")
    return "; ".join(notes)


def _sum_streams(end: dict[str, Any]) -> list[dict[str, float]]:
    """Return the received totals of all streams, where iperf3 did not add them up; nothing if a stream lacks them."""
    streams = [stream.get("receiver") or {} for stream in end.get("streams") or ()]
    names = ("bytes", "bits_per_second", "seconds")
    if not streams or any(not isinstance(stream.get(name), int | float) for stream in streams for name in names):
        return []
    whole = {name: float(sum(stream[name] for stream in streams)) for name in names}
    return [{**whole, "seconds": whole["seconds"] / len(streams)}]


def _refuse_held_back(path: Path, start: dict[str, Any], test: dict[str, Any]) -> None:
    """Raise BadInputError for a run with -b or --fq-rate: its rate is the requested one, not the network's."""
    limits = {name: test.get(name) or start.get(name) for name in ("target_bitrate", "fq_rate", "fqrate")}
    for name, limit in limits.items():
        if limit:
            raise BadInputError(
                f"{path}: held back by {name} {limit}; run iperf3 without -b and --fq-rate", code="held-back"
            )


def _check_intervals(path: Path, document: dict[str, Any], sums: list[Any]) -> None:
    """Raise BadInputError if every direction is faster than its fastest interval: iperf3 before 3.1 counts the data
    that --omit leaves out.
    """
    intervals = [interval.get(name) or {} for interval in document.get("intervals") or () for name in _OF_INTERVAL]
    fastest = max((float(interval.get("bits_per_second") or 0) / 8 for interval in intervals), default=0.0)
    least = min(_rate(path, received) for received in sums)
    if 0 < fastest * _ROUNDING < least:
        raise BadInputError(
            f"{path}: a sum of {least / 1e6:.4g} MB/s, and no interval above {fastest / 1e6:.4g}; use a newer iperf3",
            code="inconsistent-rate",
        )


def _check_sent(path: Path, end: dict[str, Any]) -> None:
    """Raise BadInputError if more was received than sent; a server may not report the sent bytes."""
    for name, received in end.items():
        sent = end.get(name.replace("sum_received", "sum_sent")) if name.startswith("sum_received") else None
        least = (sent or {}).get("bytes") or 0
        if least and number(path, received, "bytes") > _MORE * least:
            raise BadInputError(
                f"{path}: {received['bytes']:.4g} bytes received of {least:.4g} sent; run iperf3 again",
                code="incomplete-transfer",
            )


def _rate(path: Path, received: Any) -> float:
    moved, seconds = number(path, received, "bytes"), number(path, received, "seconds")
    if moved == 0 and seconds >= LEAST_S:
        raise BadInputError(
            f"{path}: this side received nothing; ingest the file of the other side", code="nothing-received"
        )
    if moved == 0 or seconds < LEAST_S:
        raise BadInputError(
            f"{path}: a run of {seconds:.2g} s and {moved:.3g} bytes; run iperf3 for a minute", code="too-short"
        )
    rate = number(path, received, "bits_per_second") / 8
    if abs(rate * seconds / moved - 1) > 0.05:
        raise BadInputError(
            f"{path}: bits_per_second {rate * 8:g} is not 8 x bytes/seconds; two units in one file?",
            code="inconsistent-rate",
        )
    return rate


def _retransmits(end: dict[str, Any]) -> int | None:
    """Return the retransmitted segments, both directions together; None where the system does not count them."""
    sums = [value for name, value in end.items() if name.startswith("sum_sent")]
    counts = [count["retransmits"] for count in sums if isinstance(count, dict) and "retransmits" in count]
    return sum(int(count) for count in counts) if counts else None


def _within_run(document: dict[str, Any]) -> float | None:
    """Return the variation of the rate from interval to interval, of the direction that iperf3 sums."""
    sums = [interval.get("sum", {}) for interval in document.get("intervals") or ()]
    rates = [interval.get("bits_per_second") for interval in sums if not interval.get("omitted")]
    return within_runs([[float(rate) for rate in rates if isinstance(rate, int | float)]])


def _method(start: dict[str, Any], test: dict[str, Any], *, streams: int, both: bool) -> str:
    way = "both directions" if both else "reverse" if test.get("reverse") else "forward"
    version = str(start.get("version", "iperf3"))
    return f"{version} TCP -P {streams}, {way}, {test.get('duration', '?')} s, received payload"
