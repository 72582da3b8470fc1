"""Slurm: a batch script that starts Ray on every node of the job and sorts from the first."""

from __future__ import annotations

import math
from typing import Final

from planner.exports.order import Order
from planner.exports.platform import Feature, Platform
from planner.exports.ray_sort import INSTALL, PORT, sort_command, start_ray, wait_for_nodes

_DIRECTORY: Final = '"${SORT_DIRECTORY:-/scratch/$USER/$SLURM_JOB_ID}"'
_HEAD: Final = "$HEAD"


def _write(order: Order) -> str:
    is_head = '[ "$SLURM_NODEID" = 0 ]'
    start = start_ray(directory=_DIRECTORY, head=_HEAD, is_head=is_head, name="$SLURMD_NODENAME", stay=True)
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={order.name}",
        f"#SBATCH --nodes={order.best.nodes}",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --exclusive",
        f"#SBATCH --time={math.ceil(order.ends_within_s / 60)}",
        "# The planner is expected in ~/sortplanner, on every node or on a shared home:",
        f"#   {INSTALL}",
        "# SORT_DIRECTORY is a directory on the fast disks of each node.",
        "set -eu",
        "# Only this job's nodes may use its Ray cluster.",
        "export RAY_AUTH_MODE=token",
        "export RAY_AUTH_TOKEN=\"$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')\"",
        'export HEAD="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"',
        "srun --ntasks-per-node=1 bash -eu <<'EACH' &",
        f"mkdir -p {_DIRECTORY}",
        *start,
        "EACH",
        "RAY=$!",
        'trap "kill $RAY 2>/dev/null || true" EXIT',
        f'export RAY_ADDRESS="$HEAD:{PORT}"',
        wait_for_nodes(order),
        sort_command(order, address='"$RAY_ADDRESS"'),
    ]
    return "\n".join(lines) + "\n"


PLATFORM: Final = Platform(
    name="slurm",
    clouds=frozenset(),
    file_name="sort.sbatch",
    apply="sbatch {file}",
    runs="ray",
    features=frozenset({Feature.COUNT, Feature.LOCAL_DISKS, Feature.END}),
    write=_write,
)
