"""The suite's promise: a test is skipped only for lack of root or of a browser, by name and counted.

With `--strict-skips` only lack of root is an excuse. In parallel runs, tests that share something share a process.
"""

from __future__ import annotations

import csv
import gc
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from planner.cli import app

NEEDS_ROOT = "needs root: "
NEEDS_BROWSER = "needs a browser: "
TESTS = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

sys.path[:0] = [str(TESTS / "emulators"), str(TESTS / "helpers")]
pytest_plugins = ["approvals", "cloud_fixtures", "job_fixtures", "store_fixtures"]

# Continuous integration repeats the same examples each time; other runs try new ones. No example is timed.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")

# Hundreds of tests call the command line; building it again for each takes a tenth of a second of a processor.
app.build = cache(app.build)
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)  # type: ignore[attr-defined]

# A shell that starts the suite in the background makes it ignore Ctrl-C, and the tests' processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it

# Plans make millions of objects and hardly a cycle: the default collections take a tenth of the suite's time.
gc.set_threshold(100_000, 50, 100)

# The developer's own measurements, refreshed catalogs, settings and kept arrays must not affect the tests.
os.environ["PLANNER_MEASUREMENTS"] = os.devnull + "/none"
os.environ["PLANNER_CATALOGS"] = os.devnull + "/none"
os.environ["PLANNER_SETTINGS"] = os.devnull + "/none"
os.environ["PLANNER_CACHE"] = os.devnull + "/none"
os.environ.pop("COLUMNS", None)  # pytest-xdist sets it in its workers, not the user


@pytest.fixture(scope="session")
def swept() -> None:
    """Remove the emulated clusters of killed test runs. Each run has its own state directory, so the next cluster would
    not find them. Clusters whose process lives stay.
    """
    from planner.clusters.emulated.cluster import sweep
    from planner.errors import PlannerError

    with suppress(PlannerError):  # some belong to others and cannot be removed
        sweep(by_name=True)


