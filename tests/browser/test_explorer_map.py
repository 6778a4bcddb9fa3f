import numpy as np
import pytest
from playwright import sync_api

from bes.explore.server import Server
from explore.page import CLASSES, HOSTILE, LOOPS, Explorer, inside


@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("loop", LOOPS)
def test_the_lasso_selects_exactly_what_is_inside(
    explorer: Explorer, loop: list[tuple[float, float]], shift: bool
) -> None:
    corners = explorer.draw(loop, shift=shift)
    wanted = [i for i, spot in enumerate(explorer.spots) if inside(spot, corners)]
    assert 5 < len(wanted) < 140
    assert explorer.page.locator("#selected").inner_text() == f"{len(wanted)} nodes selected"
    assert [row["id"] for row in explorer.table()] == [explorer.ids[i] for i in wanted]


def test_the_table_holds_every_column_of_the_selected(explorer: Explorer) -> None:
    explorer.draw([(0, 0), (1, 0), (1, 1), (0, 1)], shift=True)
    rows, nodes = explorer.table(), explorer.nodes
    assert len(rows) > 140
    named = [*CLASSES, ""]
    assert {row["id"] for row in rows} >= set(HOSTILE)
    for row in rows:
        i = explorer.ids.index(row["id"])
        assert row["class"] == named[nodes.arrays["class"][i]]
        assert row["part"] == nodes.about["parts"][nodes.arrays["part"][i]]
        assert row["prediction_before"] == CLASSES[nodes.arrays["before"][i]]
        assert row["prediction_after"] == CLASSES[nodes.arrays["after"][i]]
        shown = [float(row[f"probability_{side}_{c}"]) for side in ("before", "after") for c in CLASSES]
        np.testing.assert_allclose(shown, nodes.probabilities(np.array([i]))[0], rtol=1e-5)
    explorer.page.click("#clear")
    assert explorer.page.locator("#selection").is_hidden()


def test_the_legend_hides_classes_from_picture_and_selection(explorer: Explorer) -> None:
    page, everything = explorer.page, [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    full = explorer.picture()
    page.get_by_label("<b>green</b>").uncheck()
    assert explorer.picture() != full
    page.select_option("#color", "error")
    explorer.draw(everything, shift=True)
    classes = {row["class"] for row in explorer.table()}
    assert classes == {"red", "blue", "grey, light", ""}, "the filter stays while colours change"
    page.click("#clear")
    page.click("#show-all")
    page.get_by_label("Right both times").uncheck()
    arrays = explorer.nodes.arrays
    right = arrays["outcome"] == 0
    assert page.inner_text("#shown-count") == f"{150 - right.sum()} of 150 nodes shown"
    page.click("#show-all")
    page.select_option("#color", "class")
    assert explorer.picture() == full


def test_every_colouring_looks_different(explorer: Explorer) -> None:
    page = explorer.page
    values = [option.get_attribute("value") for option in page.locator("#color option").all()]
    assert values == ["class", "prediction", "error", "margin", "part"]
    pictures = {}
    for value in values:
        page.select_option("#color", value)
        pictures[value] = explorer.picture()
    assert len(set(pictures.values())) == len(values)
    page.select_option("#color", "error")
    arrays = explorer.nodes.arrays
    right = {side: arrays[side] == arrays["class"] for side in ("before", "after")}
    test = arrays["part"] == explorer.nodes.about["parts"].index("test")
    wanted = {
        "Right both times": test & right["before"] & right["after"],
        "Fixed by shaping": test & ~right["before"] & right["after"],
        "Broken by shaping": test & right["before"] & ~right["after"],
        "Wrong both times": test & ~right["before"] & ~right["after"],
        "Not in test": ~test,
    }
    shown = [row.inner_text().split("\n") for row in page.locator("#legend label").all()]
    assert {name: int(count) for name, count in shown} == {name: int(of.sum()) for name, of in wanted.items()}


def test_the_slider_moves_points_and_rings_mark_each_layers_boundary(explorer: Explorer) -> None:
    page = explorer.page
    first = explorer.picture()
    page.focus("#stage")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    last = explorer.picture()
    assert explorer.view[3] == 2
    assert page.get_attribute("#stage", "aria-valuetext") == "After"
    assert last != first
    page.check("#ring")
    ringed = explorer.picture()
    assert ringed != last
    assert page.inner_text("#ring-text").endswith("layer 2")
    page.get_by_role("button", name="Before").click()
    assert explorer.picture() != first
    assert page.inner_text("#ring-text").endswith("layer 1")
    page.uncheck("#ring")
    assert explorer.picture() == first


def test_wheel_and_drag_move_the_map_without_choosing(explorer: Explorer) -> None:
    page, box = explorer.page, explorer.box
    node = explorer.lonely()
    spot = explorer.spots[node]
    page.mouse.move(*spot.tolist())
    page.mouse.wheel(0, -400)
    explorer.settle()
    np.testing.assert_allclose(explorer.spots[node], spot, atol=1, err_msg="what is under the pointer stays there")
    page.mouse.down()
    page.mouse.move(spot[0] + 80, spot[1] + 30, steps=5)
    page.mouse.up()
    explorer.settle()
    np.testing.assert_allclose(explorer.spots[node], spot + np.array([80, 30]), atol=6)
    assert page.locator("#panel").is_hidden()
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] - 5)
    assert page.locator("#panel").is_hidden(), "a click beside all nodes chooses none"


def test_light_and_dark(page: "sync_api.Page", awkward_server: Server) -> None:
    page.emulate_media(color_scheme="dark")
    explorer = Explorer(page, awkward_server)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"
    dark = explorer.picture()
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 252)"
    assert explorer.picture() != dark


def test_the_picture_stays_where_it_is_when_the_panel_opens(explorer: Explorer) -> None:
    page, node = explorer.page, explorer.lonely()
    spot, wide = explorer.spots[node], explorer.box["width"]
    explorer.click(node)
    assert explorer.box["width"] < wide
    np.testing.assert_allclose(explorer.spots[node], spot, atol=0.5)
    page.click("#close")
    explorer.settle()
    np.testing.assert_allclose(explorer.spots[node], spot, atol=0.5)
    right = int(explorer.spots[:, 0].argmax())
    explorer.click(right)
    box = explorer.box
    assert explorer.spots[right][0] < box["x"] + box["width"], "a node that the panel would hide comes into sight"


def test_another_window_shows_all_again(explorer: Explorer) -> None:
    explorer.page.set_viewport_size({"width": 900, "height": 700})
    explorer.page.wait_for_timeout(200)
    explorer.settle()
    spots, box = explorer.spots, explorer.box
    assert (spots[:, 0] > box["x"] - 1).mean() > 0.98
    assert (spots[:, 0] < box["x"] + box["width"] + 1).mean() > 0.98
    assert (spots[:, 1] < box["y"] + box["height"] + 1).mean() > 0.98
