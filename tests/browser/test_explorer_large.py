"""The explorer's promise for 200,000 nodes: a picture within five seconds, under 30 MB, and a map that follows."""

import io
import json
import time
from collections.abc import Iterator

import numpy as np
import pytest
from playwright import sync_api

from bes.explore.server import Server
from explore.made import made_graph, made_run, serving

image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

NODES = 200_000
SECONDS, MEGABYTES, MOVES = 5, 30, 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    graph = made_graph(NODES, 10, [f"paper-{i:06}" for i in range(NODES)])
    yield from serving(made_run(tmp_path_factory.mktemp("large") / "run", graph))


def frames(page: "sync_api.Page") -> int:
    return int(page.get_attribute("#map", "data-frames") or 0)


def pixels(page: "sync_api.Page") -> np.ndarray:
    return np.asarray(image.open(io.BytesIO(page.locator("#map").screenshot())).convert("RGB")).astype(int)


def first_picture(page: "sync_api.Page", url: str) -> float:
    """Seconds from the start of navigation to the first picture, when its pixels can be read."""
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    mark: float = page.evaluate("performance.getEntriesByName('first-picture')[0].startTime")
    return mark / 1000


def test_the_first_picture_is_soon_there_and_the_page_is_light(page: "sync_api.Page", server: Server) -> None:
    network = page.context.new_cdp_session(page)
    received: list[float] = []
    network.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    network.send("Network.enable")
    took = [first_picture(page, server.url)]
    weight = sum(received) / 1e6
    while took[-1] >= SECONDS and len(took) < 3:  # a machine that was busy gets another chance
        took.append(first_picture(page, server.url))
    print(f"first picture after {took[-1]:.2f} s, {weight:.1f} MB")
    assert took[-1] < SECONDS
    assert 5 < weight < MEGABYTES


def test_the_map_follows_the_hand(page: "sync_api.Page", server: Server) -> None:
    first_picture(page, server.url)
    page.wait_for_timeout(1500)  # it has found out how quick this machine is
    before, drawn, start = pixels(page), frames(page), time.perf_counter()
    page.mouse.move(700, 400)
    page.mouse.down()
    for i in range(1, MOVES + 1):
        page.mouse.move(700 - 3 * i, 400 + i)
    page.mouse.up()
    seconds = time.perf_counter() - start
    drawn = frames(page) - drawn
    print(f"{drawn} frames for {MOVES} moves, {drawn / seconds:.1f} a second")
    assert drawn >= MOVES / 3
    page.mouse.move(5, 5)
    page.wait_for_timeout(500)
    moved = pixels(page)
    page.check("#ring")
    page.uncheck("#ring")
    page.wait_for_timeout(1500)
    anew = pixels(page)
    assert (np.abs(moved - before).max(2) > 40).mean() > 0.1, "the picture has moved"
    assert (np.abs(moved - anew).max(2) > 40).mean() < 0.02, "and is the one that is drawn anew"


def test_search_and_click_serve_so_many(page: "sync_api.Page", server: Server) -> None:
    first_picture(page, server.url)
    page.fill("#search", "123456")
    page.press("#search", "Enter")
    sync_api.expect(page.locator("#node-id")).to_have_text("paper-123456")
    for _ in range(100):  # a busy machine begins the flight late
        x, y, _, _ = json.loads(str(page.get_attribute("#map", "data-view")))
        if np.allclose((x, y), server.nodes.arrays["stage0"][123456], rtol=1e-5):
            break
        page.wait_for_timeout(100)
    np.testing.assert_allclose((x, y), server.nodes.arrays["stage0"][123456], rtol=1e-5)
    page.select_option("#color", "margin")
    page.focus("#stage")
    page.keyboard.press("End")
    sync_api.expect(page.locator("#by")).to_have_text("As decoded after shaping")
