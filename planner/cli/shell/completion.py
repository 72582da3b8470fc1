"""What a shell offers while one types: models, catalogs, regions, instance types, and words of which one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def models(incomplete: str) -> list[str]:
    """Return the cost models that begin with what was typed."""
    from planner.config.paths import model_names
    from planner.schemas.plan import ALL_MODELS

    return [name for name in (*model_names(), ALL_MODELS) if name.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Return the engines that begin with what was typed."""
    from planner.cost_model.model_reader import engine_choices

    return [name for name in engine_choices() if name.startswith(incomplete)]


def catalogs(incomplete: str) -> list[str]:
    """Return the catalogs, the last of which was begun: `aws,gc` gives `aws,gcp`."""
    from planner.catalog import catalog_names

    return _last_of_several(incomplete, catalog_names())


def instances(incomplete: str) -> list[str]:
    """Return the types of today's AWS that begin with what was typed."""
    from planner.catalog import load_catalog

    return _last_of_several(incomplete, load_catalog("aws").instances.rows)


def regions(incomplete: str) -> list[str]:
    """Return the priced regions of today's clouds that begin with what was typed."""
    from planner.catalog import load_catalog
    from planner.schemas.request_forms import CLOUDS

    return _last_of_several(incomplete, [name for cloud in CLOUDS for name in load_catalog(cloud).regions()])


def among(words: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what offers some words."""

    def offered(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return offered


def _last_of_several(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(begun)]
