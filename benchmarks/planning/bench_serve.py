"""Plans per second of `planner serve` over HTTP, the latency, and the memory of its processes.

Usage: python benchmarks/planning/bench_serve.py [--seconds 30] [--callers 4] [--processes 2]

Each question has a different amount of data over all types of AWS, so that no answer repeats. The memory is the sum of
the resident sets of the server and its children, read from /proc each second: Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from statistics import median, quantiles

TOKEN = "bench"


def start(processes: int, waiting: int) -> tuple[subprocess.Popen[str], str]:
    words = ["serve", "--port", "0", "--processes", str(processes), "--waiting", str(waiting), "--seconds", "600"]
    server = subprocess.Popen(
        [sys.executable, "-m", "planner", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PLANNER_TOKEN": TOKEN},
    )
    assert server.stderr is not None
    line = server.stderr.readline()
    return server, line.partition("listening at ")[2].partition(";")[0].strip()


def ask(url: str, number: int) -> tuple[int, float]:
    """Return status and seconds of one question."""
    body = json.dumps({"asked": {"data": f"{1000 + number}GB"}}).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/plan", body, headers), timeout=600) as answer:
            answer.read()
            return answer.status, time.perf_counter() - began
    except urllib.error.HTTPError as error:
        with error:
            return error.code, time.perf_counter() - began


def resident_bytes(process: int) -> int:
    """Return the resident bytes of a process and all its descendants."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended meanwhile
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(int(child)) for child in children)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    server, url = start(options.processes, waiting=options.callers)
    numbers, answers = itertools.count(), []
    try:
        for _ in range(options.processes):  # each process loads its catalogs
            ask(url, next(numbers))
        ends, memory = time.perf_counter() + options.seconds, []

        def call() -> None:
            while time.perf_counter() < ends:
                answers.append(ask(url, next(numbers)))

        callers = [threading.Thread(target=call) for _ in range(options.callers)]
        began = time.perf_counter()
        for caller in callers:
            caller.start()
        while any(caller.is_alive() for caller in callers):
            memory.append(resident_bytes(server.pid))
            time.sleep(1)
        took = time.perf_counter() - began
    finally:
        server.terminate()
        server.wait()
    times = [seconds for status, seconds in answers if status == 200]
    print(
        f"{len(times) / took:.2f} plans/s over {took:.0f} s, {options.callers} callers, {options.processes} processes"
    )
    print(f"statuses {dict(Counter(status for status, _ in answers))}")
    print(f"latency: median {median(times):.2f} s, 95% {quantiles(times, n=20)[-1]:.2f} s")
    first_mb, most_mb, last_mb = (bytes_ / 1e6 for bytes_ in (memory[0], max(memory), memory[-1]))
    print(f"resident: {first_mb:.0f} MB at first, at most {most_mb:.0f} MB, at the end {last_mb:.0f} MB")


if __name__ == "__main__":
    main()
