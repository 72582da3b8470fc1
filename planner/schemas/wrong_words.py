"""Words that newcomers type for options, and the option that does what they mean: on the command line and in Python."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from planner.errors import nearest

OPTIONS_MEANT: Final = (
    ("--pricing", "--pricing spot", ("spot", "preemptible", "spot-instances", "use-spot")),
    ("--discount", "--discount 40%, the price that you pay for what is reserved",
     ("committed-use", "commitment", "cud", "edp", "reserved", "savings-plan")),
    ("--own-price", "--own-price TYPE=0.95 or FILE.csv, --discount 15% or --assume price=0.95",
     ("hourly", "hourly-price", "list-price", "price", "price-file", "price-list", "price-sheet", "prices", "rate",
      "usd-per-hour")),
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
     ("allow", "allowed", "allowed-types", "instances", "only", "type", "types", "instance-type", "machine",
      "machine-type", "machines", "vm")),
    ("--nodes", "--nodes", ("count", "machine-count", "n", "num-nodes", "workers")),
    ("--top", "planner catalog new mine, which takes the facts of your own machines", ("disk-size", "disks", "ssds")),
    ("--top", "planner own '20 x m5d.12xlarge'", ("mine", "my-machines", "own-machines", "owned")),
    ("--top", "the bill is that of one run, and 30 runs a month cost 30 times as much; --budget limits one run",
     ("daily", "every", "monthly", "monthly-budget", "nightly", "per-month", "runs", "runs-per-month", "schedule")),
    ("--top", "planner export --to terraform; planner export --help lists the platforms",
     ("dataproc", "databricks", "emr", "export-to", "k8s", "kubernetes", "platforms", "slurm", "terraform", "to")),
    ("--objective", "--objective energy", ("carbon", "co2", "emissions", "energy", "power", "watts")),
    ("--region", "--region", ("location", "regions", "site", "where")),
    ("--cloud", "--cloud", ("clouds", "platform", "provider", "providers", "vendor")),
    ("--region", "--region; zones of it are chosen where machines are free", ("availability-zone", "az", "zone")),
    ("--instance", "--instance 'i4i.*'", ("families", "family")),
    ("--min-memory", "--set min-memory=64GiB", ("mem", "memory", "ram")),
    ("--assume", "--assume network=800MB/s; a measured curve goes through `planner ingest`, and plans then use it",
     ("bandwidth", "curve", "net-curve", "network", "network-curve", "network-file", "network-rate")),
    ("--save", "plan FILE.json or plan FILE.toml, which plan a kept plan or request again",
     ("again", "c", "config", "f", "file", "from-file", "from-plan", "from-request", "load", "plan", "plan-file",
      "request", "toml", "yaml")),
    ("--detach", "planner cluster up PLAN.json, then planner run --on RUN", ("file", "from-plan", "plan", "plan-file")),
    ("--ran-on", "--ran-on 'm5.4xlarge x 4'", ("cluster", "current", "machines", "now", "on", "running-on")),
    ("--output", "--output s3://bucket/path; traffic to its --output-region is in the bill",
     ("egress", "traffic", "transfer")),
    ("--input", "--input", ("from", "in", "original", "source", "src")),
    ("--output", "--output", ("dest", "destination", "target", "to")),
    ("--rejected", "--explain, --show wide or --rejected", ("details", "long", "verbose", "why")),
    ("--dir", "--dir", ("disk", "directory", "folder", "mount", "path")),
    ("--type", "--type", ("instance", "instance-type", "machine-type")),
    ("--where", "--where", ("location", "region", "zone")),
    ("--throughput", "--throughput", ("bandwidth", "mbps", "rate")),
    ("--records", "--records", ("count", "lines-count", "n", "number", "rows")),
    ("--start", "--start", ("offset", "seed")),
    ("--checksum", "--checksum", ("crc", "hash", "md5", "sum")),
    ("--compress", "--compress", ("compression", "gzip", "zstd")),
    ("--stable", "--key date:date=%d/%m/%Y", ("date", "date-format", "dates")),
    ("--file-size", "--file-size 256MB, which makes OUTPUT a folder of files", ("files", "num-files", "partitions")),
    ("--stable", "--key NAME:desc of a table, or --key 1,1r of lines", ("desc", "descending", "reverse")),
    ("--stable", "--key NAME:num of a table, or --key 1,1n of lines", ("numeric", "numeric-sort")),
    ("--stable", "--key NAME:num, or another kind: --help lists them", ("dtype", "type", "types")),
    ("--stable", "--key; `planner gnusort` takes GNU sort's options", ("k",)),
    ("--stable", "planner sort FILE FILE --force, which replaces the input at the end", ("in-place", "inplace")),
    ("--no-header", "--no-header; a first row of names is taken for granted", ("header",)),
    ("--more-output", "planner sort INPUT OUTPUT, the result's name without an option", ("o", "out", "output")),
    ("--top", "--top", ("limit", "max-results", "number")),
    ("--yes", "--yes", ("assume-yes", "no-confirm", "no-input", "y")),
    ("--force", "--force", ("overwrite", "replace")),
    ("--dry-run", "--dry-run", ("check", "preview", "simulate", "what-would-happen")),
    ("--memory", "--memory", ("buffer-size", "mem", "ram")),
    ("--threads", "--threads", ("cores", "cpus", "jobs", "parallel", "workers")),
    ("--temp-dir", "--temp-dir", ("scratch", "temp", "temporary-directory", "tmp", "tmpdir")),
    ("--top", "prices are US dollars, without taxes", ("currency", "eur", "euro", "tax", "vat")),
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
    ("--separator", "--separator ';'", ("delim", "delimiter", "field-separator", "sep")),
    ("--separator", "--format csv --key NAME", ("csv",)),
    ("--unique", "--unique", ("dedup", "deduplicate", "distinct", "uniq")),
    ("--summary", "planner sort --check --unique FILE: it names the first of equal keys", ("duplicates", "unique")),
    ("--summaries", "planner.validate_rows(FILES, key='NAME'), which takes what `planner.sort` reads",
     ("format", "key", "no-header", "separator")),
    ("--target-file-size", "planner table price LOCATION: it says what a rewrite takes, and rewrites nothing",
     ("dry-run", "preview", "simulate", "what-would-happen")),
    ("--target-file-size", "planner sort LOCATION OUTPUT --key NAME: this command rewrites the table itself",
     ("dest", "destination", "o", "out", "output", "to")),
    ("--limit", "--limit 10", ("first", "head", "take", "top")),
    ("--key", "--key", ("by", "column", "columns", "order-by", "sort-by")),
    ("--sort-by", "--sort-by, several columns in turn: files are sorted, not z-ordered",
     ("by", "cluster-by", "column", "columns", "key", "keys", "order-by", "z-order", "zorder")),
    ("--lines", "--lines", ("text", "txt")),
    ("--json", "--json", ("format", "output-format", "output-json")),
    ("--size", "--size", ("bytes", "data")),
    ("--catalog", "planner catalog show, without a type: it lists the regions of each catalog", ("region", "regions")),
    ("--catalog", "--catalog", ("cloud", "clouds", "provider")),
    ("--data", "--data", ("bytes", "capacity", "input-size", "size", "volume")),
)  # fmt: skip
"""An existing option, the value to use, and words that newcomers typed for it."""

_ATTRIBUTES: Final = {
    **dict.fromkeys(("bill_usd", "cost", "costs", "dollars", "price", "total", "total_cost", "total_usd", "usd"),
                    "cost_usd.total (the whole run) or price_usd_per_hour (a node)"),
    **dict.fromkeys(("duration", "hours", "minutes", "runtime", "seconds", "time", "total_time"),
                    "whole_run_s (all of it, in seconds) or time_s.expected (the sort)"),
    **dict.fromkeys(("count", "machines", "n", "node_count", "num_nodes", "size"), "nodes"),
    **dict.fromkeys(("instance", "machine_type", "name", "type"), "instance_type"),
}  # fmt: skip
"""Attributes of a cluster, by words that newcomers try."""

_OF_ANSWERS: Final = {
    **dict.fromkeys(("sweep", "sizes", "each"), "planner.recommend_each(['1TB', '2TB'])"),
    **dict.fromkeys(("explain", "reasons", "explanation"), "answer.why"),
    **dict.fromkeys(("compare", "diff"), "answer.compare(other)"),
    **dict.fromkeys(("what_if", "whatif", "scale"), "answer.what_if(network=2)"),
    **dict.fromkeys(("plot", "graph"), "answer.chart()"),
    **dict.fromkeys(("asdict", "dict", "json", "save", "to_dict", "to_json"), "answer.plan.to_json()"),
    **dict.fromkeys(("csv", "dataframe", "df", "frame", "to_csv", "to_dataframe", "to_pandas"), "answer.to_frame()"),
    **dict.fromkeys(("alternatives", "options", "others", "results"), "answer.candidates"),
    **dict.fromkeys(("print", "show", "summary", "text"), "print(answer)"),
    **dict.fromkeys(("notes", "warnings"), "answer.best.warnings"),
    **dict.fromkeys(("html", "page", "report"), "answer.to_html()"),
}
"""What an answer or the package has, by words that newcomers try on either."""

_OF_PACKAGE: Final = {
    "why_not": "planner.recommend('3TB').why_not('c6id.32xlarge')",
    "simulate": "planner.recommend('3TB').simulate()",
    "export": "planner.recommend('3TB').export('terraform')",
    "check": "the command planner check PLAN.json --max-cost 100",
    **dict.fromkeys(("explain_log", "plan_log", "scale", "storage", "ingest", "screen", "predict"),
                    "the command planner {} --help"),
    **dict.fromkeys(("instances", "prices", "regions", "types"), "the command planner catalog show"),
    **dict.fromkeys(("load", "load_plan", "open", "open_plan", "read", "read_plan"), "planner.Plan.from_json(text)"),
    **dict.fromkeys(("models",), "the command planner models"),
}  # fmt: skip
"""The same of the package alone; `{}` is the name as a command."""


def option_meant(word: str, options: Collection[str]) -> str:
    """Return ' Did you mean: ...', or a note, for a word without dashes in place of one of these options; '' for none.

    >>> option_meant("spot", ["--pricing"])
    ' Did you mean: --pricing spot'
    """
    texts = (text for option, text, words in OPTIONS_MEANT if option in options and word in words)
    text = next(texts, "")
    intro = "Did you mean" if text.startswith(("-", "plan")) else "Note"
    return f" {intro}: {text}" if text else ""


def argument_meant(name: str, arguments: Collection[str]) -> str:
    """Return the same for a name in Python in place of one of these arguments, else those with a similar spelling.

    >>> argument_meant("price", ["own_price", "discount", "assume"])
    " Did you mean: own_price='TYPE=0.95' or FILE.csv, discount='15%' or assume='price=0.95'"
    """
    by_option = {f"--{argument.replace('_', '-')}": argument for argument in arguments}
    text = re.sub(r"--set ([a-z-]+)=", r"--\1 ", option_meant(name.replace("_", "-"), by_option))

    def spelled(option: re.Match[str]) -> str:
        value = (option[2] or "").strip("'")
        argument = by_option.get(option[1], option[0])
        return f"{argument}={value!r}" if value and option[1] in by_option else argument

    return re.sub(r"(--[a-z-]+)(?: ([^\s,;]+)(?=$|[,;]| or | asks))?", spelled, text) or nearest(name, list(arguments))


def attribute_error(of: object, name: str, *, fields: Collection[str], at: str = "") -> AttributeError:
    """Return the error of an object without this attribute, with the one of a cluster's `fields` that is meant; `at`
    leads there from the object.
    """
    if at and name in _OF_ANSWERS:
        return AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}. Use {_OF_ANSWERS[name]}")
    meant = _ATTRIBUTES.get(name, name if name in fields else "")
    names = [word for word in dir(type(of)) if not word.startswith("_")] if at else list(fields)
    near = f" Did you mean {at}{meant}?" if meant else "" if name.startswith("_") else nearest(name, names)
    return AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}.{near}")


def name_error(name: str, names: Collection[str]) -> AttributeError:
    """Return the error of the package without this name, with what is meant."""
    known = (_OF_ANSWERS | _OF_PACKAGE).get(name, "").format(name.replace("_", "-"))
    meant = f" Use {known}" if known else nearest(name, list(names))
    return AttributeError(f"module 'planner' has no attribute {name!r}.{meant}")
