"""Usage errors suggest the intended command, or an example of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import typer

UsageError: Final[Any] = typer.BadParameter.__base__
"""Typer's error for words that a command does not take; it has no public name."""

_UNCLEAR: Final = ("MissingParameter", "UsageError")
"""Errors without a suggestion of their own: a missing argument, and one too many."""

_MEANT: Final = {
    "status": ("list", "ls", "ps", "show"),
    "down": ("delete", "destroy", "rm", "stop", "terminate"),
    "up": ("create", "launch", "start"),
    "sweep": ("clean", "cleanup", "gc", "leftovers", "orphans", "prune"),
    "attach": ("continue", "reattach", "resume"),
    "show": ("instances", "list", "ls", "prices", "regions", "types"),
    "plan": ("advise", "advice", "cost", "costs", "estimate", "price", "recommend", "shuffle"),
    "validate": ("check", "valsort", "verify"),
    "generate": ("gen", "gensort"),
    "compare": ("diff", "versus"),
    "cluster logs": ("logs",),
    "explain-log": ("log", "spark"),
    "cluster up": ("create", "launch", "rent", "up"),
    "cluster up --dry-run": ("quota", "quotas"),
    "cluster status": ("list", "ls", "ps", "status"),
    "cluster down": ("destroy", "down", "stop", "terminate"),
    "cluster sweep": ("clean", "cleanup", "gc", "leftovers", "orphans", "prune", "sweep"),
    "cluster attach": ("attach", "continue", "resume"),
    "bench disk": ("benchmark", "disk", "diskbench", "fio"),
    "bench net": ("iperf", "net", "network"),
    "catalog show": ("instances", "prices", "regions", "show", "types"),
    "catalog refresh": ("refresh", "update"),
}
"""Names of each command in other programs, or that users look for outside its group."""

_OPTIONS_MEANT: Final = (
    ("--pricing", "--pricing spot", ("spot", "preemptible", "spot-instances", "use-spot")),
    ("--discount", "--discount 40%, the price that you pay for what is reserved", ("reserved", "savings-plan")),
    ("--own-price", "--own-price TYPE=0.95, --discount 15% or --assume price=0.95",
     ("hourly", "hourly-price", "list-price", "price", "prices", "rate", "usd-per-hour")),
    ("--budget", "--budget 200, the most that a run may cost; --objective cost asks for the cheapest",
     ("cost", "costs", "dollars", "max-budget", "max-cost", "max-price", "usd")),
    ("--pricing", "--pricing on-demand", ("no-spot", "ondemand", "on-demand")),
    ("--max-cost", "--max-cost 50", ("budget", "cost", "limit", "max-budget", "max-price", "max-usd")),
    ("--objective", "--objective cost", ("cheap", "cheapest", "minimize-cost")),
    ("--objective", "--objective time", ("fast", "fastest", "minimize-time")),
    ("--objective", "--objective cost, time or energy; `planner catalog rank --by` ranks types",
     ("by", "minimise", "minimize", "optimise", "optimize", "order-by", "rank", "rank-by", "sort-by")),
    ("--max-hours", "--max-hours 4h", ("hours", "max-time", "time-limit", "timeout")),
    ("--deadline", "--deadline 2h", ("duration", "hours", "max-hours", "minutes")),
    ("--deadline", "--deadline", ("max-time", "sla", "time", "time-limit", "within")),
    ("--max-vcpus", "--max-vcpus", ("quota", "vcpu", "vcpus", "cores", "cpus")),
    ("--instance", "--instance",
     ("instances", "type", "types", "instance-type", "machine", "machine-type", "machines", "vm")),
    ("--nodes", "--nodes", ("count", "machine-count", "n", "num-nodes", "workers")),
    ("--top", "planner own '20 x m5d.12xlarge'", ("mine", "my-machines", "own-machines", "owned")),
    ("--top", "the bill is that of one run, and 30 runs a month cost 30 times as much",
     ("daily", "every", "monthly", "nightly", "per-month", "runs", "runs-per-month", "schedule")),
    ("--region", "--region", ("location", "regions", "site", "where")),
    ("--cloud", "--cloud", ("clouds", "platform", "provider", "providers", "vendor")),
    ("--region", "--region; zones of it are chosen where machines are free", ("availability-zone", "az", "zone")),
    ("--instance", "--instance 'i4i.*'", ("families", "family")),
    ("--min-memory", "--set min-memory=64GiB", ("mem", "memory", "ram")),
    ("--input", "--input", ("from", "in", "source", "src")),
    ("--output", "--output", ("dest", "destination", "target", "to")),
    ("--explain", "--explain, --show wide or --rejected", ("details", "long", "verbose", "why")),
    ("--dir", "--dir", ("disk", "directory", "folder", "mount", "path")),
    ("--type", "--type", ("instance", "instance-type", "machine-type")),
    ("--where", "--where", ("location", "region", "zone")),
    ("--throughput", "--throughput", ("bandwidth", "mbps", "rate")),
    ("--records", "--records", ("count", "lines-count", "n", "number", "rows")),
    ("--start", "--start", ("offset", "seed")),
    ("--checksum", "--checksum", ("crc", "hash", "md5", "sum")),
    ("--compress", "--compress", ("compression", "gzip", "zstd")),
    ("--stable", "--key 1,1r", ("desc", "descending", "reverse")),
    ("--stable", "--key 1,1n", ("numeric", "numeric-sort")),
    ("--no-header", "--no-header; a first row of names is taken for granted", ("header",)),
    ("--more-output", "planner sort INPUT OUTPUT, the result's name without an option", ("o", "out", "output")),
    ("--top", "--top", ("limit", "max-results", "number")),
    ("--yes", "--yes", ("assume-yes", "no-confirm", "no-input", "y")),
    ("--force", "--force", ("overwrite", "replace")),
    ("--dry-run", "--dry-run", ("check", "preview", "simulate", "what-would-happen")),
    ("--memory", "--memory", ("buffer-size", "mem", "ram")),
    ("--threads", "--threads", ("cores", "cpus", "jobs", "parallel", "workers")),
    ("--temp-dir", "--temp-dir", ("scratch", "temp", "temporary-directory", "tmp", "tmpdir")),
    ("--top", "prices are US dollars", ("currency", "eur", "euro")),
    ("--html", "--html, a page that every browser prints as PDF", ("pdf", "page", "report")),
    ("--chart", "--chart FILE.png, for a slide",
     ("charts", "figure", "graph", "picture", "plot", "plots", "png", "pptx", "slide", "slides", "svg")),
    ("--show", "--json, --show csv or --show markdown",
     ("format", "o", "output-form", "output-format", "output-type", "style")),
    ("--show", "--show csv", ("csv", "tsv")),
    ("--show", "--show markdown", ("markdown", "md")),
    ("--out", "--out", ("save", "output-file", "output-json")),
    ("--out", "planner compare FIRST.json SECOND.json, of plans that --out wrote", ("compare", "diff", "versus")),
    ("--detach", "planner cluster attach RUN", ("attach", "continue", "resume")),
    ("--separator", "--separator , --key 2,2", ("columns", "csv", "delimiter", "sep")),
    ("--lines", "--lines", ("text", "txt")),
    ("--json", "--json", ("format", "output-format", "output-json")),
    ("--size", "--size", ("bytes", "data")),
    ("--data", "--data", ("bytes", "input-size", "size", "volume")),
)  # fmt: skip
"""An existing option, the value to use, and words that newcomers typed for it."""

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
    **dict.fromkeys(("help", "man", "usage"), "planner --help"),
}
"""Words that users try as commands and that are not commands, with where to find each."""


