"""Answer time of `plan`: as a command compared with `import pandas`, and as a call over all types and node counts.

Commands run in turn; figures are medians with their range, ratios those of neighbouring pairs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

WANTED = {"plan --data 100TB --model daytona": 1.5, "plan --help": 0.5, "planner --help": 0.5}
"""Commands, and the allowed multiple of `import pandas`'s time."""
PANDAS = [sys.executable, "-c", "import pandas"]
IMPORTED = """
import contextlib, sys
from planner.cli.entry import plan_main
sys.argv = ["plan", "--data", "100TB", "--model", "daytona"]
with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SystemExit):
    plan_main()
print(*(name for name, module in sys.modules.items() if name != "__main__" and getattr(module, "__spec__", None)))
"""
"""Prints the modules that an answer of `plan` imports."""
IMPORTS = "all imports of the first command"


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def quietly(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def line(name: str, values: list[float], unit: str) -> str:
    return f"{name:<70} {median(values):8.3f} {unit}   ({min(values):.3f} to {max(values):.3f}, {len(values)} runs)"


def commands() -> dict[str, list[str]]:
    """Return what is compared with pandas: the commands, and the mere imports of the first."""
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    script = f"from importlib import import_module\nfor name in {ran.stdout.split()}: import_module(name)"
    typed = {words: [str(Path(sys.executable).with_name(words.split()[0])), *words.split()[1:]] for words in WANTED}
    return typed | {IMPORTS: [sys.executable, "-c", script]}


def time_commands(runs: int) -> None:
    for typed, command in commands().items():
        wanted = WANTED.get(typed, 1.5)
        pairs = [(seconds_of(lambda: quietly(command)), seconds_of(lambda: quietly(PANDAS))) for _ in range(runs + 1)]  # noqa: B023
        print(line(typed, [ours for ours, _ in pairs[1:]], "s"))
        print(line("python -c 'import pandas'", [pandas for _, pandas in pairs[1:]], "s"))
        print(line(f"ratio (wanted: at most {wanted})", [ours / pandas for ours, pandas in pairs[1:]], "x"))


def time_evaluation(runs: int) -> None:
    import planner
    from planner.catalog import load_catalog
    from planner.config.paths import model_names

    def report(name: str, **given: object) -> None:
        planner.recommend(data="100TB", **given)  # type: ignore[arg-type]
        times = [seconds_of(lambda: planner.recommend(data="100TB", **given)) for _ in range(runs)]  # type: ignore[arg-type]
        print(line(name, times, "s"))

    clouds = ("aws", "gcp", "azure", "oci")
    types = {cloud: len(load_catalog(cloud).instances) for cloud in clouds}
    report(f"daytona: {types['aws']} types x 1 to 1000 nodes", model="daytona")
    for most in (10, 100, 1000):
        report(f"daytona: {types['aws']} types x 1 to {most} nodes", model="daytona", max_nodes=most)
    for count in range(1, len(clouds) + 1):
        some = clouds[:count]
        report(f"daytona: {sum(types[c] for c in some)} types of {','.join(some)}", model="daytona", catalogs=some)
    everything = f"{sum(types.values())} types x 1 to 1000 nodes x {len(model_names())} models"
    report(everything, model="all", catalogs=clouds)
    report(f"{everything}, 95% in 1 h", model="all", catalogs=clouds, deadline="1h", confidence=0.95)
    print(f"{'most memory so far':<70} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:8.3f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    runs = parser.parse_args().runs
    time_commands(runs)
    time_evaluation(runs)


if __name__ == "__main__":
    main()
