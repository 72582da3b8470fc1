"""Logs damaged by a script in over 200 ways: reported with file and line, or read with a counted, named loss."""

from __future__ import annotations

import bz2
import json
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from approvals import Approve
from refusals import refused
from spark_events import CODECS, lines, small_job

from planner.errors import PlannerError
from planner.spark import log as spark_log

Damage = Callable[[random.Random], bytes]
WRONG_VALUES = (None, "x", -1, 1.5, True, [], {}, [1], {"a": 1}, 10**30, "NaN", 1e308)


def cut_anywhere(draw: random.Random) -> bytes:
    data = lines(small_job())
    return data[: draw.randrange(len(data))]


def cut_compressed(draw: random.Random) -> bytes:
    data = CODECS[draw.choice(list(CODECS))](lines(small_job(tasks=80)))
    return data[: draw.randrange(len(data))]


def flipped_compressed(draw: random.Random) -> bytes:
    data = bytearray(CODECS[draw.choice(list(CODECS))](lines(small_job(tasks=80))))
    for _ in range(draw.randint(1, 8)):
        data[draw.randrange(len(data))] ^= draw.randrange(1, 256)
    return bytes(data)


def reordered(draw: random.Random) -> bytes:
    events = small_job()
    draw.shuffle(events)
    return lines(events)


def repeated_and_missing(draw: random.Random) -> bytes:
    return lines([event for event in small_job() for _ in range(draw.choice((0, 1, 1, 2)))])


def noise_between(draw: random.Random) -> bytes:
    made = lines(small_job()).splitlines(keepends=True)
    for _ in range(draw.randint(1, 5)):
        made.insert(draw.randrange(len(made)), draw.randbytes(draw.randrange(1, 400)) + b"\n")
    return b"".join(made)


def wrong_type(draw: random.Random) -> bytes:
    """Give some fields, at any depth, a value of another type."""
    events = json.loads(json.dumps(small_job()))
    for _ in range(draw.randint(1, 6)):
        place = draw.choice(events)
        while True:
            key = draw.choice(list(place))
            if isinstance(place[key], dict) and place[key] and draw.random() < 0.8:
                place = place[key]
                continue
            place[key] = draw.choice(WRONG_VALUES)
            break
    return lines(events)


def absent_fields(draw: random.Random) -> bytes:
    events = json.loads(json.dumps(small_job()))
    for event in draw.sample(events, 5):
        inner = draw.choice([event, *(value for value in event.values() if isinstance(value, dict) and value)])
        inner.pop(draw.choice([key for key in inner if key != "Event"]), None)
    return lines(events)


def joined_and_split_lines(draw: random.Random) -> bytes:
    data = bytearray(lines(small_job()))
    for _ in range(3):
        place = draw.randrange(len(data))
        data[place : place + draw.randrange(2)] = draw.choice((b"\n", b"", b"\r\n", b"\0"))
    return bytes(data)


def other_json(draw: random.Random) -> bytes:
    other = [b"[]", b"3", b'"Event"', b'{"Event":7}', b'{"event":"x"}', b"null", b"[" * 5000, b'{"Event":"Unheard"}']
    made = lines(small_job()).splitlines() + draw.sample(other, 4)
    draw.shuffle(made)
    return b"\n".join(made)


DAMAGES: tuple[Damage, ...] = (
    cut_anywhere, cut_compressed, flipped_compressed, reordered, repeated_and_missing, noise_between, wrong_type,
    absent_fields, joined_and_split_lines, other_json,
)  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_told(tmp_path: Path, damage: Damage) -> None:
    for seed in range(25):
        path = tmp_path / f"log-{seed}"
        path.write_bytes(damage(random.Random(seed)))
        try:
            logs = spark_log.read(path)
        except PlannerError as error:
            assert str(path) in str(error)
            continue
        for application in logs.applications:
            assert application.tasks <= 160
            assert not any(stage.sums.input_bytes < 0 for stage in application.stages if damage is not wrong_type)
            for loss in application.losses:
                assert loss.count > 0
                assert str(path) in loss.first, loss
            application.stage_frame()


@pytest.mark.parametrize("seed", range(3))
def test_every_line_is_read_or_counted(tmp_path: Path, seed: int, approve: Approve) -> None:
    draw = random.Random(seed)
    made = lines(small_job()).splitlines()
    spoilt = sorted(draw.sample(range(7, len(made)), 6))
    for place in spoilt:
        made[place] = made[place][:-9]
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(made))
    application = spark_log.read(path).only()
    (loss,) = application.losses
    approve((loss.what, loss.count))
    assert loss.first == f"{path}, line {spoilt[0] + 1}"
    assert application.events == len(made) - 6


def test_a_wrong_field_names_itself_and_its_event_counts_not_at_all(tmp_path: Path) -> None:
    events = json.loads(json.dumps(small_job()))
    events[8]["Task Metrics"]["Input Metrics"]["Bytes Read"] = "many"
    path = tmp_path / "log"
    path.write_bytes(lines(events))
    application = spark_log.read(path).only()
    assert [str(loss) for loss in application.losses] == [
        f"1 x TaskEnd with a wrong field, first at {path}, line 9: Bytes Read is 'many', not a whole number"
    ]
    assert application.tasks == 15
    assert application.stages[0].running == 1  # it has a start event but no end event


