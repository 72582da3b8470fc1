"""mkdocs hook: the pages that are computed from the code and the catalogs whenever the site is built."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from site_pages import (
    architecture,
    dependencies,
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
        reference.sources_page(), licences.page(), measured_rates.page(), reference.files_page()
    ),
    "measurements.md": measurements.page,
    "python.md": reference.interface_page,
    "variation.md": variation.page,
}

SECTIONS: dict[str, tuple[Callable[[], str], ...]] = {
    "installing.md": (dependencies.page,),
    "papers.md": (papers.page, tritonsort.page, lee_fox.page, leave_one_out.page),
}
"""Pages written in `docs/` whose last sections are computed."""


MADE_FROM: dict[str, str] = {
    r"benchmarks/results(?:/[\w.]+)?": "measurements.md",
    r"catalogs/sources\.toml": "data-sources.md",
    r"planner/__init__\.py": "python.md",
    r"planner/cli": "commands.md",
    r"scripts/site_pages/variation\.py": "variation.md",
}
"""The pages of the site in place of what they are made from, which links of `docs/` lead to in a checkout."""
_PICTURE = re.compile(r"(\[[^\]]+\])\(\.\./scripts/site_pages/architecture\.py\)")


def on_config(config: Any) -> Any:
    """Put the version into the title of every page: mkdocs calls this first."""
    config.site_name = f"{config.site_name} {version('sortplanner')}"
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages to the site: mkdocs calls this once it has found the written ones."""
    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Add the computed sections to a written page, and let its links lead to pages: mkdocs calls this for each page."""
    for source, made in MADE_FROM.items():
        markdown = re.sub(rf"\]\(\.\./{source}(?=[)#])", f"]({made}", markdown)
    markdown = _PICTURE.sub(r"!\1(architecture.svg)", markdown)
    return beneath(markdown, *(section() for section in SECTIONS.get(page.file.src_uri, ())))
