"""One region of a made-up catalog, and a job there, for unit tests of single functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import load_catalog
from planner.cost_model import run_overheads
from planner.cost_model.model_reader import load_model
from planner.cost_model.workload import JobContext
from planner.planning.request.job_context import job_context
from planner.planning.request.region import Region
from planner.schemas.plan import Request


@pytest.fixture
def make_job(make_catalog: Callable[..., str]) -> Callable[..., tuple[JobContext, Region, Request]]:
    """Return a job on the types of a made-up catalog. `files` is as for `make_catalog`, `head` adds lines to its
    catalog.toml, and the rest is the request's.
    """

    def make(
        types: Mapping[str, Mapping[str, Any]], *, files: Mapping[str, Any] | None = None, head: str = "", **asked: Any
    ) -> tuple[JobContext, Region, Request]:
        directory = Path(make_catalog(types, **(files or {})))
        manifest = directory / "catalog.toml"
        manifest.write_text(manifest.read_text().replace("[sources]", f"{head}\n[sources]"))
        catalog = load_catalog(str(directory))
        request = Request(**{"data_bytes": 10**13, "model": "indy", "engine": "ideal", **asked})
        region = Region.of(request, catalog, "here")
        overheads = run_overheads.PAPER if request.paper else run_overheads.shipped()
        model = load_model(request.model)
        context = job_context(request, model=model, catalog=catalog, overheads=overheads, volumes=region.volumes)
        return context, region, request

    return make
