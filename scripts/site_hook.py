"""Hook of mkdocs: the pages that are computed from the code and the catalogs whenever the site is built."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mkdocs.structure.files import File, Files
from site_pages import (
    architecture,
    leave_one_out,
    lee_fox,
    measured_rates,
    measurements,
    papers,
    reference,
    tritonsort,
    variation,
)


def beneath(page: str, *others: str) -> str:
    """Return a page with others as its last sections."""
    return "\n".join([page, *(re.sub("^#", "##", other, flags=re.MULTILINE) for other in others)])


PAGES: dict[str, Callable[[], str]] = {
    "architecture.svg": architecture.picture,
    "commands.md": reference.commands_page,
    "data-sources.md": lambda: beneath(reference.sources_page(), measured_rates.page(), reference.files_page()),
    "leave-one-out.md": leave_one_out.page,
    "measurements.md": measurements.page,
    "papers.md": lambda: beneath(papers.page(), tritonsort.page(), lee_fox.page()),
    "python.md": reference.interface_page,
    "variation.md": variation.page,
}


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages to the site: mkdocs calls this when it has found the written ones."""
    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    return files
