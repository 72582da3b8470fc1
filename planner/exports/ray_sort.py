"""Shell commands for this project's sort on a platform's own nodes."""

from __future__ import annotations

import shlex
from typing import Final

from planner.exports.order import Order

PORT: Final = 6379
INSTALL: Final = (
    "python3 -m venv ~/sortplanner"
    " && ~/sortplanner/bin/pip install 'sortplanner[ray,objects,arrow] @ REPLACE_WHEEL_URL'"
)
"""The wheel is not on a package index yet: `make wheel` builds it."""


def start_ray(*, directory: str, head: str, is_head: str, name: str = "$(hostname)", stay: bool = False) -> list[str]:
    """Return the lines that start Ray on a node called `name`, whose disks are mounted at `directory`. The node where
    the shell condition `is_head` holds is the head; all others join the host that `head` expands to. With `stay` the
    lines wait until Ray ends, for platforms that end what a script started.
    """
    block = " --block" if stay else ""
    return [
        f'export PLANNER_NODE_NAME="{name}"',
        f"export PLANNER_NODE_DIRECTORY={directory}",
        'ulimit -S -n "$(ulimit -H -n)" || true',
        f"if {is_head}; then",
        f"  ~/sortplanner/bin/ray start --head --port={PORT} --include-dashboard=false{block}",
        "else",
        f'  until ~/sortplanner/bin/ray start --address="{head}:{PORT}"{block}; do sleep 5; done',
        "fi",
    ]


def sort_command(order: Order, *, address: str, program: str = "~/sortplanner/bin/planner") -> str:
    """Return the command that sorts the request's input to its output, or placeholders for them, on the cluster at
    `address`, which the shell may expand.
    """
    words = [order.input or "REPLACE_INPUT", "sorted.json"]
    if order.format == "lines":
        words.append("--lines")
    elif order.format in ("csv", "parquet"):
        words += ["--format", order.format, "--key", "REPLACE_KEY"]
    if order.output is not None or order.to_store:
        words += ["--to", order.output or "REPLACE_OUTPUT"]
    elif order.copies > 1:
        words += ["--copies", str(order.copies)]
    return f"{program} sort --ray {address} {shlex.join(words)}"


def wait_for_nodes(order: Order, *, python: str = "~/sortplanner/bin/python") -> str:
    """Return the line that waits until all of the plan's nodes have joined, for ten minutes at most."""
    count = "import ray; ray.init('auto', log_to_driver=False); print(sum(node['Alive'] for node in ray.nodes()))"
    there = f'$({python} -c "{count}" 2>/dev/null || echo 0)'
    return f"for try in $(seq 120); do [ {there} -ge {order.best.nodes} ] && break; sleep 5; done"
