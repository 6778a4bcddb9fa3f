"""Headless Chromium for pages: skipped with a message where there is none."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright import sync_api

from bes.explore.server import Server
from explore.made import serving
from explore.page import Explorer, awkward_run, is_wrong

#: Debian's name first; a browser elsewhere can be named by the environment.
CHROMIUM = os.environ.get("BES_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

#: WebGL without a graphics card, and no sandbox because tests may run as root in a container.
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="session")
def browser() -> "Iterator[sync_api.Browser]":
    """One browser for all pages of a test process."""
    if CHROMIUM is None:
        pytest.skip("no chromium here: install Debian's package chromium, or name one in BES_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def wrong() -> list[str]:
    """What went wrong on the page; a test that lets something fail looks at it and empties it."""
    return []


@pytest.fixture
def page(browser: "sync_api.Browser", wrong: list[str], request: pytest.FixtureRequest) -> "Iterator[sync_api.Page]":
    """A fresh page that lets no error pass: neither in the console, nor a dialog, nor a request to the network.

    Given indirectly, parameters are options of the browser's context.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})})
    page = context.new_page()
    page.on("console", lambda said: wrong.append(said.text) if is_wrong(said.type, said.text) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if _local(request.url) else wrong.append(f"request: {request.url}"))
    yield page
    context.close()
    assert wrong == []


@pytest.fixture(scope="session")
def awkward_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """150 nodes in four classes, some with awkward names."""
    yield from serving(awkward_run(tmp_path_factory.mktemp("made") / "run"))


@pytest.fixture
def explorer(page: "sync_api.Page", awkward_server: Server) -> Explorer:
    return Explorer(page, awkward_server)


def _local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))