def with_example(error: Any, examples: Sequence[str], *, given: bool) -> Any:
    """Return the error with a description of the missing argument, and an example. Of several files the last is the
    missing one if any is `given`.
    """
    if type(error).__name__ == "NoSuchOption":
        return _with_option_meant(error)
    if type(error).__name__ not in _UNCLEAR:
        return error
    parameter, arguments = getattr(error, "param", None), []
    if parameter is not None and parameter.param_type_name == "argument" and error.ctx is not None:
        arguments = [param for param in error.ctx.command.params if param.param_type_name == "argument"]
    if parameter is not None and len(arguments) > 1:
        error.param = arguments[-1 if given else 0]
    about = [getattr(error.param, "help", "") or ""] if arguments else []
    example = [f"For example: {examples[0]}"] if examples else []
    text = error.message and f"{error.message.rstrip('.')}."
    error.message = " ".join(filter(None, [text, *about, *example]))
    return error


def _with_option_meant(error: Any) -> Any:
    """Suggest the command's own option for a newcomer's word, instead of options with similar spelling."""
    word = error.option_name.lstrip("-").partition("=")[0].lower()
    command = error.ctx.command if error.ctx else None
    options = {option for parameter in command.params for option in parameter.opts} if command else set()
    if command and command.name == "plan" and word in _MOVED:
        error.possibilities = None
        error.message = f"{error.message}. It is now: {_MOVED[word]}"
        return error
    texts = (text for option, text, words in _OPTIONS_MEANT if option in options and word in words)
    if text := next(texts, ""):
        error.possibilities = None
        is_other = text.startswith(("-", "planner"))
        error.message = f"{error.message}. {f'Did you mean: {text}' if is_other else f'Note: {text}'}"
    elif "--temp-dir" in options and "--key" in options and not error.option_name.startswith("--"):
        error.possibilities = None
        error.message = f"{error.message}. `planner gnusort` takes GNU sort's options"
    return error


def intended_command(word: str, commands: Collection[str]) -> str:
    """Return the command of a group that other programs call `word`, or a replacement; '' for none."""
    if "plan" in commands and word in _NO_COMMANDS:
        return _NO_COMMANDS[word]
    called = (name for name, others in _MEANT.items() if word in others and word not in commands)
    return next((name for name in called if name.split()[0] in commands), "")
