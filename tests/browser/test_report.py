"""The report as people use it: with the mouse, with the keyboard alone, in the dark, on a phone."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright import sync_api

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.report.compare import write_comparison
from bes.report.html import write_report
from bes.runs import run
from bes.stored import StoredRun

NASTY = "<img src=x onerror=alert(1)>"

#: The map of the page, in its script.
MAP = "document.querySelector('.map').map"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Callable[..., RunConfig]) -> StoredRun:
    """Two seeds of a graph whose names are HTML."""
    ids = tuple(f"{NASTY}{i}" for i in range(small_graph.n_nodes))
    names = Names(ids, classes=("<b>bold</b>", "</script>", 'a "quoted" class'))
    graph = replace(small_graph, names=names)
    return StoredRun(run(quick(), graph, [0, 1], tmp_path_factory.mktemp("report") / "run").path)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Callable[..., RunConfig]) -> StoredRun:
    """A seed of link prediction whose pairs are shaped."""
    plan = quick(task="link", links={"boundary": "pairs"})
    return StoredRun(run(plan, small_graph, [0], tmp_path_factory.mktemp("pairs") / "link").path)


@pytest.fixture
def report(page: Any, stored: StoredRun) -> Any:
    """The report, opened, with motion as if it were unwelcome: a test need not wait."""
    page.emulate_media(reduced_motion="reduce")
    page.goto(write_report(stored).as_uri())
    return page


def positions(page: Any) -> list[float]:
    found: list[float] = page.evaluate(f"Array.from({MAP}.now)")
    return found


def stage(page: Any, number: int) -> list[float]:
    found: list[float] = page.evaluate(f"Array.from({MAP}.seed.stages[{number}])")
    return found


def inked(page: Any) -> int:
    """Pixels of the canvas that are drawn on, once anything is."""
    found = 0
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    for _ in range(100):
        found = page.evaluate(
            "() => { const c = document.querySelector('canvas'); let n = 0;"
            "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }"
        )
        if found:
            break
        page.wait_for_timeout(20)  # a page draws when the browser asks for a frame
    return found


def wait(page: Any, true: str) -> None:
    """Until the expression is true: Playwright's own wait is forbidden by the page's policy."""
    for _ in range(200):
        if page.evaluate(true):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"It never is true that {true}.")


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until the focus is there."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"Tab does not reach {selector}.")


def test_the_switch_moves_the_points(report: Any) -> None:
    last = report.evaluate(f"{MAP}.seed.stages.length - 1")
    assert last >= 1
    assert positions(report) == stage(report, 0)
    assert inked(report) > 500
    report.get_by_role("button", name="after", exact=True).click()
    assert positions(report) == stage(report, last) != stage(report, 0)
    assert report.locator(".after").get_attribute("aria-pressed") == "true"
    assert report.locator(".before").get_attribute("aria-pressed") == "false"
    assert report.locator("input.layer").input_value() == str(last)
    report.get_by_role("button", name="before", exact=True).click()
    assert positions(report) == stage(report, 0)


def test_the_points_move_and_do_not_jump_where_motion_is_welcome(page: Any, stored: StoredRun) -> None:
    page.emulate_media(reduced_motion="no-preference")
    page.goto(write_report(stored).as_uri())
    first, last = stage(page, 0), stage(page, -1 + page.evaluate(f"{MAP}.seed.stages.length"))
    page.evaluate(f"{MAP}.go({MAP}.seed.stages.length - 1)")
    assert positions(page) != last, "it has just begun"
    wait(page, f"{MAP}.now.every((v, i) => v === {MAP}.seed.stages.at(-1)[i])")
    assert positions(page) == last != first


def test_the_slider_goes_through_the_layers(report: Any) -> None:
    slider = report.get_by_role("slider", name="Layer")
    layers = int(slider.get_attribute("max"))
    assert layers == 2
    for number, words in enumerate(("encoders", "after layer 1", "after layer 2")):
        slider.fill(str(number))
        assert positions(report) == stage(report, number)
        assert slider.get_attribute("aria-valuetext") == words
        assert report.locator("output").inner_text() == words
        assert words in report.locator("canvas").get_attribute("aria-label")


def test_the_keyboard_alone_operates_switch_and_slider(report: Any) -> None:
    tab_to(report, ".after")
    assert report.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    report.keyboard.press("Enter")
    assert positions(report) == stage(report, 2)
    tab_to(report, "input.layer")
    report.keyboard.press("ArrowLeft")
    assert positions(report) == stage(report, 1)
    report.keyboard.press("Home")
    assert positions(report) == stage(report, 0)
    tab_to(report, "canvas")
    before = report.evaluate(f"[{MAP}.zoom, ...{MAP}.middle]")
    report.keyboard.press("+")
    report.keyboard.press("ArrowLeft")
    after = report.evaluate(f"[{MAP}.zoom, ...{MAP}.middle]")
    assert after[0] > before[0]
    assert after[1] != before[1]
    tab_to(report, ".legend button")
    drawn = inked(report)
    report.keyboard.press("Space")
    assert report.locator(".legend button").first.get_attribute("aria-pressed") == "false"
    assert inked(report) < drawn


def test_the_first_stop_skips_to_the_report(report: Any) -> None:
    report.keyboard.press("Tab")
    assert report.evaluate("document.activeElement.textContent") == "Skip to the report"
    report.keyboard.press("Enter")
    assert report.evaluate("document.activeElement.tagName") == "MAIN"


def test_colours_follow_class_prediction_and_error(report: Any, stored: StoredRun) -> None:
    y = stored.graph.y.tolist()
    guess = {arm: stored.predictions(0, arm)["prob"].argmax(1).tolist() for arm in ("control", "bes")}
    code = f"Array.from({MAP}.code)"
    assert report.evaluate(code) == y
    colour = report.get_by_label("Colour")
    colour.select_option("prediction")
    assert report.evaluate(code) == guess["control"]
    report.locator(".after").click()
    assert report.evaluate(code) == guess["bes"]
    colour.select_option("error")
    test = set(stored.split(0)["test"].tolist())
    said = {(True, True): 0, (False, True): 1, (True, False): 2, (False, False): 3}
    rows = enumerate(zip(guess["control"], guess["bes"], y, strict=True))
    expected = [said[a == c, b == c] if i in test else len(said) for i, (a, b, c) in rows]
    assert report.evaluate(code) == expected
    legend = " ".join(report.locator(".legend .text").all_inner_texts())
    assert f"right in both ({expected.count(0)})" in legend
    assert f"not in test ({expected.count(4)})" in legend
    report.get_by_role("combobox", name="Show").select_option("test")
    shown = report.evaluate(f"Array.from({MAP}.visible)")
    assert [i for i, one in enumerate(shown) if one] == sorted(stored.split(0)["test"].tolist())


@pytest.fixture(scope="module")
def uneven(stored: StoredRun, tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """Two seeds, of which the first found no boundary and the second has lost its arm bes."""
    path = shutil.copytree(stored.path, tmp_path_factory.mktemp("uneven") / "run")
    rows = stored.rows(0)
    np.savez(path / "embeddings" / "0.npz", **{**rows, "boundaries": np.zeros_like(rows["boundaries"])})
    lines = (path / "records.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if (json.loads(line)["seed"], json.loads(line)["arm"]) != (1, "bes")]
    (path / "records.jsonl").write_text("".join(kept))
    return StoredRun(path)


def test_each_seed_offers_what_it_has(page: Any, uneven: StoredRun) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(write_report(uneven).as_uri())
    slider, still, colour = (page.locator(name) for name in (".slider", ".still", ".colour"))
    assert not slider.is_visible()
    assert still.is_visible()
    colour.select_option("error")
    page.locator("select.seeds").first.select_option("1")
    assert slider.is_visible()
    assert not still.is_visible()
    assert page.locator("input.layer").get_attribute("max") == "2"
    assert colour.input_value() == "class", "there is no outcome without bes"
    assert page.evaluate(f"Array.from({MAP}.code)") == uneven.graph.y.tolist()
    offered = page.evaluate("[...document.querySelectorAll('.colour option')].filter((o) => !o.disabled).length")
    assert offered == 2
    page.locator(".after").click()
    colour.select_option("prediction")
    guess = uneven.predictions(1, "control")["prob"].argmax(1).tolist()
    assert page.evaluate(f"Array.from({MAP}.code)") == guess, "of the arm that there is"
    page.locator("select.seeds").first.select_option("0")
    assert not slider.is_visible()
    assert positions(page) == stage(page, 0)


def test_what_is_found_is_shown(report: Any, stored: StoredRun) -> None:
    node = int(stored.split(0)["train"][0])
    report.get_by_role("combobox", name="Show").select_option("test")
    assert not report.evaluate(f"{MAP}.visible[{node}]")
    report.get_by_label("Find a node").fill(f" {NASTY}{node} ")
    report.keyboard.press("Enter")
    assert report.evaluate(f"[{MAP}.marked, {MAP}.visible[{node}]]") == [node, 1]
    assert report.get_by_role("combobox", name="Show").input_value() == "all"


def test_a_pair_is_found_in_any_writing(page: Any, linked: StoredRun) -> None:
    page.goto(write_report(linked).as_uri())
    a, b = linked.rows(0)["pair"][5].tolist()
    for text in (f"{a}-{b}", f"{b} - {a}", f" {b}-{a} ", f"{a} \N{EN DASH} {b}"):
        page.locator(".find input").fill(text)
        page.keyboard.press("Enter")
        assert page.evaluate(f"{MAP}.marked") == 5, text
        page.evaluate(f"{MAP}.mark(-1)")
    page.locator(".find input").fill(f"{a}-{a}")
    page.keyboard.press("Enter")
    assert "No pair of that name" in page.locator(".found").inner_text()


def test_a_finger_moves_the_map_once_it_is_zoomed(report: Any) -> None:
    canvas = report.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    touch = report.context.new_cdp_session(report)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def drag() -> list[float]:
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for kind, moves in (("touchStart", [0]), ("touchMove", [10, 40, 80])):
            for by in moves:
                touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x + by, "y": y}]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        found: list[float] = report.evaluate(f"{MAP}.middle")
        return found

    before = report.evaluate(f"{MAP}.middle")
    assert canvas.evaluate("(c) => getComputedStyle(c).touchAction") == "pan-y pinch-zoom"
    assert drag() == before
    report.get_by_role("button", name="Zoom in").click()
    assert canvas.evaluate("(c) => getComputedStyle(c).touchAction") == "pinch-zoom"
    after = drag()
    assert after[0] < before[0]
    assert after[1] == pytest.approx(before[1])


def test_points_keep_their_size_on_another_screen(report: Any) -> None:
    size = f"{MAP}.sprites[0].width / {MAP}.canvas.width"
    wait(report, f"{MAP}.canvas.width === Math.round(devicePixelRatio * {MAP}.width)")  # until it is laid out
    small, share = report.evaluate(f"[{MAP}.sprites[0].width, {size}]")
    session = report.context.new_cdp_session(report)
    session.send(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 901, "deviceScaleFactor": 3, "mobile": False}
    )
    wait(report, f"{MAP}.canvas.width === Math.round(3 * {MAP}.width)")
    assert report.evaluate(f"{MAP}.sprites[0].width") > 2.5 * small
    assert report.evaluate(size) == pytest.approx(share, rel=0.1)


#: The smallest contrast of the text of some elements with what is behind it, on the page's paper.
CONTRAST = """(elements) => {
  const ctx = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (...layers) => {
    for (const color of layers) { ctx.fillStyle = color; ctx.fillRect(0, 0, 1, 1); }
    const part = [...ctx.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255);
    const [r, g, b] = part.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  return Math.min(...elements.map((element) => {
    const style = getComputedStyle(element);
    if (style.opacity !== "1") return 0;
    const pair = [light(paper, style.backgroundColor, style.color), light(paper, style.backgroundColor)];
    return Math.max(...pair) / Math.min(...pair);
  }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_on_every_shade(report: Any, scheme: str) -> None:
    report.emulate_media(color_scheme=scheme)
    report.evaluate("document.querySelectorAll('.matrix td[style]').forEach((c) => c.style.setProperty('--s', 1))")
    report.locator(".legend button").first.click()
    report.mouse.move(0, 0)
    for what in (".matrix tbody td", ".matrix td.less", ".matrix td.zero", ".legend button[aria-pressed='false']"):
        assert report.locator(what).count(), what
        assert report.locator(what).evaluate_all(CONTRAST) >= 4.5, what


def test_the_boundary_of_the_layer_is_ringed(report: Any, stored: StoredRun) -> None:
    sizes = stored.rows(0)["boundaries"].sum(1).tolist()
    for number, layer in enumerate((0, 1, 1)):
        report.get_by_role("slider", name="Layer").fill(str(number))
        text = f"boundary of layer {layer + 1} ({sizes[layer]})"
        assert report.locator(".legend .ring").inner_text() == text
    with_rings = inked(report)
    report.locator(".legend .ring").click()
    assert inked(report) < with_rings


def test_pointing_and_finding_tell_of_a_node_in_text(report: Any, stored: StoredRun) -> None:
    report.locator("canvas").scroll_into_view_if_needed()
    x, y = report.evaluate(f"{MAP}.lens()(0)")
    box = report.locator("canvas").bounding_box()
    report.mouse.move(box["x"] + x, box["y"] + y)
    tip = report.locator(".tip").inner_text()
    assert tip.startswith(NASTY)
    for word in ("class: ", "control: ", "bes: "):
        assert word in tip
    report.get_by_label("Find a node").fill(f"{NASTY}7")
    report.keyboard.press("Enter")
    assert report.locator(".found").inner_text().startswith(f"{NASTY}7 · class: {stored.graph.class_names[0]}")
    report.get_by_label("Find a node").fill("nobody")
    report.keyboard.press("Enter")
    assert "No node of that name" in report.locator(".found").inner_text()


def test_names_with_html_stay_text_everywhere(report: Any, stored: StoredRun) -> None:
    for seed in stored.seeds:
        report.locator("select.seeds").first.select_option(str(seed))
        for colour in ("class", "prediction", "error"):
            report.get_by_label("Colour").select_option(colour)
    assert report.locator("img").count() == 0
    assert report.locator("main b").count() == 0
    assert NASTY in report.locator(".changed").first.text_content()
    report.get_by_label("Colour").select_option("class")
    assert "<b>bold</b>" in report.locator(".legend").inner_text()


def test_a_seed_is_chosen_for_all_sections(report: Any) -> None:
    first = stage(report, 0)
    choices = report.locator("select.seeds")
    assert choices.count() == 3
    choices.nth(1).select_option("1")
    assert [choices.nth(i).input_value() for i in range(3)] == ["1", "1", "1"]
    assert report.evaluate(f"{MAP}.seed.seed") == 1
    assert positions(report) != first
    for part in report.locator("[data-seed]").all():
        assert part.is_visible() == (part.get_attribute("data-seed") == "1")


def test_a_changed_node_leads_to_the_map(report: Any, stored: StoredRun) -> None:
    seed = next(s for s in stored.seeds if report.locator(f"[data-seed='{s}'] .changed").count())
    report.locator("select.seeds").first.select_option(str(seed))
    button = report.locator(f"[data-seed='{seed}'] .changed th.id button").first
    button.click()
    name = button.inner_text()
    assert report.evaluate(f"{MAP}.name({MAP}.marked)") == name
    assert report.locator(".found").inner_text().startswith(name)


def test_tables_sort_by_click_and_by_key(report: Any) -> None:
    table = report.locator("table.sortable").first
    head = table.locator("thead th").nth(2)
    column = table.locator("tbody tr td:nth-child(3)")
    rows = sorted(table.locator("tbody tr").all_inner_texts())

    def numbers() -> list[float]:
        return [float(text.split()[0]) for text in column.all_inner_texts()]

    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert numbers() == sorted(numbers())
    assert head.get_attribute("aria-sort") == "ascending"
    report.keyboard.press("Enter")
    assert numbers() == sorted(numbers(), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    table.locator("thead th").nth(1).get_by_role("button").press("Space")
    words = table.locator("tbody tr td:nth-child(2)").all_inner_texts()
    assert words == sorted(words, key=str.lower)
    assert head.get_attribute("aria-sort") == "none"
    assert sorted(table.locator("tbody tr").all_inner_texts()) == rows, "no row is lost"


def test_light_and_dark(report: Any) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    button = report.get_by_role("button", name="Dark")
    light = report.evaluate(paper)
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    dark = report.evaluate(paper)
    assert button.get_attribute("aria-pressed") == "true"
    assert dark != light
    report.reload()
    assert report.evaluate(paper) == dark, "the choice is kept"
    button.click()
    assert report.evaluate(paper) == light


def test_the_system_s_dark_is_followed(page: Any, stored: StoredRun) -> None:
    path = write_report(stored).as_uri()
    seen = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(path)
        seen[scheme] = page.evaluate(f"[getComputedStyle(document.body).backgroundColor, {MAP}.theme.ink]")
        assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == str(scheme == "dark").lower()
    assert seen["light"][0] != seen["dark"][0]
    assert seen["light"][1] != seen["dark"][1], "the canvas follows"


@pytest.mark.parametrize("width", [320, 375])
def test_a_phone_never_scrolls_sideways(report: Any, width: int) -> None:
    report.set_viewport_size({"width": width, "height": 800})
    assert report.evaluate("document.documentElement.scrollWidth") <= width
    boxes = report.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((b) => b.scrollWidth > b.clientWidth + 1).length"
    )
    assert boxes, "wide tables scroll in a box of their own"
    wait(
        report,
        "[...document.querySelectorAll('.scroll')].filter((b) => b.checkVisibility())"
        ".every((b) => b.scrollWidth <= b.clientWidth + 1 || b.tabIndex === 0)",
    )


def test_every_control_has_a_name(report: Any) -> None:
    nameless = report.evaluate(
        "[...document.querySelectorAll('button, select, input')].filter((e) =>"
        "!(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length))).length"
    )
    assert nameless == 0
    assert report.locator("main").count() == 1


def test_on_paper_controls_are_gone_and_colours_light(report: Any) -> None:
    report.get_by_role("button", name="Dark").click()
    report.emulate_media(media="print")
    sync_api.expect(report.locator(".controls")).not_to_be_visible()
    assert (
        report.evaluate("(dispatchEvent(new Event('beforeprint')), document.documentElement.dataset.theme)") == "light"
    )
    assert report.evaluate("(dispatchEvent(new Event('afterprint')), document.documentElement.dataset.theme)") == "dark"


def test_a_comparison_opens_its_runs(page: Any, stored: StoredRun, linked: StoredRun, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 375, "height": 800})
    page.goto(write_comparison([stored, linked], tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    sync_api.expect(page.locator("#run1 canvas")).not_to_be_visible()
    page.get_by_role("link", name="link").click()
    sync_api.expect(page.locator("#run1 canvas")).to_be_visible()
    wait(page, "document.querySelector('#run1 .map').map.width > 0")
    assert page.evaluate("document.querySelector('#run1 .map').map.data.what") == "pair"
    page.locator("#run1 .after").press("Enter")
    wait(
        page,
        "(() => { const m = document.querySelector('#run1 .map').map;"
        "return m.now.every((v, i) => v === m.seed.stages.at(-1)[i]); })()",
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
