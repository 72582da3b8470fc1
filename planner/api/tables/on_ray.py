"""The sort of groups of a table's files on a Ray cluster, whose nodes read them where the table has them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from planner.api.input_dataset import files_dataset
from planner.errors import InterruptedRunError, PlannerError
from planner.sorting.sort_job import InputFormat

if TYPE_CHECKING:
    from planner.tables.rewrite import ClusterSort


@contextmanager
def sort_on_cluster(
    ray: str,
    keys: Sequence[str],
    *,
    file_bytes: int,
    directory: str = "",
    memory_bytes: int | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> Iterator[ClusterSort]:
    """Yield a sort on the cluster at the address `ray` into files of about `file_bytes`. Where it sorts into a store,
    nodes keep intermediate files in `directory`. A job that fails, or is interrupted, is put away.

    The sort raises BadInputError for what a cluster does not sort, ProviderRefusedError, UnfinishedError,
    IoFailureError.
    """
    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.dataset.object_store import planner_uri

    session = partial(ray_session, address=ray, command=lambda *words: list(words), environment=os.environ)
    tell = on_event or (lambda _: None)
    with TemporaryDirectory() as notes:
        unfinished: list[dict[str, Any]] = []
        numbers = count()
        try:
            with session() as cluster:

                def sort(files: Sequence[str], place: str) -> tuple[list[str], int]:
                    is_stored, path = "://" in place, Path(place)
                    names = [planner_uri(file) if is_stored else file for file in files]  # tables may say s3a
                    source = files_dataset(InputFormat(format="parquet", key=tuple(keys)), names)
                    request = {"source": json.loads(source.to_json()), "partition_bytes": file_bytes}
                    request |= {"output": planner_uri(place) if is_stored else path.name, "memory_bytes": memory_bytes}
                    request |= {"directory": directory if is_stored else str(path.parent)}
                    number = next(numbers)  # each job has names of its own: one that replaces another frees its files
                    of_job = {"journal": f"{notes}/{number}.journal", "manifest": f"{notes}/{number}.json"}
                    unfinished[:] = [order := {"do": "sort", "request": request, **of_job}]
                    try:
                        done = cluster.do(order, tell)
                    except PlannerError:
                        with suppress(PlannerError):
                            cluster.do(_put_away(order), lambda _: None)
                            unfinished.clear()
                        raise
                    unfinished.clear()
                    uris = [partition["copies"][0]["uri"] for partition in done["dataset"]["partitions"]]
                    return uris, int(done["report"]["moved_bytes"]["intermediate_written"])

                yield sort
        except InterruptedRunError:
            for order in unfinished:
                with suppress(PlannerError), session() as cluster:
                    cluster.do(_put_away(order), lambda _: None)
            raise


def _put_away(order: dict[str, Any]) -> dict[str, Any]:
    return order | {"do": "abandon", "wait_s": 0.0, "forgets_absent": True}
