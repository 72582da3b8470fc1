"""Hook of mkdocs: the pages that are computed from the code and the catalogs whenever the site is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mkdocs.structure.files import File, Files
from site_pages import architecture, leave_one_out, lee_fox, measured_rates, papers, reference, tritonsort, variation

PAGES: dict[str, Callable[[], str]] = {
    "architecture.svg": architecture.picture,
    "commands.md": reference.commands_page,
    "data-sources.md": reference.sources_page,
    "leave-one-out.md": leave_one_out.page,
    "lee-fox.md": lee_fox.page,
    "measured-rates.md": measured_rates.page,
    "papers.md": papers.page,
    "python.md": reference.interface_page,
    "tritonsort.md": tritonsort.page,
    "variation.md": variation.page,
}


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages to the site: mkdocs calls this when it has found the written ones."""
    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    return files
