"""Take the screenshots of docs/studio.md in a real Chromium: `python -m tools.screenshots`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.studio.browser.conftest import Served, Visit, browser

FOLDER = Path(__file__).parents[1] / "docs" / "studio"


def main() -> int:
    """Write one picture of each page."""
    FOLDER.mkdir(exist_ok=True)
    for dark in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            served = Served(Path(folder), None)
            served.start()
            try:
                with browser(dark=dark, width=1200) as page:
                    page.set_viewport_size({"width": 1200, "height": 720})
                    _story(Visit(served, page), dark=dark)
            finally:
                served.kill()
    return 0


def _story(visit: Visit, *, dark: bool) -> None:
    page = visit.enter()

    def take(name: str) -> None:
        page.wait_for_timeout(700)  # graphs are placed by a worker
        page.screenshot(path=FOLDER / f"{name}.png")

    page.get_by_role("textbox", name="Question").fill("Contaminants per type")
    page.keyboard.press("Enter")
    page.locator(".step-card").first.wait_for()
    if not dark:
        take("ask")
    page.get_by_role("button", name="Run this plan").click()
    page.get_by_role("columnheader", name="type").wait_for()
    page.get_by_role("tab", name="Chart").click()
    if dark:
        take("run")
    page.get_by_role("link", name="Ask").click()
    page.get_by_role("textbox", name="Question").fill(
        "Set the status of shipment S20261121-001 to delivered"
    )
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Review and approve").click()
    page.locator(".effect").wait_for()
    if not dark:
        take("approve")
        visit.go("#/tools/facilities_list")
        page.get_by_role("button", name="Call").click()
        page.get_by_role("columnheader", name="location").wait_for()
        take("tools")
        return
    visit.go("#/runs")
    page.get_by_role("checkbox").nth(1).wait_for()
    take("runs")


if __name__ == "__main__":
    sys.exit(main())