@pytest.mark.parametrize("name", ["log.zstd", "log.lz4", "log.gz", "log.zip"])
def test_a_name_that_promises_another_compression_does_not_matter(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(lines(small_job()))
    assert spark_log.read(path).only().tasks == 16


def test_a_damaged_archive_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "log.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with refused("not-a-log", "log.zip", "archive", kind=PlannerError):
        spark_log.read(path)


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        (
            b'{"Event":"SparkListenerTaskEnd","Task Metrics":{"Updated Blocks":[' + b"{}," * 3_000_000 + b"{}]}}",
            "values",
        ),
        (b'{"Event":"' + b"a" * (65 << 20) + b'"}', "longer than 64 MiB"),
    ],
    ids=["many values", "long"],
)
def test_a_line_that_would_fill_the_memory_is_counted_and_not_read(tmp_path: Path, line: bytes, lost: str) -> None:
    made = lines(small_job()).splitlines()
    file = tmp_path / "app-1"
    file.write_bytes(CODECS["zstd"](b"\n".join([*made[:3], line, *made[3:]])))
    script = (
        "import resource, sys; from planner.spark import log\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        f"print(*log.read({str(file)!r}).only().losses)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert lost in done.stdout


def test_a_scope_nested_too_deeply_names_no_step(tmp_path: Path) -> None:
    job = small_job()
    for event in job:
        if event["Event"] == "SparkListenerStageSubmitted":
            event["Stage Info"]["RDD Info"] = [{"Name": "rdd", "Scope": "[" * 100_000}]
    (tmp_path / "app-1").write_bytes(lines(job))
    assert [stage.operators for stage in spark_log.read(tmp_path / "app-1").only().stages] == [("rdd",)] * 2


def test_a_log_whose_dictionary_fills_the_memory_is_refused(tmp_path: Path) -> None:
    large = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    (tmp_path / "app-1").write_bytes(lzma.compress(lines(small_job()), filters=large))
    with refused("not-a-log", "decompressing it takes 1024 MiB"):
        spark_log.read(tmp_path / "app-1")


def test_lzf_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "log.lzf"
    path.write_bytes(b"ZV\x01\x00\x10")
    with refused("not-a-log", "lzf", "zstd", kind=PlannerError):
        spark_log.read(path)


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "unfinished": (lambda data: data[: len(data) // 2], "the zstd data end early"),
    "damaged": (lambda data: data[:4] + b"\xff" * 20 + data[24:], "the zstd data are damaged"),
    "overwritten": (lambda data: bytes(len(data)), "no event of Spark in it"),
    "empty": (lambda _: b"", "empty"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_rolling_file_is_not_called_missing(tmp_path: Path, damage: str) -> None:
    events = small_job()
    for number, some in enumerate((events[:10], events[10:30], events[30:]), start=1):
        data = CODECS["zstd"](lines(some))
        (tmp_path / f"events_{number}_app-1.zstd").write_bytes(DAMAGES[damage][0](data) if number == 2 else data)
    logs = spark_log.read(tmp_path)
    (loss,) = logs.only().losses
    assert str(loss).startswith(
        f"1 x part of the log that cannot be read, first at events_2_app-1.zstd: {DAMAGES[damage][1]}"
    )
    assert not logs.passed_over


@pytest.mark.parametrize("damaged", ["events_2_app-1.compact", "events_1_app-1", "events_2_app-1.0"])
def test_a_damaged_file_takes_the_place_of_no_whole_one(tmp_path: Path, damaged: str) -> None:
    events = small_job()
    (tmp_path / "events_1_app-1.plain").write_bytes(lines(events[:20]))
    (tmp_path / "events_2_app-1.plain").write_bytes(lines(events[20:]))
    (tmp_path / damaged).write_bytes(CODECS["zstd"](lines(events))[:50])
    logs = spark_log.read(tmp_path)
    assert (logs.only().tasks, logs.losses) == (16, ())
    assert [other.name for other in logs.passed_over] == [damaged]


def test_a_rolling_log_of_damaged_files_stands_beside_a_whole_one(tmp_path: Path, approve: Approve) -> None:
    (tmp_path / "app-2").write_bytes(lines(small_job()))
    (tmp_path / "events_1_app-1.zstd").write_bytes(CODECS["zstd"](lines(small_job()))[:50])
    logs = spark_log.read(tmp_path)
    assert logs.only().tasks == 16
    approve([(other.name, other.reason) for other in logs.passed_over])


@pytest.mark.parametrize(
    ("name", "compress"), [("zstd", CODECS["zstd"]), ("gzip", CODECS["gz"]), ("bzip2", bz2.compress)]
)
def test_a_compressed_log_cut_in_its_first_block_is_not_called_empty(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "app-1.inprogress"
    path.write_bytes(compress(lines(small_job()))[:40])
    with refused("not-a-log", "app-1.inprogress", name, kind=PlannerError):
        spark_log.read(path)


def test_files_of_the_kernel_beside_a_log_are_not_waited_for(tmp_path: Path) -> None:
    """A read of the kernel's messages waits for the next one; like others there, the file says that it is empty."""
    (tmp_path / "app-1").write_bytes(lines(small_job()))
    (tmp_path / "empty").touch()
    (tmp_path / "messages").symlink_to("/proc/kmsg")
    logs = spark_log.read(tmp_path)
    reasons = {other.name: other.reason for other in logs.passed_over}
    assert reasons.keys() == {"empty", "messages"} and reasons["empty"] == reasons["messages"]
