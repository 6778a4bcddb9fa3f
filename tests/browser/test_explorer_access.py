"""Keyboard, screen reader and finger; and what is said when something is amiss."""

import re

import pytest
from playwright import sync_api

from explore.made import made_graph, made_run, part_of_split, serving
from explore.page import Explorer

#: Roles of what one can use, as the browser tells them to a screen reader.
CONTROLS = {"button", "checkbox", "combobox", "slider", "option", "searchbox", "listbox", "application", "link"}
ENDED = "The explorer has ended: start bes explore again."


def focused(page: "sync_api.Page") -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.dataset.key || 'nothing'"))


def test_every_control_has_a_name(explorer: Explorer) -> None:
    page = explorer.page
    explorer.click(explorer.lonely())
    explorer.draw([(0, 0), (1, 0), (1, 1), (0, 1)], shift=True)
    page.get_by_label("blue").uncheck()
    page.fill("#search", "n1")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in tree
        if not node.get("ignored") and node["role"]["value"] in CONTROLS
    ]
    assert [role for role, name in found if not name] == []
    assert {"button", "checkbox", "combobox", "slider", "option", "listbox"} <= {role for role, _ in found}
    assert len(found) > 40


def test_the_keyboard_stays_in_the_legend(explorer: Explorer) -> None:
    page = explorer.page
    page.get_by_label("blue").focus()
    for left in (3, 4, 3):
        page.keyboard.press("Space")
        assert page.locator("#legend input:checked").count() == left + 1
        assert focused(page) == "2"
    page.focus("#show-all")
    page.keyboard.press("Enter")
    assert page.locator("#shown").is_hidden()
    assert focused(page) == "map"


def test_the_keyboard_goes_on_from_the_map_when_its_place_is_hidden(explorer: Explorer) -> None:
    page = explorer.page
    explorer.click(explorer.lonely())
    page.locator(".node").first.focus()
    page.keyboard.press("Escape")
    assert (page.locator("#panel").is_hidden(), focused(page)) == (True, "map")
    explorer.draw([(0, 0), (1, 0), (1, 1), (0, 1)], shift=True)
    page.focus("#clear")
    page.keyboard.press("Enter")
    assert (page.locator("#selection").is_hidden(), focused(page)) == (True, "map")
    explorer.find("n3")
    page.wait_for_selector("#panel:not([hidden])")
    page.focus("#stage")
    page.keyboard.press("Escape")
    assert focused(page) == "stage", "where the keyboard was elsewhere it stays there"


def test_one_stage_is_the_current_one(explorer: Explorer) -> None:
    page = explorer.page
    current = page.locator("#stage-names [aria-current=true]")
    assert current.all_inner_texts() == ["Before"]
    page.get_by_role("button", name="After").click()
    assert current.all_inner_texts() == ["After"]


def test_a_second_finger_takes_the_loop_away(explorer: Explorer) -> None:
    page, box = explorer.page, explorer.box
    page.click("#lasso")
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + y, "id": i} for i, (x, y) in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", (100, 100))
    send("touchMove", (200, 100))
    send("touchMove", (200, 200))
    assert page.get_attribute("#loop", "points") != ""
    send("touchStart", (200, 200), (300, 300))
    assert page.get_attribute("#loop", "points") == ""
    send("touchEnd")
    assert page.locator("#selection").is_hidden()


def test_a_server_that_has_ended_is_told(
    page: "sync_api.Page", wrong: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = made_graph(60, 3, [f"n{i}" for i in range(60)])
    for server in serving(made_run(tmp_path_factory.mktemp("ended") / "run", graph)):
        explorer = Explorer(page, server)
        explorer.draw([(0, 0), (1, 0), (1, 1), (0, 1)], shift=True)
    problem = page.locator("#problem")
    assert problem.is_hidden()
    page.route("**/*", lambda route: route.abort())  # connections that were kept alive would still be served
    explorer.find("n7")
    sync_api.expect(problem).to_have_text(ENDED)
    page.evaluate("document.getElementById('problem').hidden = true")
    page.click("#csv")
    sync_api.expect(problem).to_be_visible()
    assert wrong
    assert all("Failed to load resource" in text for text in wrong), "nothing else went wrong"
    wrong.clear()


def test_the_panel_tells_what_a_node_was_used_for(
    page: "sync_api.Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = made_graph(150, 4, [f"n{i}" for i in range(150)])
    says = {
        "train": "used for training",
        "validation": "used for selection",
        "test": "(Right|Wrong) both times|(Fixed|Broken) by shaping",
        "in no part": "in no part of the split",
        "unlabelled": "class is not known",
    }
    for server in serving(part_of_split(made_run(tmp_path_factory.mktemp("parts") / "run", graph))):
        explorer, nodes = Explorer(page, server), server.nodes
        assert page.locator("#peek").is_hidden()
        for number, part in enumerate(nodes.about["parts"]):
            node = nodes.arrays["part"].tolist().index(number)
            explorer.find(explorer.ids[node])
            explorer.opened(node)
            facts = page.locator(".facts dd").all_inner_texts()
            assert part in facts
            assert re.search(says[part], page.inner_text(".verdict")), part


def test_selection_on_test_is_marked(page: "sync_api.Page", tmp_path_factory: pytest.TempPathFactory) -> None:
    graph = made_graph(60, 3, [f"n{i}" for i in range(60)])
    for server in serving(made_run(tmp_path_factory.mktemp("peek") / "run", graph, selection="test-peek")):
        page.set_viewport_size({"width": 375, "height": 720})
        explorer = Explorer(page, server)
        assert "test-peek" in page.inner_text("#peek")
        assert explorer.box["height"] > 250


def test_names_written_from_right_to_left_disturb_nothing_beside_them(
    page: "sync_api.Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    ids, classes = [f"\u202en{i}" for i in range(60)], ("\u202eone", "\u2067two", "three")
    for server in serving(made_run(tmp_path_factory.mktemp("bidi") / "run", made_graph(60, 3, ids, classes))):
        explorer = Explorer(page, server)
        explorer.click(explorer.lonely())
        page.fill("#search", "n1")
        bare = page.evaluate(
            r"""() => {
              const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
              const found = [];
              while (walk.nextNode()) {
                const text = walk.currentNode;
                if (/[\u202e\u2067]/.test(text.data) && !text.parentElement.closest("bdi")) found.push(text.data);
              }
              return found;
            }"""
        )
        assert bare == []
        assert page.locator("bdi", has_text="\u202e").count() > 20


def test_what_is_switched_off_can_still_be_read(explorer: Explorer) -> None:
    page = explorer.page
    for _ in ("light", "dark"):
        box = page.get_by_label("blue")
        box.uncheck()
        name = page.locator("#legend label:has(input:not(:checked)) .name")
        colors = name.evaluate(
            "(name) => [getComputedStyle(name).color, getComputedStyle(name.closest('.side')).backgroundColor]"
        )
        assert contrast(*colors) >= 4.5
        assert name.evaluate("(name) => getComputedStyle(name).opacity") == "1"
        box.check()
        page.click("#theme")


def contrast(one: str, other: str) -> float:
    """As WCAG counts it, of two `rgb(...)`."""

    def light(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)
