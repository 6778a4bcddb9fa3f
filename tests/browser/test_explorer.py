import numpy as np
import pytest
from playwright import sync_api

from bes.explore.server import Server
from explore.made import made_graph, made_run, serving
from explore.page import HOSTILE, LOOPS, Explorer


def test_search_finds_a_node_and_flies_to_it(explorer: Explorer) -> None:
    page = explorer.page
    page.keyboard.press("/")
    page.keyboard.type("N1")
    rows = page.locator("#found [role=option]")
    assert rows.first.inner_text().split()[0] == "n1", "the whole id comes first, then those that begin with it"
    assert rows.nth(1).inner_text().split()[0] == "n10"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.locator("#found [aria-selected=true] .id").inner_text() == "n10"
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel:not([hidden])")
    assert page.locator("#node-id").inner_text() == "n10"
    assert page.input_value("#search") == "n10"
    explorer.settle()
    box = explorer.box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    np.testing.assert_allclose(explorer.spots[explorer.ids.index("n10")], middle, atol=1)
    page.fill("#search", "nobody")
    assert page.locator("#found").inner_text() == "No node of that name"
    page.keyboard.press("Escape")
    assert page.locator("#found").is_hidden()
    assert page.locator("#panel").is_visible(), "the first Escape closes the list alone"


def test_a_click_opens_the_panel_with_what_the_files_say(explorer: Explorer) -> None:
    node, nodes, page = explorer.lonely(), explorer.nodes, explorer.page
    explorer.click(node)
    found, arrays, about = nodes.node(node), nodes.arrays, nodes.about
    text = page.locator("#panel").inner_text()
    named = [*about["classes"], "no class"]
    assert page.locator("#node-id").inner_text() == explorer.ids[node]
    facts = dict(zip(*(page.locator(f".facts {tag}").all_inner_texts() for tag in ("dt", "dd")), strict=True))
    assert facts["Class"] == named[arrays["class"][node]]
    assert facts["Part"] == about["parts"][arrays["part"][node]]
    before, after = (f"{arrays[f'margin_{side}'][node]:.3f}" for side in ("before", "after"))
    assert facts["Margin"] == f"{before} before, {after} after"
    sides = page.locator("section", has_text="Prediction").locator(".sides li").all_inner_texts()
    assert [side.split("\n")[-1] for side in sides] == [named[arrays[side][node]] for side in ("before", "after")]
    bars = page.locator(".bars .value").all_inner_texts()
    assert len(bars) == 2 * len(about["classes"])
    for c, name in enumerate(about["classes"]):
        row = page.locator(".bars li", has_text=name)
        shown = [float(value.split()[-2]) for value in row.locator(".value").all_inner_texts()]
        assert shown == pytest.approx([100 * found["prob"][side][c] for side in ("before", "after")], abs=0.51)
    scores = [f"{score:.2f}" if score is not None else "not scored" for score in found["shift"]]
    shown = page.locator("section", has_text="Shift score").locator("li").all_inner_texts()
    assert [line.split("\n")[1] for line in shown] == scores
    assert f"{found['degree']} neighbour" in text
    around = page.locator("section", has_text="in the graph").locator(".node .id").all_text_contents()
    assert around == [explorer.ids[other] for other in found["neighbors"]]
    near = [column.locator(".node .id").all_text_contents() for column in page.locator(".columns > div").all()]
    assert near == [[explorer.ids[i] for i in found["nearest"][side]["nodes"]] for side in ("before", "after")]
    assert near[0] != near[1], "or the test could not tell the columns apart"


def test_edges_are_drawn_and_links_lead_on(explorer: Explorer) -> None:
    page = explorer.page
    node = next(i for i in range(150) if explorer.nodes.node(i)["degree"] > 2)
    plain = explorer.picture()
    explorer.find(explorer.ids[node])
    page.wait_for_selector("#panel:not([hidden])")
    page.click("#fit")
    chosen = explorer.picture()
    assert chosen != plain
    other = explorer.nodes.node(node)["neighbors"][0]
    link = page.locator("section", has_text="in the graph").locator(".node").first
    link.focus()
    page.keyboard.press("Enter")
    explorer.opened(other)
    assert page.evaluate("document.activeElement.id") == "node-id", "the keyboard goes on from the new node"
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


