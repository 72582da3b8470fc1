"""Outputs of instruments that cannot be read, with the command to run instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from planner.errors import BadInputError

_FIO, _FIO_JSON = "fio in its place", "it with --output-format=json"
_IPERF, _JSON = "iperf3 in its place", "it with -J"
_OUTPUTS: Final = [
    (f"{name}; run {instead}", re.compile(pattern, re.MULTILINE))
    for name, instead, pattern in (
        ("fio's terse output", _FIO_JSON, r"^[2-5];fio-\d"),
        ("fio's log of samples, not its result", _FIO_JSON, r"\A(\d+, *\d+, *[0-2], *\d+(, *\d+)*\n)+\Z"),
        ("fio's output for people", _FIO_JSON, r"^(Run status group \d+|.*: \(groupid=\d+, jobs=\d+\))"),
        (
            "iperf 2's output", _IPERF,
            r"^(Client connecting to|Server listening on) .*(TCP|UDP) port|\A\d{14}[^,]{0,9},[\d.:a-f]+,\d+,|"
            r"^time,src_?address,",
        ),
        (
            "iperf3's output for people", _JSON,
            r"^\[ *(ID|\d+)\] +(Interval +Transfer|[\d.]+-[\d.]+ +sec )|^Server listening on \d",
        ),
        ("an error of iperf3", "it again", r"^iperf3: (error|interrupt)"),
        ("netperf's output", _IPERF, r"^(MIGRATED )?TCP \w+ .*TEST\b|^THROUGHPUT=|^Throughput,Throughput Units"),
        ("sockperf's output", _IPERF, r"^sockperf(:|\[)"),
        ("qperf's output", _IPERF, r"^(tcp|udp|sctp|rdma|rc|ud)_\w+:$"),
        ("dd's output, which leaves open what it moved", _FIO, r"^\d+ bytes .*(copied|transferred)\b"),
        ("hdparm's output", _FIO, r"^ *Timing (cached|buffered disk|O_DIRECT \w+) reads:"),
        (
            "bonnie++'s output", _FIO,
            r"^Version +[\d.]+ +-+ *Sequential|\A(format_version,|[\d.]+,[\d.]+,[^,]+,\d+,\d{9,10},)",
        ),
        ("DiskSpd's output", _FIO, r"^Command Line: .*diskspd"),
        ("IOzone's output", _FIO, r"Iozone: Performance Test"),
        ("sysbench's report of something else than files", "its fileio", r"^sysbench v?\d+\.\d"),
        (
            "ioping's output for people", _JSON,
            r" ioping statistics ---|^[\d.]+ [KM]?i?B? ?(<<<|>>>) .*: request=\d|\A(\d+( \d+){7,11}\n?)+\Z",
        ),
        ("a web page", "the instrument", r"\A\s*<(!doctype|!DOCTYPE|html)"),
    )
]  # fmt: skip


def refuse_other_outputs(path: Path, text: str) -> None:
    """Raise BadInputError for a known instrument's output in a form that cannot be read."""
    for advice, pattern in _OUTPUTS:
        if pattern.search(text):
            raise BadInputError(f"{path}: {advice}", code="other-output")
