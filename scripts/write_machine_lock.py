"""Write the lock file of rented machines: each package's version, and the hashes of its wheels.

python scripts/write_machine_lock.py

pip resolves the planner's needs there for both processors, within constraints.txt, and downloads half a gigabyte.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import defaultdict
from pathlib import Path

from planner.clusters.remote.own_source import build_requirements
from planner.clusters.remote.wheelhouse import LOCK, STOCK_PYTHON, download_wheels, requirements

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
HEAD = f"# What machines get besides the planner, for Python {STOCK_PYTHON}. Made by scripts/write_machine_lock.py.\n"


def main() -> None:
    hashes: dict[str, set[str]] = defaultdict(set)
    for architecture in ("x86_64", "aarch64"):
        with tempfile.TemporaryDirectory() as made:
            words = [f"--constraint={CONSTRAINTS}", "pip", *requirements(), *build_requirements()]
            if complaint := download_wheels(Path(made), words, python=STOCK_PYTHON, architecture=architecture):
                raise SystemExit("\n".join(complaint))
            for wheel in Path(made).glob("*.whl"):
                name, version = wheel.name.split("-")[:2]
                pinned = f"{re.sub('[-_.]+', '-', name).lower()}=={version}"
                hashes[pinned].add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    lines = [
        " \\\n".join([pinned, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))])
        for pinned, digests in sorted(hashes.items())
    ]
    LOCK.write_text(HEAD + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
