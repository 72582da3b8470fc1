"""Write catalogs/evidence_spreads.csv from the pairs of claimed and observed rates in catalogs/rate_comparisons.csv.

Usage: python scripts/write_evidence_spreads.py [--check]; --check compares the file instead of writing it.
"""

from __future__ import annotations

import sys

from planner.catalog.shipped_tables import SPREADS, comparisons, slowdowns_by_claim
from planner.config.paths import catalogs_directory


def text() -> str:
    """Return the expected text of the file."""
    rows = [
        ",".join([resource, evidence, str(count), *(f"{value:.4f}" for value in slowdowns)])
        for (resource, evidence), (count, slowdowns) in slowdowns_by_claim(comparisons()).items()
    ]
    return "\n".join([",".join(SPREADS.names), *rows]) + "\n"


def main() -> int:
    """Write the file, or report whether it is current."""
    path = catalogs_directory() / f"{SPREADS.name}.csv"
    if "--check" in sys.argv:
        return int(path.read_text("utf-8") != text())
    path.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
