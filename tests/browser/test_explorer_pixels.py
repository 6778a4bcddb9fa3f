"""What is drawn on screens of all sizes, without a quick graphics card, and with many classes."""

import io
import math
from typing import Any

import numpy as np
import pytest
from playwright import sync_api

from bes.explore.server import Server
from explore.made import made_graph, made_run, serving
from explore.page import Explorer, is_wrong

image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

#: Reading a pixel takes so long that the page believes to be drawn without a graphics card.
SLOW = """
const read = WebGL2RenderingContext.prototype.readPixels;
WebGL2RenderingContext.prototype.readPixels = function (...given) {
  const start = performance.now();
  while (performance.now() < start + 20);
  return read.apply(this, given);
};
"""

#: `carryTo(ratio)` moves the window to another screen, which a browser that is not seen never tells.
SCREENS = """
const ask = window.matchMedia.bind(window);
const asked = new Map();
let ratio = 1;
Object.defineProperty(window, "devicePixelRatio", { get: () => ratio });
window.matchMedia = (query) => {
  if (!query.includes("resolution")) return ask(query);
  asked.set(query, new EventTarget());
  return asked.get(query);
};
window.carryTo = (other) => {
  const left = asked.get(`(resolution: ${ratio}dppx)`);
  ratio = other;
  left.dispatchEvent(new Event("change"));
};
"""

#: A point of each shape, 40 pixels wide, in white on black; of each the red of its pixels.
SHAPES = """async (shaders) => {
  const { build } = await import(shaders);
  const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 40 });
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, preserveDrawingBuffer: true });
  const program = build(gl);
  gl.useProgram(program);
  gl.uniform4f(gl.getUniformLocation(program, "frame"), 0, 0, 1, 1);
  gl.uniform1f(gl.getUniformLocation(program, "size"), 40);
  gl.vertexAttrib4f(2, 1, 1, 1, 1);
  return [0, 1, 2, 3, 4, 5].map((shape) => {
    gl.vertexAttrib1f(3, shape);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.drawArrays(gl.POINTS, 0, 1);
    const bytes = new Uint8Array(4 * 40 * 40);
    gl.readPixels(0, 0, 40, 40, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    return [...bytes].filter((_, i) => i % 4 === 0);
  });
}"""

LARGE = {"viewport": {"width": 2560, "height": 1440}, "device_scale_factor": 2}


def pixels(explorer: Explorer) -> Any:
    return np.asarray(image.open(io.BytesIO(explorer.picture())).convert("RGB")).astype(int)


def drawn(explorer: Explorer) -> float:
    """The share of the picture that is not paper."""
    seen = pixels(explorer)
    return float((np.abs(seen - seen[-20, 20]).max(2) > 30).mean())


@pytest.mark.parametrize("page", [LARGE], indirect=True)
def test_a_large_screen_without_a_quick_card_shows_the_map(page: "sync_api.Page", awkward_server: Server) -> None:
    straight = drawn(Explorer(page, awkward_server))
    page.add_init_script(SLOW)
    explorer = Explorer(page, awkward_server)
    page.wait_for_timeout(500)  # it has found out how quick this machine is
    assert drawn(explorer) == pytest.approx(straight, rel=0.02)
    still = pixels(explorer)
    box = explorer.box
    page.mouse.move(box["x"] + 600, box["y"] + 600)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 600, steps=4)
    page.mouse.up()
    moved = pixels(explorer)
    away = {
        by: float((np.abs(moved[400:, by:-400] - still[400:, : -400 - by]).max(2) > 40).mean()) for by in (200, 230)
    }
    assert away[200] < 0.2 * away[230], "what the cache holds is as wide and high as what was drawn"


@pytest.mark.parametrize("limit", [700, 1400])
def test_no_limit_of_the_card_leaves_the_map_empty(page: "sync_api.Page", awkward_server: Server, limit: int) -> None:
    page.add_init_script(
        f"""{SLOW}
        const ask = WebGL2RenderingContext.prototype.getParameter;
        WebGL2RenderingContext.prototype.getParameter = function (name) {{
          return name === this.MAX_RENDERBUFFER_SIZE ? {limit} : ask.call(this, name);
        }};"""
    )
    explorer = Explorer(page, awkward_server)
    page.wait_for_timeout(500)
    assert page.evaluate("Math.max(map.width, map.height)") <= limit
    assert drawn(explorer) > 0.005


def test_another_ratio_of_pixels_is_followed(page: "sync_api.Page", awkward_server: Server) -> None:
    page.add_init_script(SCREENS)
    explorer = Explorer(page, awkward_server)
    wide = page.evaluate("map.clientWidth")
    for ratio in (2, 1, 1.5):
        page.evaluate("(ratio) => carryTo(ratio)", ratio)
        assert page.evaluate("map.width") == round(ratio * wide)
        explorer.settle()


def test_forty_classes_differ_in_colour_or_shape(
    page: "sync_api.Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = made_graph(1000, 40, [f"n{i}" for i in range(1000)])
    for server in serving(made_run(tmp_path_factory.mktemp("many") / "run", graph)):
        Explorer(page, server)
        looks = page.evaluate(
            """[...document.querySelectorAll("#legend .swatch")].slice(0, 40).map((swatch) => {
              const { backgroundColor, clipPath, borderRadius } = getComputedStyle(swatch);
              return [backgroundColor, clipPath, borderRadius].join();
            })"""
        )
        assert len(looks) == len(set(looks)) == 40


def test_the_shader_draws_six_shapes(explorer: Explorer, awkward_server: Server) -> None:
    found = explorer.page.evaluate(SHAPES, f"/{awkward_server.token}/shaders.js")
    masks = [np.array(mask).reshape(40, 40) > 127 for mask in found]
    assert len({mask.tobytes() for mask in masks}) == 6
    areas = [math.pi / 4, 0.85**2, 0.42, 0.5, 0.59, 0.42]
    assert [mask.mean() for mask in masks] == pytest.approx(areas, abs=0.06)
    for mask in masks:
        assert (mask == mask[:, ::-1]).mean() > 0.97, "left and right are alike"
    rows = np.arange(40)[:, None]
    low = [(mask * rows).sum() / mask.sum() for mask in masks]
    assert low[5] > low[0] + 1 > low[2] + 2, "rows are counted from below: one triangle points up, one down"


@pytest.mark.parametrize(
    ("kind", "text", "wrong"),
    [
        ("error", "anything", True),
        ("warning", "[.WebGL-0x1] GL_INVALID_VALUE: Desired resource size is too large.", True),
        ("warning", "[.WebGL-0x1]GL Driver Message (OpenGL, Performance, GL_CLOSE_PATH_NV, High): GPU stall", False),
        ("warning", "something else", False),
        ("log", "WebGL", False),
    ],
)
def test_warnings_of_the_drawing_count_as_errors(kind: str, text: str, wrong: bool) -> None:
    assert is_wrong(kind, text) is wrong
