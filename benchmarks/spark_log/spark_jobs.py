"""Jobs for the trials of `bench_predictions.py`, run by spark-submit: they generate their data as they read it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as Spark's own documents do

PARTITIONS = int(sys.argv[3])


def numbered(spark: SparkSession, rows: int, *, keys: int) -> DataFrame:
    """Return rows of a key out of `keys`, a number and 80 bytes of text."""
    hashed = F.xxhash64("id")
    text = F.concat(*[F.sha1(F.concat(F.col("id").cast("string"), F.lit(str(part)))) for part in range(2)])
    return spark.range(0, rows, 1, PARTITIONS).select(
        F.pmod(hashed, F.lit(keys)).alias("key"), (hashed % 1000).alias("number"), text.alias("text")
    )


def kept(frame: DataFrame) -> None:
    """Compute all of a frame and discard it."""
    frame.write.format("noop").mode("overwrite").save()


def sort(spark: SparkSession, rows: int) -> None:
    """Sort by key, as TeraSort does."""
    kept(numbered(spark, rows, keys=2**40).sort("key"))


def join(spark: SparkSession, rows: int) -> None:
    """Join two tables on a key that occurs twice in the larger one, and sum by another."""
    large = numbered(spark, rows, keys=rows // 2)
    small = numbered(spark, rows // 2, keys=rows // 2).select("key", F.col("number").alias("weight"))
    joined = large.join(small, "key").groupBy("number").agg(F.sum("weight"), F.max("text"))
    kept(joined)


def aggregate(spark: SparkSession, rows: int) -> None:
    """Count and sum by a key with many values."""
    made = numbered(spark, rows, keys=rows // 4)
    kept(made.groupBy("key").agg(F.count("*"), F.sum("number"), F.max("text")))


def pagerank(spark: SparkSession, rows: int) -> None:
    """Run three rounds of PageRank over a random graph of four edges a page."""
    pages = rows // 4
    ends = [F.pmod(F.xxhash64("id", F.lit(end)), F.lit(pages)).alias(name) for end, name in enumerate(("of", "to"))]
    links = spark.range(0, rows, 1, PARTITIONS).select(*ends).cache()
    degrees = links.groupBy("of").agg(F.count("*").alias("degree"))
    edges = links.join(degrees, "of").cache()
    ranks = degrees.select(F.col("of").alias("page"), F.lit(1.0).alias("rank"))
    for _ in range(3):
        sent = edges.join(ranks, edges.of == ranks.page).select("to", (F.col("rank") / F.col("degree")).alias("part"))
        ranks = sent.groupBy(F.col("to").alias("page")).agg((0.15 + 0.85 * F.sum("part")).alias("rank"))
    kept(ranks)


JOBS: dict[str, Callable[[SparkSession, int], None]] = {
    "sort": sort,
    "join": join,
    "aggregate": aggregate,
    "pagerank": pagerank,
}

if __name__ == "__main__":
    session = SparkSession.builder.appName(sys.argv[1]).getOrCreate()
    JOBS[sys.argv[1]](session, int(sys.argv[2]))
    session.stop()
