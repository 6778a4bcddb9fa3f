"""Pictures of report and explorer for the README, from the demo run: `make screenshots`."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bes.explore.server import make_server
from bes.stored import StoredRun

RUN = Path("runs/demo")
IMAGES = Path("docs/images")


def report(page: Page) -> None:
    page.goto((RUN / "report.html").resolve().as_uri())
    page.wait_for_timeout(1500)  # the map is drawn
    page.screenshot(path=IMAGES / "report.png")


def explorer(page: Page) -> None:
    run = StoredRun(RUN)
    server, url = make_server(run)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    page.fill("#search", run.graph.ids[run.rows(run.seeds[0])["boundary"][0]])
    page.keyboard.press("Enter")
    page.check("#ring")
    page.wait_for_timeout(2500)  # it flies to the node
    page.screenshot(path=IMAGES / "explorer.png")
    server.shutdown()


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("No chromium here: install Debian's package chromium.")
    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        report(browser.new_page(viewport={"width": 1280, "height": 1560}))
        explorer(browser.new_page(viewport={"width": 1280, "height": 860}))
        browser.close()


if __name__ == "__main__":
    main()
