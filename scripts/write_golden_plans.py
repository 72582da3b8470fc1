"""Write tests/golden/*.json: the plan of every model on a small made-up cloud, as `plan --json` prints it.

Usage: python scripts/write_golden_plans.py [--check]; with --check the plans of today are compared instead of written,
and every field that differs is named. Look at a difference before committing it.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner import Recommendation, recommend
from planner.config.paths import model_names

TOP = Path(__file__).resolve().parent.parent
GOLDEN = TOP / "tests" / "golden"
CLOUD = "tests/golden/cloud"
DIGITS = 10
"""Significant digits kept: the last ones of exp and log differ between processors."""
SAME = 1e-8
"""Numbers that differ by less, as a part of themselves, are the same: rounding puts a difference of the last digits on
either side of a step.
"""


def plans() -> Iterator[tuple[str, Recommendation]]:
    """Yield the name and the plan of every golden file: each model, and what several models and settings share."""
    asked: dict[str, Any] = {"data": "5TB", "catalogs": (CLOUD,), "max_nodes": 48, "top": 3}
    for model in model_names():
        yield model, recommend(**asked, model=model)
    yield "daytona-paper", recommend(**asked, model="daytona", paper=True, engine="ideal")
    yield "all-2-zones", recommend(**asked, model="all", deadline="90m", confidence=0.95, zones=2)
    yield "indy-general-job", recommend(**asked, model="indy", map_ratio=0.5, reduce_ratio=0.1, objective="cost")
    yield "indy-energy", recommend(**asked, model="indy", objective="energy", network_distribution="A")
    yield "cloudsort-infeasible", recommend(**asked, model="cloudsort", deadline="10m", budget_usd=4)


def rounded(value: Any) -> Any:
    """Return a JSON value with its numbers rounded to DIGITS."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def differences(old: Any, new: Any, *, where: str = "") -> Iterator[str]:
    """Name every field that differs between two JSON values."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for name in old:
            yield from differences(old[name], new[name], where=f"{where}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, where=f"{where}[{number}]")
    elif not _are_same(old, new):
        yield f"{where}: {json.dumps(old)[:200]} is now {json.dumps(new)[:200]}"


def _are_same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=SAME)
    return bool(old == new)


def check(documents: dict[str, Any]) -> None:
    """Raise SystemExit with what differs from the files, files too many or too few included."""
    written = {path.stem: json.loads(path.read_text("utf-8")) for path in GOLDEN.glob("*.json")}
    complaints = [f"{name}.json: written by nothing" for name in written.keys() - documents.keys()]
    complaints += [f"{name}.json: missing" for name in documents.keys() - written.keys()]
    for name in sorted(written.keys() & documents.keys()):
        complaints += differences(written[name], documents[name], where=name)
    if complaints:
        raise SystemExit("\n".join([*complaints, "if that is right: python scripts/write_golden_plans.py"]))


def main() -> None:
    """Write every file and remove those that nothing writes any more, or compare them."""
    os.chdir(TOP)
    documents = {name: rounded(json.loads(answer.plan.to_json())) for name, answer in plans()}
    if "--check" in sys.argv[1:]:
        check(documents)
        return
    for path in GOLDEN.glob("*.json"):
        path.unlink()
    for name, document in documents.items():
        (GOLDEN / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
