"""The commands `planner` and `plan`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from planner.cli.console import PlannerCommand, exit_code_of, show_version
from planner.cli.help_text import PlannerGroup
from planner.cli.option_groups import ungrouped

_HELP = "Which cluster to rent to sort or shuffle terabytes, for how long and for how much; and the sort itself."


_COMMANDS: Final = {
    "plan": "plan.plan",
    "compare": "compare.compare",
    "scale": "scale.scale",
    "explain-log": "explain_log.explain_log",
    "models": "models.models",
    "storage": "storage.storage",
    "run": "run.run",
    "doctor": "doctor.doctor",
    "report": "report.report",
    "sort": "sort.sort",
    "gnusort": "gnusort_help.gnusort",
    "generate": "generate.generate",
    "validate": "validate.validate",
    "ingest": "ingest.ingest",
    "screen": "screen.screen",
    "calibrate": "calibrate.calibrate",
    "predict": "calibrate.predict",
}
"""Each command with its module in `planner.cli` and its function: a module is loaded when its command is wanted."""

_GROUPS: Final = {
    "catalog": (
        "Show, check and renew the catalogs: instance types, prices, measurements.",
        {
            "show": "catalog.catalog_show",
            "check": "catalog.catalog_check",
            "refresh": "catalog_refresh.catalog_refresh",
            "rank": "catalog_rank.catalog_rank",
            "measurements": "catalog_measurements.catalog_measurements",
            "usable": "catalog_rank.catalog_usable",
        },
    ),
    "cluster": (
        "Rent machines for a plan, see what runs, take it down.",
        {
            "up": "cluster.cluster_up",
            "status": "cluster.cluster_status",
            "run": "cluster_run.cluster_run",
            "exec": "cluster_exec.cluster_exec",
            "attach": "cluster_follow.cluster_attach",
            "wait": "cluster_follow.cluster_wait",
            "logs": "cluster_follow.cluster_logs",
            "down": "cluster.cluster_down",
            "sweep": "cluster.cluster_sweep",
            "smoke": "cluster_smoke.cluster_smoke",
            "wheelhouse": "cluster.cluster_wheelhouse",
        },
    ),
    "bench": (
        "Measure this machine's disks and processors, and networks.",
        {
            "disk": "bench.bench_disk",
            "net": "bench.bench_net",
            "sort": "bench.bench_sort",
            "fleet": "bench_fleet.bench_fleet",
        },
    ),
    "emulate": (
        "Clusters emulated on this machine, their links capped.",
        {"up": "emulate.emulate_up", "study": "emulate.emulate_study", "sweep": "emulate.emulate_sweep"},
    ),
}


def main() -> None:
    """Entry point of `planner`."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    sys.exit(exit_code_of(build(only=first if first in {*_COMMANDS, *_GROUPS} else None)))


def plan_main() -> None:
    """Entry point of `plan`, which is `planner plan`."""
    single = typer.Typer(add_completion=True, pretty_exceptions_enable=False)
    _add(single, "plan", _COMMANDS["plan"])
    sys.exit(exit_code_of(single))


def build(*, only: str | None = None) -> typer.Typer:
    """Return the application with every command, or `only` with that command or group."""
    app = typer.Typer(help=_HELP, cls=PlannerGroup, pretty_exceptions_enable=False)
    app.callback()(_root)
    for name, function in _COMMANDS.items():
        if only in (None, name):
            _add(app, name, function)
    for name, (help_text, members) in _GROUPS.items():
        if only in (None, name):
            group = typer.Typer(help=help_text, cls=PlannerGroup)
            for member, function in members.items():
                _add(group, member, function)
            app.add_typer(group, name=name)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


def _add(app: typer.Typer, name: str, function: str) -> None:
    module, _, function_name = function.partition(".")
    command = getattr(import_module(f"planner.cli.{module}"), function_name)
    app.command(name, cls=PlannerCommand)(ungrouped(command, panels=_headings(name)))


def _headings(name: str) -> Mapping[str, Sequence[str]]:
    where = {"plan": "request_options", "run": "run_options", "fleet": "bench_fleet_options"}.get(name)
    panels: Mapping[str, Sequence[str]] = import_module(f"planner.cli.{where}").PANELS if where else {}
    return panels


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
