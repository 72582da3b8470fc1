{#
# Slurm: a batch script that starts Ray on every node of the job and sorts from the first.
file_name = "sort.sbatch"
apply = "sbatch {file}"
runs = "ray"
expresses = ["the number of machines", "local disks, mounted", "an end by itself"]
#}
{% import "ray.sh" as ray %}
{% set directory = '"${SORT_DIRECTORY:-/scratch/$USER/$SLURM_JOB_ID}"' %}
#!/bin/bash
{{ heading | comment }}
#SBATCH --job-name={{ order.name }}
#SBATCH --nodes={{ order.best.nodes }}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time={{ (order.ends_within_s / 60) | ceil }}
# The planner is expected in ~/sortplanner, on every node or on a shared home:
#   {{ ray.install() | safe }}
# SORT_DIRECTORY is a directory on the fast disks of each node.
set -eu
# Only this job's nodes may use its Ray cluster.
export RAY_AUTH_MODE=token
export RAY_AUTH_TOKEN="$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
export HEAD="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
srun --ntasks-per-node=1 bash -eu <<'EACH' &
mkdir -p {{ directory | safe }}
{{ ray.start(directory, "$HEAD", '[ "$SLURM_NODEID" = 0 ]', name="$SLURMD_NODENAME", block=" --block") | safe }}
EACH
RAY=$!
trap "kill $RAY 2>/dev/null || true" EXIT
export RAY_ADDRESS="$HEAD:6379"
{{ ray.wait(order) | safe }}
{{ ray.sort(order, '"$RAY_ADDRESS"') | safe }}
