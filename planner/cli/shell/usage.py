"""Usage errors suggest the intended command, or an example of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import typer

from planner.schemas.wrong_words import option_meant

UsageError: Final[Any] = typer.BadParameter.__base__
"""Typer's error for words that a command does not take; it has no public name."""

_FILES: Final = {
    "simulate": "It plans what it simulates: give the options of the plan.",
    "run": "The cluster of a plan is rented with planner cluster up PLAN.json, and planner run --on RUN sorts there",
}
"""Where a file goes that a command without arguments is given."""

_UNCLEAR: Final = ("MissingParameter", "UsageError")
"""Errors without a suggestion of their own: a missing argument, and one too many."""

_MEANT: Final = {
    "status": ("bill", "cost", "costs", "list", "ls", "ps", "show", "spent"),
    "down": ("delete", "destroy", "rm", "stop", "terminate"),
    "up": ("create", "launch", "start"),
    "sweep": ("clean", "cleanup", "down", "gc", "leftovers", "list", "orphans", "prune", "status", "stop"),
    "attach": ("continue", "reattach", "resume"),
    "show": ("instances", "list", "ls", "price", "prices", "regions", "types"),
    "rank": ("cheapest", "filter", "find", "search", "sort", "top"),
    "plan": ("advise", "advice", "cost", "costs", "estimate", "recommend", "shuffle"),
    "validate": ("check", "valsort", "verify"),
    "generate": ("gen", "gensort"),
    "compare": ("diff", "versus"),
    "cluster logs": ("logs",),
    "explain-log": ("log", "spark"),
    "cluster up": ("create", "launch", "rent", "up"),
    "cluster up --dry-run": ("quota", "quotas"),
    "cluster status": ("bill", "history", "list", "ls", "ps", "runs", "spent", "status"),
    "plan --data 100TB --catalog aws-2014 --paper": ("paper", "papers", "record", "replay", "reproduce"),
    "cluster down": ("destroy", "down", "stop", "terminate"),
    "cluster sweep": ("clean", "cleanup", "gc", "leftovers", "orphans", "prune", "sweep"),
    "cluster attach": ("attach", "continue", "resume"),
    "bench disk": ("benchmark", "disk", "diskbench", "fio"),
    "bench net": ("iperf", "net", "network"),
    "catalog show": ("instances", "price", "prices", "regions", "show", "types"),
    "check": ("validate", "verify", "budget", "ci", "gate", "limits", "policy"),
    "export --to PLATFORM": ("databricks", "dataproc", "emr", "kubernetes", "platforms", "slurm", "terraform"),
    "plan --data 3TB --region A,B --show csv": ("by-region", "compare-regions"),
    "where": ("profile", "profiles"),
    "catalog refresh": ("refresh", "update"),
    "new": ("add", "create", "init", "make"),
    "table sort": ("compact", "optimise", "optimize", "rewrite", "z-order", "zorder"),
    "sort": ("cluster", "compact", "optimise", "optimize", "rewrite", "z-order", "zorder"),
    "look": ("delta", "describe", "detail", "iceberg", "info", "layout", "overlap", "show", "stats"),
    "price": ("cost", "costs", "estimate", "plan"),
}
"""Names of each command in other programs, or that users look for outside its group."""

_MOVED: Final = {
    "why-not": "planner why-not TYPE --data SIZE",
    "own": "planner own 'N x TYPE' --data SIZE",
    "most-data": "planner most-data --sort-deadline 60s",
    "export": "planner export --to PLATFORM --data SIZE",
    "from-log": "planner plan-log LOG",
    **dict.fromkeys(("ran-on", "app"), "planner plan-log LOG --ran-on 'm5.4xlarge x 4' --app ID"),
    **dict.fromkeys(
        ("simulate", "draws", "seed", "lose", "slow", "timeline"), "planner simulate --data SIZE; --help has the rest"
    ),
    "wide": "plan --show wide",
    "refresh": "planner catalog refresh --region REGION --public",
}
"""Options that `plan` had, and the command that answers their question."""

_NO_COMMANDS: Final = {
    **dict.fromkeys(
        ("config", "configure", "init", "preferences", "settings", "setup"),
        "settings are a file, ~/.config/planner/settings.toml: docs/catalogs.md#settings says what it takes",
    ),
    **dict.fromkeys(("auth", "credentials", "login"), "credentials are those of the cloud's own tools: planner doctor"),
    **dict.fromkeys(
        ("uninstall", "update", "upgrade"), "use what installed it: pip, pipx or uv; planner where lists what it stored"
    ),
    **dict.fromkeys(("about", "version"), "planner --version"),
    **dict.fromkeys(
        ("explain", "view", "why"), "plan --data SIZE --explain; planner report PLAN.json shows a kept plan"
    ),
    **dict.fromkeys(("help", "man", "usage"), "planner --help"),
}
"""Words that users try as commands and that are not commands, with where to find each."""


def with_example(error: Any, examples: Sequence[str], *, given: bool) -> Any:
    """Return the error with a description of the missing argument, and an example. Of several files the last is the
    missing one if any is `given`.
    """
    if type(error).__name__ == "NoSuchOption":
        return _with_option_meant(error, examples)
    if type(error).__name__ not in _UNCLEAR:
        return error
    parameter, arguments = getattr(error, "param", None), []
    if parameter is not None and parameter.param_type_name == "argument" and error.ctx is not None:
        arguments = [param for param in error.ctx.command.params if param.param_type_name == "argument"]
    if parameter is not None and len(arguments) > 1:
        error.param = arguments[-1 if given else 0]
    command = error.ctx.command.name if error.ctx is not None else ""
    about = [getattr(error.param, "help", "") or ""] if arguments else []
    about += [_FILES[command]] if command in _FILES and "extra argument" in error.message else []
    example = [f"For example: {examples[0]}"] if examples else []
    text = error.message and f"{error.message.rstrip('.')}."
    error.message = " ".join(filter(None, [text, *about, *example]))
    return error


def _with_option_meant(error: Any, examples: Sequence[str]) -> Any:
    """Suggest the command's own option for a newcomer's word, instead of options with similar spelling; without any of
    either show an example.
    """
    word = error.option_name.lstrip("-").partition("=")[0].lower()
    command = error.ctx.command if error.ctx else None
    options = {option for parameter in command.params for option in parameter.opts} if command else set()
    if command and command.name == "plan" and word in _MOVED:
        error.possibilities = None
        error.message = f"{error.message}. It is now: {_MOVED[word]}"
        return error
    if advice := option_meant(word, options):
        error.possibilities = None
        error.message = f"{error.message}.{advice}"
    elif "--temp-dir" in options and "--key" in options and not error.option_name.startswith("--"):
        error.possibilities = None
        error.message = f"{error.message}. `planner gnusort` takes GNU sort's options"
    elif examples and not error.possibilities:
        error.message = f"{error.message}. For example: {examples[0]}"
    return error


def intended_command(word: str, commands: Collection[str]) -> str:
    """Return the command of a group that other programs call `word`, or a replacement; '' for none."""
    if "plan" in commands and word in _NO_COMMANDS:
        return _NO_COMMANDS[word]
    called = (name for name, others in _MEANT.items() if word in others and word not in commands)
    return next((name for name in called if name.split()[0] in commands), "")
