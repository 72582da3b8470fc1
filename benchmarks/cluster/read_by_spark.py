"""Check that Spark reads the cluster sort's output: every row, each file in order, and no two files that overlap.

planner run --cloud emulated --model indy --input t.parquet --output sorted --format parquet --key time:desc
python benchmarks/cluster/read_by_spark.py sorted --format parquet --key time --desc

It needs pyspark and Java. The key is a column; of lines it is the number at their beginning.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession


def keys_of(spark: Any, part: Path, form: str, key: str) -> list[Any]:
    """Return the keys of a file in the order in which Spark reads its rows."""
    if form == "parquet":
        return [row[0] for row in spark.read.parquet(str(part)).select(key).collect()]
    if form == "csv":
        rows = spark.read.csv(str(part), header=True, multiLine=True, inferSchema=True)
        return [row[0] for row in rows.select(key).collect()]
    return [int(row[0].split(" ")[0]) for row in spark.read.text(str(part)).collect()]


def findings(spark: Any, folder: Path, form: str, key: str, *, is_descending: bool) -> Iterator[str]:
    """Yield the rows and files that were read, and the errors found."""
    parts = sorted(folder.glob("part-*"))
    keys = [[value for value in keys_of(spark, part, form, key) if value is not None] for part in parts]
    whole = [value for of_part in keys for value in of_part]
    yield f"Spark {pyspark.__version__}: {len(whole)} keys in {len(parts)} files"
    pairs = ((behind, before) if is_descending else (before, behind) for before, behind in pairwise(whole))
    wrong = sum(low > high for low, high in pairs)
    yield "in order, within files and from file to file" if not wrong else f"{wrong} keys are out of order"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", choices=("lines", "csv", "parquet"), required=True)
    parser.add_argument("--key", default="")
    parser.add_argument("--desc", action="store_true")
    options = parser.parse_args()
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    for line in findings(spark, options.folder, options.format, options.key, is_descending=options.desc):
        print(line)


if __name__ == "__main__":
    main()
