"""The explorer's page in a browser, and where its nodes are on it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from playwright import sync_api

from bes.explore.server import Server
from bes.stored import StoredRun
from explore.made import made_graph, made_run

#: Ids that would be run if they were read as HTML, or split if they were not quoted.
HOSTILE = ["<img src=x onerror=alert(1)>", 'a "quoted", id', "line\nbreak", " spaces "]
CLASSES = ("red", "<b>green</b>", "blue", "grey, light")

#: Points at which a loop is drawn, as shares of the canvas: a slanted square, and one whose sides cross.
LOOPS = [
    [(0.3, 0.2), (0.8, 0.35), (0.65, 0.85), (0.2, 0.6)],
    [(0.2, 0.2), (0.8, 0.8), (0.8, 0.2), (0.2, 0.8)],
]


def awkward_run(folder: Path) -> StoredRun:
    """150 nodes in four classes, some with awkward names."""
    return made_run(folder, made_graph(150, 4, HOSTILE + [f"n{i}" for i in range(146)], CLASSES))


class Explorer:
    """The page, and where its nodes are on it."""

    def __init__(self, page: "sync_api.Page", server: Server) -> None:
        self.page, self.nodes = page, server.nodes
        assert server.nodes.ids is not None
        self.ids = server.nodes.ids
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        self.settle()

    def settle(self) -> None:
        """Until nothing moves any more."""
        self.page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        self.page.wait_for_selector("#map[data-still=true]")

    @property
    def box(self) -> Any:
        return self.page.locator("#map").bounding_box()

    @property
    def view(self) -> list[float]:
        """Middle, scale and stage."""
        found: list[float] = json.loads(str(self.page.locator("#map").get_attribute("data-view")))
        return found

    @property
    def spots(self) -> np.ndarray:
        """Where each node is in the window, `[N, 2]`."""
        (x, y, scale, stage), box = self.view, self.box
        points = self.nodes.arrays[f"stage{round(stage)}"].astype(float)
        right = (points[:, 0] - x) * scale + box["width"] / 2 + box["x"]
        down = box["height"] / 2 - (points[:, 1] - y) * scale + box["y"]
        return np.stack([right, down], axis=1)

    def lonely(self) -> int:
        """The node on the map that is farthest from all others."""
        spots, box = self.spots, self.box
        away = np.hypot(*(spots[:, None] - spots[None]).T)
        np.fill_diagonal(away, np.inf)
        margin = 60
        inside = (spots[:, 0] > box["x"] + margin) & (spots[:, 0] < box["x"] + box["width"] - 300)
        inside &= (spots[:, 1] > box["y"] + margin) & (spots[:, 1] < box["y"] + box["height"] - margin)
        return int(np.where(inside, away.min(0), 0).argmax())

    def click(self, node: int) -> None:
        self.page.mouse.click(*self.spots[node].tolist())
        self.opened(node)

    def opened(self, node: int) -> None:
        """Until the panel tells of this node."""
        sync_api.expect(self.page.locator("#node-id")).to_have_text(self.ids[node])
        assert self.page.locator("#node-id").text_content() == self.ids[node]
        self.settle()

    def find(self, text: str) -> None:
        self.page.fill("#search", text)
        self.page.press("#search", "Enter")

    def picture(self) -> bytes:
        self.settle()
        self.page.mouse.move(5, 5)
        return bytes(self.page.locator("#map").screenshot())

    def draw(self, loop: list[tuple[float, float]], *, shift: bool) -> list[tuple[float, float]]:
        """Draw a loop by shares of the canvas; returns its corners in the window."""
        box, mouse = self.box, self.page.mouse
        corners = [(round(box["x"] + x * box["width"]), round(box["y"] + y * box["height"])) for x, y in loop]
        if shift:
            self.page.keyboard.down("Shift")
        else:
            self.page.click("#lasso")
        mouse.move(*corners[0])
        mouse.down()
        for corner in corners[1:]:
            mouse.move(*corner, steps=4)
        mouse.up()
        self.page.keyboard.up("Shift")
        self.settle()
        return [(float(x), float(y)) for x, y in corners]

    def table(self) -> list[dict[str, str]]:
        """The CSV of the selection."""
        with self.page.expect_download() as download:
            self.page.click("#csv")
        with open(download.value.path(), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(io.StringIO(file.read())))


def inside(point: np.ndarray, polygon: list[tuple[float, float]]) -> bool:
    """How often a ray to the right crosses the sides, counted one by one."""
    crossings = 0
    for (ax, ay), (bx, by) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if (ay > point[1]) != (by > point[1]):
            crossings += point[0] < ax + (point[1] - ay) / (by - ay) * (bx - ax)
    return crossings % 2 == 1


def is_wrong(kind: str, text: str) -> bool:
    """Errors, and what WebGL only warns of although the picture lacks it; hints about speed are none."""
    drawing = ("WebGL" in text or "GL_" in text) and "Performance" not in text
    return kind == "error" or (kind == "warning" and drawing)
