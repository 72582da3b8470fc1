"""Section of data-sources.md: the sources and licences of the files that are in no catalog."""

from __future__ import annotations

import tomllib
from typing import Any, Final

from planner.config.paths import catalogs_directory

HEAD: Final = """# Sources of the files beside the catalogs

From `catalogs/sources.toml`, when the site is built. A file has a row for each source.

| file | what | licence | as of |
|---|---|---|---|
"""


def page() -> str:
    """Return the section: a row for each file and source."""
    entries = tomllib.loads((catalogs_directory() / "sources.toml").read_text(encoding="utf-8"))["source"]
    return HEAD + "\n".join(sorted(row(name, entry) for entry in entries for name in entry["files"])) + "\n"


def row(name: str, entry: dict[str, Any]) -> str:
    title = f"[{entry['title']}]({entry['url']})" if "url" in entry else entry["title"]
    return f"| `{name}` | {title} | {entry['licence']} | {entry['as_of']} |"
