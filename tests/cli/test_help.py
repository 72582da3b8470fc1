"""Every command's help starts with an example, and the examples work."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import typer.main
from pyarrow.parquet import write_table
from pyiceberg.catalog import load_catalog
from spark_events import CODECS, lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.cli.shell import completion
from tests.marks import QUICK_SOAK

FIO = Path(__file__).resolve().parent.parent / "measurement" / "ingest" / "data" / "fio_read.json"

CALLED_ELSEWHERE = {
    "bench net": "needs agents on other machines: tests/measurement/instruments/test_net.py",
    "bench disk": "fills disks: tests/cli/measure/test_bench.py",
    "bench sort": "takes long: tests/cli/measure/test_bench.py",
    "gnusort": "takes GNU sort's options: tests/cli/sort/test_gnusort.py",
    "run": "sorts a gigabyte: `make run`",
    "catalog refresh": "needs a cloud: tests/refresh",
    "cluster up": "rents machines: tests/provisioning",
    "cluster down": "needs a cluster: tests/provisioning",
    "cluster sweep": "needs a cloud: tests/provisioning",
    "serve": "stays until it is interrupted: tests/cli/service/test_serve.py",
    "emulate up": "stays until it is interrupted: tests/emulation",
    "emulate study": "takes minutes: tests/clusters/emulated/test_study.py",
    "emulate sweep": "touches what others emulate: tests/emulation",
    "cluster wheelhouse": "fetches wheels: tests/clusters/remote/test_wheelhouse.py",
    "cluster status": "reads the user's own state: tests/provisioning",
    "cluster attach": "needs a run: tests/clusters/runs/test_attach.py",
    "cluster smoke": "needs a cloud: tests/clusters/provisioning/test_smoke.py",
    "cluster run": "needs a run: tests/clusters/runs/test_reuse.py",
    "cluster exec": "needs a run: tests/clusters/runs/test_remote_command.py",
    "cluster open": "needs a run: tests/clusters/runs/test_access.py",
    "cluster fetch": "needs a run: tests/clusters/runs/test_cloud.py",
    "cluster wait": "needs a run: tests/clusters/runs/test_attach.py",
    "cluster logs": "needs a run: tests/clusters/runs/test_attach.py",
}
"""Commands whose example only has its options checked, with the reason and the tests that do call them."""


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from commands(subcommand, (*words, name))
    if not hasattr(command, "commands"):
        yield " ".join(words), command


COMMANDS = dict(commands(typer.main.get_command(build())))
EXAMPLES = [(name, example) for name, command in COMMANDS.items() for example in command.examples]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_starts_with_an_example_of_the_command(name: str) -> None:
    shown = CliRunner().invoke(build(), [*name.split(), "--help"]).stdout.split("\n\n")[1].strip()
    assert shown.startswith("Example: ")
    for example in COMMANDS[name].examples:
        words = shlex.split(example)
        assert words[: len(name.split()) + 1] == ["planner", *name.split()] or (words[0], name) == ("plan", "plan")


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_all_under_a_heading_or_none_is(name: str) -> None:
    headings = {
        p.name: getattr(p, "rich_help_panel", None) for p in COMMANDS[name].params if p.param_type_name == "option"
    }
    without = headings.keys() - {"help", "install_completion", "show_completion"}
    assert not (any(headings.values()) and [o for o in without if headings[o] is None])


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_options_of_examples_exist(name: str, example: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    own = takewhile(lambda word: word != "--", shlex.split(example))  # the rest is for another command
    assert {word.partition("=")[0] for word in own if word.startswith("--")} <= options


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with the files named in the examples, and its own profiles and measurements."""
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for data in ("PROFILES", "MEASUREMENTS"):
            patch.setenv(f"PLANNER_{data}", str(folder / data.lower()))
        (folder / "runs.csv").write_text(
            "instance_type,nodes,data_gb,runtime_s\ni4i.4xlarge,4,100,400\ni4i.4xlarge,8,100,230\n"
        )
        (folder / "query.csv").write_text("instance_type,nodes,data_gb\ni4i.4xlarge,6,100\n")
        (folder / "hosts.csv").write_text("type,vcpus,memory,disks\nold,16,64GiB,0\nnew,64,256GiB,0\nold,16,64GiB,0\n")
        (folder / "data.csv").write_text("2,b,x\n1,a,y\n")
        (folder / "sales.csv").write_text("time,amount\n2025-01-02,3\n2025-01-01,4.50\n")
        (folder / "nodes.csv").write_text("node,bytes_per_s\n" + "".join(f"n{i},{1000 + i}e6\n" for i in range(20)))
        shutil.copy(FIO, folder / "fio.json")
        shutil.copy(FIO.with_name("iperf3_p4.json"), folder / "iperf3.json")
        (folder / "app-20261101-0001.zstd").write_bytes(CODECS["zstd"](lines(small_job())))
        make_tables(folder)
        (folder / "logs").mkdir()
        for app in ("app-1", "app-2"):
            (folder / "logs" / app).write_bytes(lines(small_job(app)))
        for command in (
            "generate --records 1000 input.dat",
            "generate --records 1000 big.dat",
            "generate --lines --size 100kB app.log",
            "generate --records 1000 --start 1000 more.dat",
            "sort input.dat output.dat",
            "sort --lines --key-offset 5 --key-size 12 app.log sorted.log",
            "sort --format csv --key time:desc sales.csv sorted.csv.zst",
            "plan --data 1TB --model indy --out small.json",
            "plan --data 2TB --model indy --out large.json",
            "plan --data 1TB --model indy --save nightly.toml",
            "plan-log app-20261101-0001.zstd --ran-on 'm5.4xlarge x 4' --out advice.json",
            "run --data 1MB --model indy --out run.json",
            "calibrate runs.csv --model spark --name spark-emr",
        ):
            done = CliRunner().invoke(build(), shlex.split(command))
            assert done.exit_code == 0, f"{command}: {done.output}{done.exception!r}"
        yield folder


