"""The last section of data-sources.md: the installed packages, from `pyproject.toml` and their own metadata."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

PYPROJECT: Final = Path(__file__).resolve().parents[2] / "pyproject.toml"
PURPOSES: Final = {
    "typer": "commands, options, help and completion",
    "rich": "tables and progress on a terminal",
    "numpy": "times and costs of all clusters at once, as arrays",
    "pandas": "`to_frame()`, tables of runs",
    "tenacity": "requests to clouds, tried again; took the place of five loops",
    "jinja2": "platforms' files, pages of `--html`",
    "altair": "charts; chosen over Plotly for its smaller pages",
    "vl-convert-python": "charts as SVG and PNG, without a browser",
    "ipykernel": "notebooks",
    "ipywidgets": "sliders in notebooks",
    "boto3": "renting and prices on AWS",
    "google-cloud-compute": "renting on Google Cloud",
    "google-cloud-billing": "prices on Google Cloud",
    "azure-mgmt-compute": "machines on Azure",
    "azure-mgmt-network": "networks on Azure",
    "azure-mgmt-resource": "resource groups on Azure",
    "azure-identity": "sign-in on Azure",
    "ray": "tasks on the nodes of a cluster sort",
    "psutil": "processes of a node; took the place of reading `/proc`",
    "obstore": "S3, Google Cloud Storage and Azure Blob Storage",
    "zstandard": "text and logs compressed with zstd",
    "pyarrow": "Parquet, Arrow tables, text compressed with LZ4",
    "cramjam": "logs compressed with LZ4 or Snappy",
    "msgspec": "faster reading of Spark logs; took the place of orjson",
    "mcp": "`planner serve` as tools for agents",
    "starlette": "`planner serve` over HTTP",
    "uvicorn": "the server below Starlette",
    "PyYAML": "lists of machines in YAML",
    "deltalake": "Delta tables: reading their log, and committing to it",
    "pyiceberg": "Iceberg tables and their catalogs: reading and committing",
    "aiohttp": "what pyiceberg's file systems need beside Ray Data",
}
"""Purpose of each package. decisions.md lists code written by hand instead."""


def page() -> str:
    """Return the section. Raises ValueError, which fails the build, where packages and their purposes do not match."""
    if unmatched := packages().keys() ^ PURPOSES.keys():
        raise ValueError(
            f"{', '.join(unmatched)}: in pyproject.toml or in PURPOSES of {Path(__file__).name}, not in both"
        )
    return "\n".join(
        [
            "# Packages that an installation brings\n",
            "All but the first group are extras, which are loaded when they are first used. The sizes are those of the "
            "versions in `constraints.txt`, without what the packages need themselves. The release's `sbom.cdx.json` "
            "lists everything that the first group brings.\n",
            "| package | used for | extra | MB | licence | maintained at |",
            "|---|---|---|--:|---|---|",
            *(row(name, extra) for name, extra in packages().items()),
        ]
    )


def packages() -> dict[str, str]:
    """Return each package with the first extra that installs it; '' for packages of every installation."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, str] = {}
    for extra, requirements in groups.items():
        for name in named(requirements):
            found.setdefault(name, extra)
    return found


def named(requirements: list[str]) -> Iterator[str]:
    names = (re.split(r"[\[<>=;]", requirement)[0] for requirement in requirements)
    return (name for name in names if name != "sortplanner")


def row(name: str, extra: str) -> str:
    of = distribution(name)
    megabytes = sum(file.size or 0 for file in of.files or ()) / 1e6
    return f"| {name} | {PURPOSES[name]} | {extra} | {megabytes:.1f} | {licence(of)} | {home(of)} |"


def licence(of: Distribution) -> str:
    """Return the licence in the metadata: an SPDX expression, else the classifier, else free text."""
    stated = of.metadata.get("License-Expression")
    classified = [value for value in of.metadata.get_all("Classifier") or () if value.startswith("License :: ")]
    return str(stated or (classified or [of.metadata["License"]])[0].rpartition(" :: ")[2])


def home(of: Distribution) -> str:
    """Return the address of the source: the first on GitHub, else the home page."""
    urls = [url.rpartition(", ")[2] for url in of.metadata.get_all("Project-URL") or ()]
    urls.append(of.metadata.get("Home-page") or "")
    url = next((url for url in urls if "github.com" in url and "sponsors" not in url), next(filter(None, urls), ""))
    return f"<{url.removesuffix('/issues')}>"
