"""What a shell offers while one types: models, catalogs, instance types."""

from __future__ import annotations


def models(incomplete: str) -> list[str]:
    """Return the cost models that begin with what was typed."""
    from planner.config.model_files import model_names
    from planner.schemas.plan import ALL_MODELS

    return [name for name in (*model_names(), ALL_MODELS) if name.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Return the engines that begin with what was typed."""
    from planner.cost_model.engine_reader import engine_choices

    return [name for name in engine_choices() if name.startswith(incomplete)]


def catalogs(incomplete: str) -> list[str]:
    """Return the catalogs, the last of which was begun: `aws,gc` gives `aws,gcp`."""
    from planner.catalog import catalog_names

    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + name for name in catalog_names() if name.startswith(begun)]


def instances(incomplete: str) -> list[str]:
    """Return the types of today's AWS that begin with what was typed."""
    from planner.catalog import load_catalog

    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + name for name in load_catalog("aws").instances.rows if name.startswith(begun)]