def make_tables(folder: Path) -> None:
    """Make a folder of Parquet, sorted by time in small files, and an Iceberg table in a catalog."""
    day = folder / "lake" / "events" / "day=2026-01-01"
    day.mkdir(parents=True)
    for begin in (0, 100, 200):
        times = pyarrow.array(range(begin, begin + 100), pyarrow.timestamp("s"))
        rows = pyarrow.table({"region": ["eu"] * 100, "event_time": times})
        write_table(rows, day / f"{begin}.parquet")
    (folder / "day.csv").write_text("column,low,high,count\nevent_time,1970-01-01,1970-01-01T00:01:00,40\n")
    catalog = load_catalog("default", uri="sqlite:///catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("sales")
    catalog.create_table(
        "sales.orders", schema=rows.schema.set(1, pyarrow.field("event_time", pyarrow.timestamp("us")))
    )


ON_A_CLUSTER = "--ray"
"""Examples with this option need a Ray cluster: tests/distributed_sort."""
OF_AN_ACCOUNT = "planner doctor --cloud aws --plan plan.json"
"""This example needs an account: tests/cli/measure/test_doctor.py."""
OF_AN_INTERRUPTED_SORT = "--resume"
"""Examples with this option: tests/sorting/consuming."""
TAKE_LONG = {"bench fleet", "scale"}
"""Commands whose example belongs to the soak's quick part."""
RUN = [
    pytest.param(name, example, id=example, marks=QUICK_SOAK if name in TAKE_LONG else ())
    for name, example in EXAMPLES
    if name not in CALLED_ELSEWHERE
    and example != OF_AN_ACCOUNT
    and not {ON_A_CLUSTER, OF_AN_INTERRUPTED_SORT} & set(example.split())
]


@pytest.mark.parametrize(("name", "example"), RUN)
def test_examples_work(desk: Path, name: str, example: str) -> None:
    words = shlex.split(example)
    if name == "generate":  # the same data as the example's, but less
        words = [{"10000000": "1000", "1GB": "100kB"}.get(word, word) for word in words]
    if (
        name in ("generate", "sort") and "--check" not in words
    ) or "--save" in words:  # the examples of a command write the same files
        words.append("--force")
    done = CliRunner().invoke(build(), words[1:] if words[0] == "planner" else words)
    assert done.exit_code == 0, f"{done.output}{done.exception!r}"
    assert done.output.strip()


def test_commands_listed_without_their_options_look_the_same() -> None:
    listed, whole = (CliRunner().invoke(build(listed=listed), ["--help"]).stdout for listed in (True, False))
    assert listed == whole
    options = [command.params for _, command in commands(typer.main.get_command(build(listed=True)))]
    assert not any(options)


def test_what_is_left_out_of_the_examples_exists() -> None:
    assert CALLED_ELSEWHERE.keys() <= COMMANDS.keys()


@pytest.mark.parametrize(
    ("offered", "begun", "expected"),
    [
        (completion.models, "ind", ["indy"]),
        (completion.models, "al", ["all"]),
        (completion.catalogs, "aws,gcp-20", ["aws,gcp-2014", "aws,gcp-2019"]),
        (completion.regions, "us-e", ["us-east-1", "us-east1", "us-east4", "us-east5"]),
        (completion.among(("cost", "time")), "t", ["time"]),
    ],
)
def test_shells_are_offered_what_there_is(offered: Any, begun: str, expected: list[str]) -> None:
    assert offered(begun) == expected


@pytest.mark.parametrize("words", [["plam"], ["catalog", "shw"], ["plan", "--modle", "indy"]])
def test_what_is_misspelt_is_answered_with_what_is_near(words: list[str]) -> None:
    done = CliRunner().invoke(build(), words)
    assert done.exit_code == 2
    assert "Did you mean" in done.output or "Possible options" in done.output


def test_colours_are_left_out_where_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in CliRunner().invoke(build(), ["models"]).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in CliRunner().invoke(build(), ["models"], color=True).stdout
