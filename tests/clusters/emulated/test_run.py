"""Space that an emulated run requires before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.clusters.emulated.run import EmulatedRun, copied_bytes
from planner.clusters.emulated.shaping import Shaping
from planner.clusters.runs import local
from planner.cost_model.model_reader import load_model
from planner.distributed_sort.dataset.dataset import Copy, Dataset, Layout, Partition, TextFormat
from planner.errors import IoFailureError


def asked(source: Dataset | None, place: str | None) -> int:
    run = EmulatedRun(
        data_bytes=1000, model="indy", nodes=2, shaping=Shaping(), directory=Path(), source=source, input=place
    )
    return copied_bytes(run)


def test_room_is_asked_for_what_is_copied_alone() -> None:
    plain, packed = Copy(uri="/in/a"), Copy(uri="/in/b.gz", compression="gz")
    parts = (Partition(records=600, copies=(plain,)), Partition(records=400, copies=(packed,)))
    source = Dataset(partitions=parts, layout=Layout.of_text(TextFormat()))
    assert asked(None, None) == 1000, "it is generated"
    assert asked(source, "/in") == 400, "compressed files alone become other ones"
    assert asked(source, "s3://bucket/in") == 1000, "it is brought in"


def test_what_is_sorted_where_it_lies_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model("indy")
    monkeypatch.setattr(local, "free_bytes", lambda _: 3_500_000_000)
    local.check_space(tmp_path, 10**9, model, input_bytes=0)
    with pytest.raises(IoFailureError, match=r"3.5 GB free, 4 GB needed"):
        local.check_space(tmp_path, 10**9, model, input_bytes=10**9)
