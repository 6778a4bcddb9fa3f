import itertools
import sys
from typing import Any

import numpy as np
import pytest

from bes.bench.diagrams import bar_levels, critical_difference
from bes.bench.ranks import Ranks, rank
from bes.errors import InputError
from bes.report.figures import COLORS

matplotlib = pytest.importorskip("matplotlib")

NAMES = ["BES", "GCN", "GAT", "GraphSAGE", "SGC", "SSGC", "APPNP", "GPR-GNN", "H2GCN", "LINKX", "MLP", "a $long$ name"]


def ranked(methods: int = 12, datasets: int = 20, noise: float = 3.0) -> Ranks:
    rng = np.random.default_rng(methods + datasets)
    levels = zip(NAMES[:methods], np.linspace(90, 70, methods), strict=True)
    return rank({name: {f"d{d}": float(rng.normal(at, noise)) for d in range(datasets)} for name, at in levels})


def tied() -> Ranks:
    return rank({name: {"x": 1.0, "y": 1.0} for name in NAMES})


def texts(figure: Any) -> dict[str, Any]:
    """All texts with letters, by what they say."""
    return {text.get_text(): text for text in figure.axes[0].texts if text.get_text()}


def lines(figure: Any, gid: str) -> list[Any]:
    return [line for line in figure.axes[0].lines if line.get_gid() == gid]


def neighbours() -> Ranks:
    """Two groups that begin and end a hair beside methods that are not in them."""
    average = {"a": 1.0, "b": 1.02, "c": 3.98, "d": 4.0}
    return Ranks(tuple(average), 9, average, None, 2.98, [("a", "b", "c"), ("b", "c", "d")])


CASES = {
    "neighbours": (neighbours(), "", None),
    "two on two data sets": (ranked(2, datasets=2), "", None),
    "close ranks": (ranked(datasets=60, noise=9.0), "", "GAT"),
    "many": (ranked(), "Accuracy\nof many\nmethods", "BES"),
    "a critical difference beyond the line": (ranked(datasets=2), "", "GCN"),
    "three": (ranked(3), "Three", None),
    "two under a long title": (ranked(2), "two of " * 20, None),
    "one under two lines": (ranked(1), "One\nmethod", None),
    "one data set": (ranked(datasets=1), "", None),
    "all tied": (tied(), "Tied", "MLP"),
}
each = pytest.mark.parametrize(("ranks", "title", "mark"), CASES.values(), ids=CASES.keys())


@each
def test_no_text_overlaps_another_or_leaves_the_figure(ranks: Ranks, title: str, mark: str | None) -> None:
    figure = critical_difference(ranks, title, mark)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) >= 3 * len(ranks.methods)  # a name, its mean rank and a tick each
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


@each
def test_names_title_and_critical_difference_are_written(ranks: Ranks, title: str, mark: str | None) -> None:
    found = texts(critical_difference(ranks, title, mark))
    assert set(ranks.methods) <= found.keys()
    assert {f"{average:.2f}" for average in ranks.average.values()} <= found.keys()
    assert not title or title in found
    assert (f"CD = {ranks.critical or 0:.2f}" in found) == (ranks.critical is not None)


@each
def test_bars_are_the_groups_and_none_touches_another(ranks: Ranks, title: str, mark: str | None) -> None:
    figure = critical_difference(ranks, title, mark)
    bars = [(line.get_xdata(), line.get_ydata()[0]) for line in lines(figure, "group")]
    assert len(bars) == len(ranks.groups)
    at = {m: line.get_xdata()[0] for m, line in zip(ranks.methods, lines(figure, "leader"), strict=True)}
    for (ends, _), group in zip(bars, ranks.groups, strict=True):
        assert {m for m in ranks.methods if ends[0] <= at[m] <= ends[1]} == set(group)
        assert ends == pytest.approx([at[group[0]], at[group[-1]]], abs=0.05)
    for (one, high), (other, low) in itertools.combinations(bars, 2):
        assert high != low or one[1] < other[0] or other[1] < one[0]


@each
def test_leaders_lead_from_rank_to_name_without_crossing(ranks: Ranks, title: str, mark: str | None) -> None:
    figure = critical_difference(ranks, title, mark)
    found = lines(figure, "leader")
    bars = [line.get_ydata()[0] for line in lines(figure, "group")]
    for method, line in zip(ranks.methods, found, strict=True):
        (x, _, end), (_, _, y) = line.get_xdata(), line.get_ydata()
        label = texts(figure)[method]
        assert label.get_position()[1] == y
        assert abs(label.get_position()[0] - end) < 0.1
        assert all(y < bar for bar in bars)
        for other in found:  # the way out meets the way down of no method of another rank
            down, bottom = other.get_xdata()[0], other.get_ydata()[1]
            assert not (min(x, end) < down < max(x, end) and bottom < y - 1e-9) or down == x


def test_lengths_are_true_to_the_ranks() -> None:
    ranks = ranked()
    figure = critical_difference(ranks)
    leaders = [line.get_xdata()[0] for line in lines(figure, "leader")]
    inches = (leaders[-1] - leaders[0]) / (ranks.average[ranks.methods[-1]] - ranks.average[ranks.methods[0]])
    (ruler,) = lines(figure, "critical")
    assert ruler.get_xdata()[1] - ruler.get_xdata()[0] == pytest.approx(ranks.critical * inches)


@each
def test_no_line_leaves_the_figure(ranks: Ranks, title: str, mark: str | None) -> None:
    (axes,) = critical_difference(ranks, title, mark).axes
    for line in axes.lines:
        assert all(0 < x < axes.get_xlim()[1] for x in line.get_xdata())
        assert all(0 < y < axes.get_ylim()[1] for y in line.get_ydata())


def test_only_the_marked_name_is_bold_and_coloured() -> None:
    ranks = ranked()
    figure = critical_difference(ranks, mark="SGC")
    assert [name for name, text in texts(figure).items() if text.get_fontweight() == "bold"] == ["SGC"]
    colors = {m: line.get_color() for m, line in zip(ranks.methods, lines(figure, "leader"), strict=True)}
    assert colors.pop("SGC") in COLORS
    assert set(colors.values()) == {"black"}


def test_bars_share_a_level_where_there_is_room() -> None:
    average = {name: float(place) for place, name in enumerate("abcdef", 1)}
    groups = [("a", "b"), ("b", "c"), ("d", "e"), ("e", "f")]
    assert bar_levels(Ranks(tuple(average), 9, average, None, 1.0, groups)) == [0, 1, 0, 1]


def test_a_mark_that_was_not_ranked_is_named() -> None:
    with pytest.raises(InputError, match="'PageRank'"):
        critical_difference(ranked(3), mark="PageRank")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"bes-graph\[figures\]"):
        critical_difference(ranked(3))


def test_pyplot_is_left_alone_and_files_can_be_written(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would fail
    figure = critical_difference(ranked(), "Accuracy")
    for ending, start in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        figure.savefig(tmp_path / f"ranks.{ending}")
        assert (tmp_path / f"ranks.{ending}").read_bytes().startswith(start)