def pytest_runtest_teardown() -> None:
    """Ignore broken pipes again, as Python does. `gnusort` lets them end its process, here that of the tests: a server
    whose client is killed would end it in a later test.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-skips", action="store_true", help="fail when a test skips that does not need root")
    parser.addoption("--write-goldens", action="store_true", help="write tests/golden as plans and texts are now")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    absent = {"needs_root": NEEDS_ROOT} if os.geteuid() else {}
    absent |= {} if any(map(shutil.which, BROWSERS)) else {"needs_browser": NEEDS_BROWSER}
    for item in items:
        if not _is_its_turn(item) and item.get_closest_marker("soak") is None:
            item.add_marker(pytest.mark.soak)
            item.add_marker(pytest.mark.quick)
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: _turn(_shared_by(item.nodeid)))
    for item in items:
        for name, reason in absent.items():
            for marker in item.iter_markers(name):
                item.add_marker(pytest.mark.skip(reason=reason + marker.kwargs["why"]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    from xdist.scheduler import LoadScopeScheduling

    class BySharing(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _shared_by(nodeid)

    config.option.loadscopereorder = False  # not by number: `_turn` knows the slow ones
    return BySharing(config, log)


CLOUDS = ("ec2", "gcp", "azure")


def _is_its_turn(item: pytest.Item) -> bool:
    """Return whether `make test` runs a cloud-independent test on this cloud: each such test runs on one cloud there,
    and on the others in the quick part of the soak.
    """
    cloud = getattr(item, "callspec", None) and item.callspec.params.get("cloud")
    if cloud not in CLOUDS or "EmulatedCloud" not in _text_of(str(item.path)):
        return True
    return CLOUDS.index(cloud) == crc32(item.originalname.encode()) % len(CLOUDS)


def _shared_by(nodeid: str) -> str:
    """Return the resource shared by the tests of one process: the machine's network namespaces, or Ray's cluster in
    them; a build of the C++ tests; the emulated EC2, or the other clouds, which take seconds to start; the plan, the
    browser and the charts of reports; or else their file.
    """
    file, _, test = nodeid.partition("::")
    if file.endswith("native/test_cpp.py"):
        return f"build {test.partition('[')[2].partition('-')[0].rstrip(']')}"
    text = _text_of(file)
    if "sort_cluster" in text or ("mark.needs_root" in text and "namespaces" in text):
        return "machine"
    if re.search("Emulated(Cloud|Ec2|Gcp|Azure)", text):
        return "ec2" if "ec2" in test or "EmulatedEc2" in text else "clouds"
    if "/report/" in file or "--html" in text:
        return "pages"
    return file


@cache
def _text_of(file: str) -> str:
    return (TESTS.parent / file).read_text("utf-8")


LONGEST_FIRST = (
    "machine", "build", "pages", "ec2", "clouds", "test_installed_wheel", "test_documents_run", "test_aws",
    "test_random_requests", "test_notebooks_run", "test_simulate", "test_simulation", "test_recommendation", "test_net",
    "test_lines", "test_long_lines", "test_local_faults", "test_most_data", "test_catalog_commands", "test_help",
)  # fmt: skip
"""Names (shared resources or files) whose tests take ten seconds of a processor or more."""


def _turn(shared: str) -> int:
    """Put the longest first, so that no process waits for another at the end."""
    name = Path(shared.partition(" ")[0]).stem
    return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.option.strict_skips and _skips_without_leave(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    unwanted = _skips_without_leave(config)
    excused = [str(report.longrepr) for report in _skips(config) if report not in unwanted]
    for want, reason in (("root", NEEDS_ROOT), ("a browser", NEEDS_BROWSER)):
        if count := sum(reason in text for text in excused):
            terminalreporter.write_line(f"{count} skipped for want of {want}")
    if config.option.strict_skips:
        for report in unwanted:
            terminalreporter.write_line(f"FAILED: skipped without leave: {report.nodeid}", red=True)


def _skips(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter else []


def _skips_without_leave(config: pytest.Config) -> list[pytest.TestReport]:
    excuses = [NEEDS_ROOT] if os.geteuid() else []
    excuses += [] if config.option.strict_skips else [NEEDS_BROWSER]
    return [report for report in _skips(config) if not any(excuse in str(report.longrepr) for excuse in excuses)]


CATALOG_HEAD = """title = "made for a test"
cloud = "aws"
currency = "USD"
default_region = "here"
prices_as_of = 2026-11-01
hours_per_month = 720
[sources]
made = { title = "made for a test" }
"""

PROVENANCE = {"evidence": "measured", "source": "made", "as_of": "2026-11-01"}

INSTANCE = {
    "family": "x", "vcpu": 16, "memory_bytes": 64 * 10**9, "local_disks": 4, "local_disk_bytes": 10**12,
    "local_disk_kind": "nvme", "network_baseline_bytes_per_s": 10**9, "volume_bytes_per_s": 5 * 10**8,
    "volumes_max": 8, "volume_link": "own", "placement_group": "yes", "current_generation": "yes",
}  # fmt: skip


@pytest.fixture
def make_catalog(tmp_path: Path) -> Callable[..., str]:
    """Write a catalog of made-up types and return its path.

    Each type overrides INSTANCE; `price` (None: unpriced), `read`, `write` and `both` set prices.csv and disks.csv.
    Further files are given as rows by name, such as `networks=[{...}]`.
    """

    def make(types: Mapping[str, Mapping[str, Any]], **files: list[dict[str, Any]]) -> str:
        directory = tmp_path / f"catalog-{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        (directory / "catalog.toml").write_text(CATALOG_HEAD)
        facts = ("price", "read", "write", "both")
        shapes = [
            {"instance_type": name, **INSTANCE, **{k: v for k, v in given.items() if k not in facts}}
            for name, given in types.items()
        ]
        _write_rows(directory / "instances.csv", shapes)
        prices = [
            {
                "instance_type": name,
                "region": "here",
                "pricing": "on-demand",
                "price_usd_per_hour": given.get("price", 1),
            }
            for name, given in types.items()
            if given.get("price", 1) is not None
        ]
        _write_rows(directory / "prices.csv", prices)
        modes = {"read": "read_only", "write": "write_only", "both": "simultaneous"}
        disks = [
            {"instance_type": name, "mode": mode, "bytes_per_s": given[fact], "aggregate": "mean", "method": "made"}
            for name, given in types.items()
            for fact, mode in modes.items()
            if given.get(fact) is not None
        ]
        for name, rows in {"disks": disks, **files}.items():
            if rows:
                _write_rows(directory / f"{name}.csv", rows)
        return str(directory)

    return make


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0] | PROVENANCE))
        writer.writeheader()
        writer.writerows({**PROVENANCE, **row} for row in rows)
