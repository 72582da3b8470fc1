"""Shell completion: models, catalogs, regions, instance types, profiles, runs, and words of a choice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from glob import escape, glob
from pathlib import Path

from typer import Context


def models(incomplete: str) -> list[str]:
    """Return the cost models that begin with the typed text."""
    from planner.config.paths import model_names
    from planner.schemas.plan import ALL_MODELS

    return [name for name in (*model_names(), ALL_MODELS) if name.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Return the engines that begin with the typed text."""
    from planner.cost_model.model_reader import engine_choices

    return [name for name in engine_choices() if name.startswith(incomplete)]


def catalogs(incomplete: str) -> list[str]:
    """Return completions of the last catalog in a list: `aws,gc` gives `aws,gcp`."""
    from planner.catalog import catalog_names

    return _last_of_several(incomplete, catalog_names())


def instances(ctx: Context, incomplete: str) -> list[str]:
    """Return the types that begin with the typed text: of the clouds named before, by default AWS's, or if it has none,
    those of today's other clouds.
    """
    named, known = _clouds(ctx)
    for group in [known] if named else [known[:1], known[1:]]:
        if offered := _last_of_several(incomplete, _types(group)):
            return offered
    return []


def every_type(ctx: Context, incomplete: str) -> list[str]:
    """Return the types that begin with the typed text: of the clouds named before, by default of all."""
    return [name for name in _types(_clouds(ctx)[1]) if name.startswith(incomplete)]


def own_machines(ctx: Context, incomplete: str) -> list[str]:
    """Return the types that may follow a number, as in `20xm5d.`, else files and folders that begin with the text."""
    number = re.match(r"[\d,]+\s*[x*×]\s*", incomplete)
    if number:
        return [number[0] + name for name in every_type(ctx, incomplete[number.end() :])]
    return [f"{name}/" if Path(name).is_dir() else name for name in sorted(glob(f"{escape(incomplete)}*"))]  # noqa: PTH207  # of any path


def rented_clouds(incomplete: str) -> list[str]:
    """Return the places to get machines that begin with the typed text."""
    from planner.clouds.registry import CLOUDS

    return [name for name in (*CLOUDS, "emulated") if name.startswith(incomplete)]


def profiles(incomplete: str) -> list[str]:
    """Return the stored profiles that begin with the typed text."""
    from planner.stores.profiles import profile_names

    return [name for name in profile_names() if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Return the runs known to this machine that begin with the typed text, the latest first."""
    from planner.clusters.provisioning.run_directory import known_runs

    return [name for name in reversed(known_runs()) if name.startswith(incomplete)]


def clearable(incomplete: str) -> list[str]:
    """Return the kinds that `planner where --clear` removes and that begin with the typed text."""
    from planner.api.stored import can_clear, kinds

    return [kind for kind in kinds() if can_clear(kind) and kind.startswith(incomplete)]


def regions(incomplete: str) -> list[str]:
    """Return the priced regions of today's clouds that begin with the typed text."""
    from planner.catalog import load_catalog
    from planner.schemas.request_forms import CLOUDS

    return _last_of_several(incomplete, [name for cloud in CLOUDS for name in load_catalog(cloud).regions()])


def among(words: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a completion function for a list of words."""

    def offered(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return offered


def _clouds(ctx: Context) -> tuple[bool, list[str]]:
    """Return whether clouds were named before, and those of them with a catalog, else all of today's."""
    from planner.catalog import catalog_names
    from planner.schemas.request_forms import CLOUDS, clouds, name_list

    named = clouds(name_list([*_given(ctx, "cloud"), *_given(ctx, "catalog")]))
    return bool(named), [name for name in named or CLOUDS if name in catalog_names()]


def _types(catalogs: Iterable[str]) -> list[str]:
    from planner.catalog import load_catalog

    return [name for catalog in catalogs for name in load_catalog(catalog).instances.rows]


def _given(ctx: Context, option: str) -> list[str]:
    value = ctx.params.get(option) or []
    return [value] if isinstance(value, str) else list(value)


def _last_of_several(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(begun)]
