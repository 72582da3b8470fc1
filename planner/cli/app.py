"""The commands `planner` and `plan`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from planner.cli.shell.commands import DefaultGroup, PlannerCommand, PlannerGroup
from planner.cli.shell.console import exit_code_of, show_version
from planner.cli.shell.option_groups import ungrouped

_HELP = "Which cluster to rent to sort or shuffle terabytes, for how long and for how much; and the sort itself."


_COMMANDS: Final = {
    "plan": "plan.plan.plan",
    "why-not": "plan.type_questions.why_not",
    "own": "plan.type_questions.own",
    "sizes": "plan.sizes.sizes",
    "most-data": "plan.type_questions.most_data",
    "simulate": "plan.simulation.simulate",
    "plan-log": "logs.plan_log.plan_log",
    "compare": "plan.compare.compare",
    "export": "platforms.export.export",
    "check": "platforms.check.check",
    "serve": "service.serve.serve",
    "scale": "plan.scale.scale",
    "explain-log": "logs.explain_log.explain_log",
    "models": "plan.models.models",
    "storage": "plan.storage.storage",
    "run": "rent.run.run",
    "doctor": "measure.doctor.doctor",
    "report": "plan.report.report",
    "receipt": "logs.receipt.receipt",
    "schema": "plan.schema.schema",
    "where": "measure.where.where",
    "sort": "sort.sort.sort",
    "gnusort": "sort.gnusort_help.gnusort",
    "generate": "sort.generate.generate",
    "validate": "sort.validate.validate",
    "ingest": "measure.ingest.ingest",
    "screen": "measure.screen.screen",
    "calibrate": "plan.calibrate.calibrate",
    "predict": "plan.calibrate.predict",
}
"""Module in `planner.cli` and function of each command; a module is loaded when its command runs."""

_GROUPS: Final = {
    "catalog": (
        "Show, check, renew and make catalogs: instance types, prices, measurements.",
        {
            "show": "plan.catalog.catalog_show",
            "check": "plan.catalog.catalog_check",
            "new": "plan.catalog_new.catalog_new",
            "refresh": "plan.catalog_refresh.catalog_refresh",
            "rank": "plan.catalog_rank.catalog_rank",
            "measurements": "plan.catalog_measurements.catalog_measurements",
            "usable": "plan.catalog_rank.catalog_usable",
        },
    ),
    "cluster": (
        "Rent machines for a plan, see what runs, take it down.",
        {
            "up": "rent.cluster.cluster_up",
            "status": "rent.cluster.cluster_status",
            "run": "rent.cluster_run.cluster_run",
            "exec": "rent.cluster_exec.cluster_exec",
            "attach": "rent.cluster_follow.cluster_attach",
            "open": "rent.cluster_follow.cluster_open",
            "fetch": "rent.cluster_follow.cluster_fetch",
            "wait": "rent.cluster_follow.cluster_wait",
            "logs": "rent.cluster_follow.cluster_logs",
            "down": "rent.cluster.cluster_down",
            "sweep": "rent.cluster.cluster_sweep",
            "smoke": "rent.cluster_smoke.cluster_smoke",
            "wheelhouse": "rent.cluster.cluster_wheelhouse",
        },
    ),
    "table": (
        "Keep a table sorted: Delta, Iceberg, or a folder of Parquet. `planner table LOCATION` looks at one.",
        {
            "look": "tables.table.look",
            "price": "tables.table.price",
            "sort": "tables.table.sort",
            "check": "tables.table.check",
        },
    ),
    "bench": (
        "Measure this machine's disks and processors, and networks.",
        {
            "disk": "measure.bench.bench_disk",
            "net": "measure.bench.bench_net",
            "sort": "measure.bench.bench_sort",
            "fleet": "measure.bench_fleet.bench_fleet",
        },
    ),
    "emulate": (
        "Clusters emulated on this machine, their links capped.",
        {"up": "rent.emulate.emulate_up", "study": "rent.emulate.emulate_study", "sweep": "rent.emulate.emulate_sweep"},
    ),
}
_WITH_DEFAULT: Final = ("table",)
"""Groups whose first command needs no name."""


def main() -> None:
    """Entry point of `planner`."""
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    only = first if first in {*_COMMANDS, *_GROUPS} else None
    sys.exit(exit_code_of(build(only=only, listed=sys.argv[1:] == ["--help"])))


def plan_main() -> None:
    """Entry point of `plan`, which is `planner plan`."""
    single = typer.Typer(add_completion=True, pretty_exceptions_enable=False)
    _add(single, "plan", _COMMANDS["plan"])
    sys.exit(exit_code_of(single))


def build(*, only: str | None = None, listed: bool = False) -> typer.Typer:
    """Return the application with every command, or `only` with that command or group. Help that only lists the
    commands needs none of their options, which take a third of its time.
    """
    app = typer.Typer(help=_HELP, cls=PlannerGroup, pretty_exceptions_enable=False)
    app.callback()(_root)
    for name, function in _COMMANDS.items():
        if only in (None, name):
            _add(app, name, function, listed=listed)
    for name, (help_text, members) in _GROUPS.items():
        if only in (None, name):
            group = typer.Typer(help=help_text, cls=DefaultGroup if name in _WITH_DEFAULT else PlannerGroup)
            for member, function in members.items():
                _add(group, member, function, listed=listed)
            app.add_typer(group, name=name)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


def _add(app: typer.Typer, name: str, function: str, *, listed: bool = False) -> None:
    module, _, function_name = function.rpartition(".")
    command = getattr(import_module(f"planner.cli.{module}"), function_name)
    flat = _nothing if listed else ungrouped(command, panels=_headings(name))
    app.command(name, cls=PlannerCommand, help=inspect.getdoc(command))(flat)


def _nothing() -> None:
    """Stand for a command that is listed, not run."""


_REQUESTS: Final = ("plan", "why-not", "own", "sizes", "most-data", "simulate", "plan-log", "export")
"""Commands over the same request."""


def _headings(name: str) -> Mapping[str, Sequence[str]]:
    modules = {"run": "rent.run_options", "fleet": "measure.bench_fleet_options"}
    where = "plan.request_options" if name in _REQUESTS else modules.get(name)
    panels: Mapping[str, Sequence[str]] = import_module(f"planner.cli.{where}").PANELS if where else {}
    return panels


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Handle the options before a command."""
