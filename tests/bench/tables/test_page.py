import base64
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.bench import tables
from bes.bench.fill import FilledSheet
from bes.bench.tables import to_html
from bes.errors import InputError

Build = Callable[..., FilledSheet]

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'

#: Elements without an end.
VOID = {"meta", "img"}


class Read(HTMLParser):
    """A page as a reader's program takes it: tags with attributes, and the text of each element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.seen: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)
        self.close()
        assert not self.open, "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            self.seen.append((tag, dict(attrs), ""))
        else:
            self.open.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        name, attrs, text = self.open.pop()
        assert name == tag
        self.seen.append((name, attrs, "".join(text)))

    def handle_data(self, data: str) -> None:
        for _, _, text in self.open:
            text.append(data)

    def all(self, tag: str, **attrs: str) -> list[str]:
        """The texts of all such elements."""
        return [text for name, found, text in self.seen if name == tag and attrs.items() <= found.items()]

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [found for name, found, _ in self.seen if name == tag]


def test_the_example_as_it_is_read(example: Build) -> None:
    page = Read(to_html([example()], title="Table 1"))
    assert page.all("title") == page.all("h1") == ["Table 1"]
    assert page.all("h2") == ["Nodes"]
    assert page.all("th", scope="colgroup") == ["Cora", "Own"]
    assert page.all("th", scope="col") == ["paper", "ours", "ours - paper", "ours"]
    assert page.all("th", scope="row") == ["GCN", "BES", "R&D_1"]
    assert page.all("td")[1:] == [
        *("81.50", "82.00 ± 1.00", "+0.50", "70.00"),
        *("89.46", "88.25 ± 0.25", "-1.21", "data set absent"),
        *("OOM", "91.00 ± 0.58 (3 of 5 splits)", "none", "method not built yet"),
    ]
    (caption,) = page.all("caption")
    assert "as printed in Table 1" in caption
    assert caption.endswith(
        "Bold: the best of ours in its column, among cells with every split; Underlined: the second."
    )
    assert page.all("p") == ["Protocol validation: Validation selects.", "Own is ours."]


def test_marks_are_classes_that_the_style_knows(example: Build) -> None:
    page = Read(to_html([example()], title="t"))
    assert page.all("td", **{"class": "best"}) == ["88.25 ± 0.25"]
    assert page.all("td", **{"class": "second"}) == ["82.00 ± 1.00"]
    assert page.all("td", **{"class": "partial"}) == ["91.00 ± 0.58 (3 of 5 splits)"]
    assert page.all("td", **{"class": "missing first"}) == ["data set absent", "method not built yet"]
    (style,) = page.all("style")
    assert all(f".{mark} {{" in style for mark in ("best", "second", "partial", "missing"))


def test_columns_add_up(example: Build) -> None:
    page = Read(to_html([example()], title="t"))
    spans = [int(found.get("colspan") or 0) for found in page.attributes("th") if found["scope"] == "colgroup"]
    groups = [int(found.get("span") or 1) for found in page.attributes("colgroup")]
    assert spans == groups[1:] == [3, 1]
    assert len(page.all("td")) - 1 == sum(spans) * len(page.all("th", scope="row"))


def test_a_protocol_that_is_not_honest_has_a_banner_in_words(example: Build) -> None:
    page = Read(to_html([example(), example(honest=False)], title="t"))
    assert page.all("p", **{"class": "banner"}) == ["NOT HONEST: test-peek. Protocol test-peek: The test part selects."]
    heads = page.all("th", scope="col")
    assert heads[4:] == ["paper", "ours (test-peek)", "ours (test-peek) - paper", "ours (test-peek)"]
    assert [caption.startswith("NOT HONEST: test-peek.") for caption in page.all("caption")] == [False, True]
    assert page.all("li") == ["Nodes", "Nodes NOT HONEST: test-peek"]


def test_the_page_needs_nothing_else_and_runs_nothing(example: Build) -> None:
    page = to_html([example()], title="t", figures=[("f", SVG)])
    read = Read(page)
    assert not read.all("script")
    assert not read.all("link")
    assert all((found["src"] or "").startswith("data:") for found in read.attributes("img"))
    assert "http" not in page.replace("http-equiv", "")
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_figures_are_embedded_with_their_title_as_text(example: Build) -> None:
    uri = "data:image/png;base64,AAAA"
    page = Read(to_html([], title="t", figures=[('A "map" & more', SVG), ("photo", uri)]))
    first, second = page.attributes("img")
    assert first["alt"] == 'A "map" & more'
    assert base64.b64decode((first["src"] or "").removeprefix("data:image/svg+xml;base64,")).decode() == SVG
    assert second == {"src": uri, "alt": "photo"}
    assert page.all("figcaption") == ['A "map" & more', "photo"]
    assert not Read(to_html([example()], title="t")).all("figure")


@pytest.mark.parametrize("picture", ["", "map.svg", "https://x.org/a.svg", "<svg></svg>", "data:text/html,<b>"])
def test_what_is_no_picture_is_refused_by_name(picture: str) -> None:
    with pytest.raises(InputError, match="'Figure 2' is no picture"):
        to_html([], title="t", figures=[("Figure 2", picture)])


def test_an_empty_line_of_the_introduction_starts_a_paragraph() -> None:
    assert Read(to_html([], title="t", intro="One <b>.\n\nTwo.")).all("p") == ["One <b>.", "Two."]


@given(row=st.text(), column=st.text(), problem=st.text().filter(str.strip), title=st.text(), note=st.text())
def test_any_text_comes_back(build: Build, row: str, column: str, problem: str, title: str, note: str) -> None:
    filled = build({(row, column): (None, [], problem)}, title=title, note=note)
    page = Read(to_html([filled], title=title))
    assert page.all("th", scope="row") == [row]
    assert page.all("th", scope="colgroup") == [column]
    assert page.all("td")[1:] == [problem]
    assert page.all("h1") == page.all("h2") == [title]
    assert page.all("p")[1:] == ([note] if note.strip() else [])


def test_the_package_exports_what_renders() -> None:
    assert tables.__all__ == ["comparison_grid", "to_html", "to_latex", "to_markdown"]
