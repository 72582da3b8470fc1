"""The documentation site builds without a warning, has no dead link, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
WRITTEN_FOR_THE_CHECKOUT = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
WRITTEN_BESIDE_PROGRAMS = [
    "benchmarks/README.md",
    "benchmarks/sizing/README.md",
    "scripts/site_pages/decisions.md",
    "scripts/site_pages/papers.md",
    "tests/clouds/documented_facts.md",
    "tests/clusters/README.md",
    "tests/public_reports.md",
]
"""Pages of the site that are in the folder of what proves them."""
DOCS = sorted((CHECKOUT / "docs").glob("*.md"))
LOADED = {"link": "href", "script": "src", "img": "src"}
"""Tags whose targets a browser fetches to show a page."""


class Page(HTMLParser):
    """A page's anchors, its links, and the resources it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        elif LOADED.get(tag, "") in values and values.get("rel") != "canonical":
            self.loads.add(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """The site, built strictly: warnings are errors. `404.html` is left out: it is written for the root of a server."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html") if path.name != "404.html"}


def dead(page: Path, link: str, site: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    exists = parts.fragment in {"", *site[target].anchors} if target in site else not parts.fragment
    return not (target.is_file() and exists)


def test_every_page_names_the_version(site: dict[Path, Page]) -> None:
    title = f"sortplanner {version('sortplanner')}</title>"
    assert [path.name for path in site if title not in path.read_text(encoding="utf-8")] == []


def test_no_link_is_dead(site: dict[Path, Page]) -> None:
    links = [(path, link) for path, page in site.items() for link in page.links | page.loads]
    assert len(links) > 20 * len(site)
    assert [(path.name, link) for path, link in links if dead(path, link, site)] == []


def test_a_dead_link_would_be_found(site: dict[Path, Page]) -> None:
    index = next(path for path in site if path.name == "index.html")
    assert dead(index, "no-such-page.html", site) and dead(index, "how-to.html#no-such-heading", site)
    assert not dead(index, "how-to.html", site)


def test_pages_load_nothing_from_elsewhere(site: dict[Path, Page]) -> None:
    assert [(path.name, load) for path, page in site.items() for load in page.loads if urlsplit(load).netloc] == []


def test_reference_has_every_command_and_every_source(site: dict[Path, Page]) -> None:
    by_name = {path.name: page for path, page in site.items()}
    assert {"planner-plan", "planner-catalog-refresh", "planner-doctor"} <= by_name["commands.html"].anchors
    assert "plannerrecommend" in by_name["python.html"].anchors
    assert any(anchor.startswith("aws-2014") for anchor in by_name["data-sources.html"].anchors)


@pytest.mark.parametrize(
    "document", [*WRITTEN_FOR_THE_CHECKOUT, *WRITTEN_BESIDE_PROGRAMS, *(f"docs/{page.name}" for page in DOCS)]
)
def test_links_of_the_checkout_lead_somewhere(document: str) -> None:
    path = CHECKOUT / document
    links = [urlsplit(link) for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))]
    targets = [(path.parent / link.path if link.path else path, link.fragment) for link in links if not link.scheme]
    assert [str(target) for target, _ in targets if not target.exists()] == []
    sections = [(target, section) for target, section in targets if section and target.suffix == ".md"]
    assert [(target.name, section) for target, section in sections if section not in sections_of(target)] == []


def sections_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as its readers in a checkout have them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_sections_that_messages_and_comments_name_are_there() -> None:
    texts = [path.read_text("utf-8") for end in ("py", "toml") for path in (CHECKOUT / "planner").rglob(f"*.{end}")]
    named = {link for text in texts for link in re.findall(r"docs/([a-z-]+\.md(?:#[a-z-]+)?)", text)}
    there = {f"{page.name}#{section}" for page in DOCS for section in sections_of(page)} | {page.name for page in DOCS}
    assert len(named) > 5 and named - there == set()


def test_measurements_fit_a_page_and_name_programs_that_exist(site: dict[Path, Page]) -> None:
    measurements = next(path for path in site if path.name == "measurements.html").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:benchmarks|tests)/[\w/]+\.py", measurements))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (CHECKOUT / name).exists()] == []
    assert len(re.findall("<tr>|<li>|<h2", measurements.partition("<h1")[2])) <= 300
