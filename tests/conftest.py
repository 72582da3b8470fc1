"""The suite's promise: only want of root skips a test, by name and counted; `--strict-skips` fails on any other."""

from __future__ import annotations

import os

import pytest

NEEDS_ROOT = "needs root: "


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-skips", action="store_true", help="fail when a test skips that does not need root")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() == 0:
        return
    for item in items:
        for marker in item.iter_markers("needs_root"):
            item.add_marker(pytest.mark.skip(reason=NEEDS_ROOT + marker.kwargs["why"]))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.option.strict_skips and _skips_without_leave(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    unwanted = _skips_without_leave(config)
    if excused := len(_skips(config)) - len(unwanted):
        terminalreporter.write_line(f"{excused} skipped for want of root")
    if config.option.strict_skips:
        for report in unwanted:
            terminalreporter.write_line(f"FAILED: skipped without leave: {report.nodeid}", red=True)


def _skips(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter else []


def _skips_without_leave(config: pytest.Config) -> list[pytest.TestReport]:
    return [report for report in _skips(config) if os.geteuid() == 0 or NEEDS_ROOT not in str(report.longrepr)]