def test_ids_and_names_are_never_read_as_html(explorer: Explorer) -> None:
    page, image = explorer.page, HOSTILE[0]
    for name in HOSTILE:
        page.fill("#search", name.replace("\n", "").strip()[:12] if "\n" not in name else "break")
        assert name in page.locator("#found .id").all_text_contents()
    explorer.find(image)
    explorer.opened(0)
    page.mouse.move(*explorer.spots[0].tolist())
    explorer.settle()
    page.mouse.move(*(explorer.spots[0] + 1).tolist())
    page.wait_for_selector("#tip:not([hidden])")
    assert page.locator("#tip .id").inner_text() == image
    for other in explorer.nodes.node(0)["neighbors"][:3]:
        explorer.find(explorer.ids[other])
        explorer.opened(other)
        assert image in page.locator("#panel .node .id").all_text_contents()
    explorer.draw([(0, 0), (1, 0), (1, 1), (0, 1)], shift=True)
    assert page.locator("img, b").count() == 0
    assert "<b>green</b>" in page.inner_text("#legend")


def test_keys_move_the_map_and_reach_every_control(explorer: Explorer) -> None:
    page = explorer.page
    page.focus("#map")
    x, y, scale, _ = explorer.view
    for key, check in (
        ("ArrowRight", lambda now: now[0] > x),
        ("ArrowUp", lambda now: now[1] > y),
        ("+", lambda now: now[2] > scale),
        ("0", lambda now: now[:3] == [x, y, scale]),
        ("-", lambda now: now[2] < scale),
    ):
        page.keyboard.press(key)
        explorer.settle()
        assert check(explorer.view), key
    explorer.find("n5")
    page.wait_for_selector("#panel:not([hidden])")
    page.focus("#search")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"color", "ring", "map", "lasso", "fit", "theme", "stage", "close", "node"} <= set(reached)


def test_it_fits_a_phone(page: "sync_api.Page", awkward_server: Server) -> None:
    page.set_viewport_size({"width": 375, "height": 720})
    explorer = Explorer(page, awkward_server)
    assert explorer.box["height"] > 300
    page.get_by_text("Colours and filters").click()
    sync_api.expect(page.locator("#color")).to_be_visible()
    explorer.find("n7")
    page.wait_for_selector("#panel:not([hidden])")
    explorer.settle()
    assert explorer.box["height"] > 150, "the map stays in sight beside the panel, as the filters are closed"
    page.get_by_text("Colours and filters").click()
    page.wait_for_selector("#panel", state="hidden")
    assert explorer.box["height"] > 150, "and beside the filters, as the panel is closed"
    page.get_by_text("Colours and filters").click()
    explorer.find("n7")
    page.wait_for_selector("#panel:not([hidden])")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    for name in ("#map", "#panel", "#stage", "#search"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert box["x"] >= 0, name
        assert box["x"] + box["width"] <= 375, name


def test_nodes_of_links_show_what_there_is(page: "sync_api.Page", tmp_path_factory: pytest.TempPathFactory) -> None:
    graph = made_graph(120, 4, [f"n{i}" for i in range(120)])
    label = np.where(np.arange(120) % 2, graph.y.numpy(), -1)
    run = made_run(tmp_path_factory.mktemp("links") / "run", graph, task="link", label=label)
    for server in serving(run):
        explorer = Explorer(page, server)
        assert [o.get_attribute("value") for o in page.locator("#color option").all()] == ["class", "group"]
        explorer.click(explorer.lonely())
        assert "Probabilities" not in page.inner_text("#panel")
        assert "Nearest in embedding space" in page.inner_text("#panel")
        explorer.draw(LOOPS[0], shift=True)
        assert set(explorer.table()[0]) == {"id", "class", "group"}


def test_a_page_without_the_token_is_refused(page: "sync_api.Page", awkward_server: Server) -> None:
    for url in (awkward_server.url + "x", awkward_server.url.split("?")[0]):
        answer = page.request.get(url)
        assert answer.status == 403
        assert answer.text().count("\n") == 1
