"""Run the in-memory benchmark for several inputs in turn, and print medians, spread and paired ratios.

python benchmarks/native/bench_memory.py [--records N] [--threads T ...] [--rounds R]

Builds the benchmark under build/. Only the ratios carry over to other machines.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench-memory"
KINDS = ("uniform", "skewed", "sorted", "reversed", "equal", "few", "half", "outliers")


def tool(name: str) -> str:
    """Return the environment's own build tool, else the system's."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is needed: python -m pip install {name}")
    return found


def build(target: str = "bench_memory") -> Path:
    """Build a benchmark; return its program."""
    configure = [tool("cmake"), "-S", str(ROOT / "native"), "-B", str(BUILD), "-DSORTCORE_BENCHMARKS=ON"]
    subprocess.run([*configure, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"], check=True, stdout=sys.stderr)
    subprocess.run([tool("cmake"), "--build", str(BUILD), "--target", target], check=True, stdout=sys.stderr)
    return next(path for path in BUILD.rglob(target) if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10**7)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    args = parser.parse_args()
    program = build()
    print("threads  keys      gather s  sort s (least-most)      sort/gather (least-most)")
    for threads in args.threads:
        for kind in args.kinds:
            command = [str(program), str(args.records), str(threads), str(args.rounds), kind]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            rounds = [json.loads(line) for line in lines]
            sort_s = [one["sort_s"] for one in rounds]
            ratios = [one["sort_s"] / one["gather_s"] for one in rounds]
            gather_s = median(one["gather_s"] for one in rounds)
            print(
                f"{threads:7}  {kind:8}  {gather_s:8.4f}  {median(sort_s):.4f} ({min(sort_s):.4f}-{max(sort_s):.4f})"
                f"  {median(ratios):11.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
            )


if __name__ == "__main__":
    main()
