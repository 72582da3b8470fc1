"""Links of which a cloud states a baseline and a higher rate for a while, but not for how long.

The equations take the baseline. On c5 a link's bucket holds what its baseline brings in 36 to 59 minutes
(`catalogs/aws/token_buckets.csv`), and EC2's documentation says of all such types that they burst for 5 to 60 minutes.
"""

from __future__ import annotations

import numpy as np

from planner.cost_model.workload import JobContext


def stated_burst_bytes_per_s(context: JobContext, nodes: int) -> float | None:
    """Return what a link of the only layout of `context` carries at first, by what the cloud states; None where it
    states no more than the baseline, where the network was measured, and where the user says what it does.
    """
    row, network = int(context.layouts.type_row[0]), context.rates.network
    if not network.stated[row] or not context.catalog.token_buckets or not np.isnan(network.bucket_bytes[row]):
        return None
    rate = float(network.at(np.array([row]), np.array([float(nodes)]))[0, 0])
    burst = float(network.most[row])
    return burst if burst > rate > 0 else None


def likely_bucket_s(context: JobContext) -> list[float]:
    """Return for how many seconds of its baseline a bucket may be full, all equally likely: the median of each type
    that was measured in that cloud, rising.
    """
    return sorted(
        float(np.median([bucket.bucket_bytes / bucket.baseline_bytes_per_s for bucket in variants]))
        for variants in context.catalog.token_buckets.values()
    )
