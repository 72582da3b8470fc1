"""Take pictures of a newcomer's first answers for review: answers in terminals of 60, 80 and 120 columns, and pages of
an answer and of a refusal at 390, 800 and 1280 pixels, light and dark.

Usage: python scripts/take_screenshots.py FOLDER | --docs

--docs takes the documents' pictures: the chart, the page and the notebook's card, light and dark. Needs the extra
`plots`, playwright and a Chromium. Content that does not fit is listed, and the exit code is then 1.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

from typer.testing import CliRunner

import planner
from planner.cli.app import build
from planner.report.plots import picture as drawn

COMMANDS: Final = {
    "answer": "plan --data 100TB",
    "table": "plan --data 100TB --show table",
    "wide": "plan --data 100TB --show wide",
    "what-if": "plan --data 100TB --what-if network=2",
    "doctor": "doctor",
    "storage": "storage --iops 16k --throughput 1.5GB/s --data 10TB",
    "help": "plan --help",
}
COLUMNS: Final = (60, 80, 120)
PIXELS: Final = (390, 800, 1280)
DOCUMENTS: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"
LARGEST_BYTES: Final = 150_000
_NOTEBOOK: Final = "<body style='margin:1em;background:{ground};color:{ink};font:14px sans-serif'>{card}</body>"
_SCREEN: Final = (
    "<body style='margin:1em;background:#1d1f21;color:#eee;font:15px/1.3 monospace;white-space:pre'>{}</body>"
)
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_LEFT_OUT: Final = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def screens(folder: Path) -> Iterator[tuple[int, Path]]:
    """Write the output of commands as pages, and yield the number of columns in excess, and the page."""
    for name, command in COMMANDS.items():
        for columns in COLUMNS:
            done = CliRunner().invoke(build(), command.split(), env={"COLUMNS": str(columns)}, terminal_width=columns)
            page = folder / f"{name}-{columns}.html"
            page.write_text(_SCREEN.format(escape(done.stdout)), "utf-8")
            yield max(columns, *map(len, done.stdout.splitlines())) - columns, page


def pages(folder: Path) -> Iterator[Path]:
    """Write the pages of an answer and of a refusal."""
    for name, asked in {"page": {}, "refusal": {"deadline": "1m"}}.items():
        path = folder / f"{name}.html"
        path.write_text(planner.recommend("100TB", **asked).to_html(), "utf-8")
        yield path


def picture(browser: Any, page: Path, name: str, *, width: int, dark: bool) -> int:
    """Take a picture of a whole page, and return how many pixels extend beyond the right edge."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", offline=True
    )
    opened = context.new_page()
    opened.goto(page.as_uri())
    if page.name.startswith(("page", "refusal")):
        opened.wait_for_selector("html[data-drawn=yes]", state="attached")
    opened.screenshot(path=page.with_name(f"{name}.png"), full_page=True)
    over = int(opened.evaluate(_LEFT_OUT))
    context.close()
    return over


def documents(browser: Any) -> list[str]:
    """Take the documents' pictures, and return the names of those that are too large."""
    answer = planner.recommend("100TB")
    for name, dark in {"light": False, "dark": True}.items():
        (DOCUMENTS / f"chart-{name}.svg").write_text(str(drawn(answer.chart(dark=dark), suffix=".svg")), "utf-8")
        context = browser.new_context(
            viewport={"width": 1100, "height": 900}, color_scheme="dark" if dark else "light", offline=True
        )
        page = context.new_page()
        page.set_content(answer.to_html())
        page.wait_for_selector("html[data-drawn=yes]", state="attached")
        page.screenshot(path=DOCUMENTS / f"page-{name}.png")
        page.set_viewport_size({"width": 720, "height": 300})
        ground, ink = ("#111111", "#e6e6e6") if dark else ("#ffffff", "#1f2328")
        page.set_content(_NOTEBOOK.format(ground=ground, ink=ink, card=answer._repr_html_()))
        page.screenshot(path=DOCUMENTS / f"card-{name}.png", full_page=True)
        context.close()
    return [path.name for path in DOCUMENTS.iterdir() if path.stat().st_size > LARGEST_BYTES]


def main(folder: Path | None) -> int:
    """Take all pictures into a folder, or those of the documents; return 1 if something does not fit."""
    from playwright.sync_api import sync_playwright

    executable = next(path for path in map(shutil.which, _BROWSERS) if path)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        wrong = looked_at(browser, folder.resolve()) if folder else documents(browser)
        browser.close()
    print(f"pictures in {folder or DOCUMENTS}", *wrong, sep="\n")
    return 1 if wrong else 0


def looked_at(browser: Any, folder: Path) -> list[str]:
    """Take pictures of all answers and pages into a folder, and return the names of those that do not fit."""
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    for over, page in screens(folder):
        picture(browser, page, page.stem, width=1200, dark=True)
        wrong += [f"{page.stem}: {over} columns too wide"] if over else []
    for page in pages(folder):
        for width in PIXELS:
            for dark in (False, True):
                name = f"{page.stem}-{width}-{'dark' if dark else 'light'}"
                over = picture(browser, page, name, width=width, dark=dark)
                wrong += [f"{name}: {over} pixels too wide"] if over else []
    return wrong


if __name__ == "__main__":
    sys.exit(main(None if sys.argv[1] == "--docs" else Path(sys.argv[1])))
