"""Take the screenshots of docs/studio.md in a real Chromium: `python -m tools.screenshots`.

`python -m tools.screenshots FOLDER` takes every page in both themes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from packages.studio.tests.browser.conftest import Served, Visit, browser

FOLDER = Path(__file__).parents[1] / "docs" / "studio"
_KEPT = {False: ("ask", "approve", "tools"), True: ("run", "runs")}
"""What the docs show, by theme: light, then dark."""
_NOTES = {
    "steps": [
        {"id": "people", "tool": "list_people"},
        {
            "id": "notes",
            "tool": "note_person",
            "for_each": "${people}",
            "args": {"to": "${item}", "text": "The shipment is late"},
        },
    ],
    "metadata": {"query": "Tell everybody that the shipment is late"},
}


def main() -> int:
    """Write the pictures of the docs; with a folder, those of every page in both themes there."""
    parser = argparse.ArgumentParser(prog="tools.screenshots", description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", help="where every page goes, in both themes"
    )
    folder: Path | None = parser.parse_args().folder
    (folder or FOLDER).mkdir(exist_ok=True)
    for dark in (False, True):
        for story in (_demo, _values)[: 1 if folder is None else 2]:
            _visit(story, folder, dark=dark)
    return 0


def _visit(
    story: Callable[[Visit, Callable[[str], None]], None], to: Path | None, *, dark: bool
) -> None:
    tools = "packages.studio.tests.browser.own_tools:TOOLS" if story is _values else None
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), tools)
        served.start()
        try:
            with browser(dark=dark, width=1200) as page:
                page.set_viewport_size({"width": 1200, "height": 720})

                def take(name: str) -> None:
                    if to is None and name not in _KEPT[dark]:
                        return
                    page.wait_for_timeout(700)  # graphs are placed by a worker
                    theme = "" if to is None else "-dark" if dark else "-light"
                    page.screenshot(path=(to or FOLDER) / f"{name}{theme}.png")

                story(Visit(served, page), take)
        finally:
            served.kill()


def _demo(visit: Visit, take: Callable[[str], None]) -> None:
    page = visit.enter()
    take("first")
    page.get_by_role("textbox", name="Question").fill("Contaminants per type")
    page.keyboard.press("Enter")
    page.locator(".step-card").first.wait_for()
    take("ask")
    page.get_by_role("button", name="Run this plan").click()
    page.get_by_role("columnheader", name="type").wait_for()
    page.get_by_role("tab", name="Chart").click()
    take("run")
    page.get_by_role("tab", name="Timeline").click()
    take("timeline")
    page.get_by_role("link", name="Ask").click()
    page.get_by_role("textbox", name="Question").fill(
        "Set the status of shipment S20261121-001 to delivered"
    )
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Review and approve").click()
    page.locator(".effect").wait_for()
    take("approve")
    visit.go("#/tools/facilities_list")
    page.get_by_role("button", name="Call").click()
    page.get_by_role("columnheader", name="location").wait_for()
    take("tools")
    visit.go("#/runs")
    page.get_by_role("checkbox").nth(1).wait_for()
    take("runs")
    for box in page.get_by_role("checkbox").all()[:2]:
        box.check()
    page.get_by_role("link", name="Compare two runs").click()
    page.get_by_role("heading", name="Side by side").wait_for()
    take("compare")


def _values(visit: Visit, take: Callable[[str], None]) -> None:
    page = visit.enter()
    run = visit.run(_NOTES, values=True)
    visit.go(f"#/approve/{run}")
    page.get_by_role("region", name="notes", exact=True).wait_for()
    take("values")
    hangs = {"id": "send", "tool": "send_note", "args": {"to": "a@b.example", "text": "Hello"}}
    run = visit.run({"steps": [{**hangs, "timeout_s": 0.3}]})
    visit.go(f"#/approve/{run}")
    page.get_by_role("button", name="Approve all and run").click()
    page.get_by_role("region", name="Calls in doubt").wait_for()
    take("doubt")


if __name__ == "__main__":
    sys.exit(main())
