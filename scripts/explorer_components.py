"""What draws the explorer's map: our WebGL view against plotly's scattergl, on the same points in the same browser.

    python scripts/explorer_components.py [NODES]

Prints time to the first picture, frames a second while dragging, and what is transferred; and their ratios. Figures of
one run compare with each other, not with those of another machine. Needs Chromium.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import plotly
from playwright.sync_api import Browser, sync_playwright

from bes.explore.payload import Nodes
from bes.explore.server import make_server

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from explore.made import made_graph, made_run

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
DRAG = 4.0  # seconds
ROUNDS = 2

#: A trace a class, as plotly wants them; the mark is set two frames after it says that it is done.
PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><style>body { margin: 0 }</style>
<div id="map"></div><script src="plotly.min.js"></script><script type="module">
const [points, classes] = await Promise.all(["stage0", "class"].map(async (name) =>
  (await fetch(`${name}.bin`)).arrayBuffer()));
const at = new Float32Array(points), of = new Int32Array(classes), traces = new Map();
of.forEach((c, i) => { if (!traces.has(c)) traces.set(c, []); traces.get(c).push(i); });
const data = [...traces].map(([c, rows]) => ({ type: "scattergl", mode: "markers", name: `Class ${c}`,
  x: Float32Array.from(rows, (i) => at[2 * i]), y: Float32Array.from(rows, (i) => at[2 * i + 1]),
  marker: { size: 3, opacity: 0.6 } }));
await Plotly.newPlot("map", data, { dragmode: "pan", width: 1016, height: 798 });
requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first-picture")));
</script>"""


class Quiet(SimpleHTTPRequestHandler):
    """A folder, without a log."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def plotly_page(folder: Path, nodes: Nodes) -> ThreadingHTTPServer:
    """The same points and classes as plotly draws them."""
    folder.mkdir()
    (folder / "index.html").write_text(PAGE)
    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", folder)
    for name in ("stage0", "class"):
        (folder / f"{name}.bin").write_bytes(nodes.arrays[name].tobytes())
    return ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))


def measure(browser: Browser, url: str) -> dict[str, float]:
    """One visit: load, wait for the picture, drag."""
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    network, received = page.context.new_cdp_session(page), [0.0]
    network.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    network.send("Network.enable")
    page.goto(url)
    found = "performance.getEntriesByName('first-picture').map((mark) => mark.startTime)"
    while not (marks := page.evaluate(found)):
        time.sleep(0.05)
    time.sleep(2)
    page.evaluate(
        "() => { window.ticks = 0; const tick = () => { ticks += 1; requestAnimationFrame(tick); }; tick(); }"
    )
    page.mouse.move(600, 400)
    page.mouse.down()
    first, start, moves = page.evaluate("ticks"), time.perf_counter(), 0
    while time.perf_counter() - start < DRAG:
        moves += 1
        page.mouse.move(600 + 120 * math.sin(moves / 8), 400 + 80 * math.cos(moves / 8))
    spent = time.perf_counter() - start
    rate = (page.evaluate("ticks") - first) / spent
    page.close()
    return {"first picture, s": marks[0] / 1000, "frames a second": rate, "transferred, MB": sum(received) / 1e6}


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("No chromium here: install Debian's package chromium.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        ours, url = make_server(made_run(Path(folder) / "run", made_graph(n, 10)))
        theirs = plotly_page(Path(folder) / "plotly", ours.nodes)
        for server in (ours, theirs):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        pages = {"ours": url, "plotly": f"http://127.0.0.1:{theirs.server_port}/"}
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        rounds = [{name: measure(browser, at) for name, at in pages.items()} for _ in range(ROUNDS)]
        browser.close()
        print(f"{n} nodes, better of {ROUNDS} visits each, one after the other")
        for what, best in (("first picture, s", min), ("frames a second", max), ("transferred, MB", min)):
            left, right = (best(found[name][what] for found in rounds) for name in pages)
            print(f"{what:18} ours {left:8.2f}   plotly {right:8.2f}   ours / plotly {left / right:6.2f}")


if __name__ == "__main__":
    main()
