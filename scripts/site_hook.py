"""mkdocs hook: the pages that are computed from the code and the catalogs whenever the site is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from site_pages import (
    architecture,
    dependencies,
    error_codes,
    leave_one_out,
    lee_fox,
    licences,
    measured_rates,
    measurements,
    papers,
    reference,
    tritonsort,
    variation,
)


def beneath(page: str, *others: str) -> str:
    """Return a page with others appended as its last sections."""
    return "\n".join([page, *(re.sub("^#", "##", other, flags=re.MULTILINE) for other in others)])


PAGES: dict[str, Callable[[], str]] = {
    "architecture.svg": architecture.picture,
    "commands.md": reference.commands_page,
    "data-sources.md": lambda: beneath(
        reference.sources_page(),
        licences.page(),
        measured_rates.page(),
        reference.files_page(),
        error_codes.page(),
        dependencies.page(),
    ),
    "evidence.md": lambda: beneath("# Evidence\n", *(text for name, text in written() if name == "evidence.md")),
    "measurements.md": measurements.page,
    "papers.md": lambda: beneath(
        dict(written())["papers.md"],
        papers.page(),
        tritonsort.page(),
        lee_fox.page(),
        leave_one_out.page(),
        variation.page(),
    ),
    "python.md": reference.interface_page,
}

WRITTEN: dict[str, str] = {
    "scripts/site_pages/papers.md": "papers.md",
    "scripts/site_pages/decisions.md": "evidence.md",
    "benchmarks/README.md": "evidence.md",
    "benchmarks/sizing/README.md": "evidence.md",
    "tests/clouds/documented_facts.md": "evidence.md",
    "tests/clusters/README.md": "evidence.md",
    "tests/public_reports.md": "evidence.md",
}
"""Texts beside the programs and tests that prove them, and the page of the site that has each."""
MADE_FROM: dict[str, str] = {
    r"benchmarks/results(?:/[\w.]+)?": "measurements.md",
    r"catalogs/sources\.toml": "data-sources.md",
    r"planner/__init__\.py": "python.md",
    r"planner/catalog/(?:manifest|schema)\.py": "data-sources.md",
    r"planner/cli": "commands.md",
    r"planner/clouds/codes": "data-sources.md",
    r"scripts/site_pages/(?:papers|lee_fox|leave_one_out|variation)\.py": "papers.md",
    **{re.escape(source): page for source, page in WRITTEN.items()},
}
"""The pages of the site in place of what they are made from, which links of `docs/` lead to in a checkout."""
_CHECKOUT = Path(__file__).resolve().parent.parent
_PICTURE = re.compile(r"(\[[^\]]+\])\(\.\./scripts/site_pages/architecture\.py\)")


def on_config(config: Any) -> Any:
    """Put the version into the title of every page: mkdocs calls this first."""
    config.site_name = f"{config.site_name} {version('sortplanner')}"
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages to the site: mkdocs calls this once it has found those of `docs/`."""
    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    return files


def written() -> Iterator[tuple[str, str]]:
    """Yield each text of `WRITTEN` with the name of its page."""
    yield from ((page, (_CHECKOUT / source).read_text(encoding="utf-8")) for source, page in WRITTEN.items())


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let the links of a page lead to pages of the site: mkdocs calls this for each page."""
    for source, made in MADE_FROM.items():
        markdown = re.sub(rf"\]\((?:\.\./)+{source}(?=[)#])", f"]({made}", markdown)
    markdown = re.sub(r"\]\((?:\.\./)+docs/", "](", markdown)
    return _PICTURE.sub(r"!\1(architecture.svg)", markdown)
