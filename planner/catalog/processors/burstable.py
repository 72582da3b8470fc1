"""Processors of burstable types: sustained share, and credit for full speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.arrays import Floats
from planner.catalog.instances import Instances
from planner.catalog.tables import Table


@dataclass(frozen=True, kw_only=True, eq=False)
class ProcessorCredits:
    """Sustained processor share of every type, each of shape (T,).

    `baseline_share` is the share of each virtual CPU that a node has without credit: 1 for types that are not
    burstable, NaN where no source states it. A new node may take `launch_credit_vcpu_s` more seconds of a virtual CPU,
    if the account launches no more than `credited_nodes_most` of them.
    """

    baseline_share: Floats
    launch_credit_vcpu_s: Floats
    credited_nodes_most: Floats


def processor_credits(instances: Instances, burstable: Table) -> ProcessorCredits:
    """Return the credits of every type. An unknown credit counts as zero, which never overestimates the speed; an
    unknown share stays unknown.
    """
    row_of = {name: row for row, name in enumerate(burstable["instance_type"].tolist())}
    rows = np.array([row_of.get(name, -1) for name in instances.cloud_type.tolist()], dtype=int)

    def laid_out(column: str, *, elsewhere: float) -> Floats:
        return np.where(rows >= 0, np.append(burstable[column], np.nan)[rows], elsewhere)

    return ProcessorCredits(
        baseline_share=laid_out("baseline_share", elsewhere=1.0),
        launch_credit_vcpu_s=np.nan_to_num(laid_out("launch_credit_vcpu_s", elsewhere=0.0)),
        credited_nodes_most=np.nan_to_num(laid_out("credited_nodes_most", elsewhere=np.inf), nan=np.inf),
    )
