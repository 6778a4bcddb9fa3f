"""Looks of classes, and what is said when a package is missing."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bes.bench.figures import drawing
from bes.errors import InputError


def test_64_classes_look_different() -> None:
    looks = {(drawing.style(c)["c"], drawing.style(c)["marker"]) for c in range(64)}
    assert len(looks) == 64


def test_neighbouring_classes_differ_in_colour_and_in_symbol() -> None:
    for c in range(20):
        assert drawing.style(c)["c"] != drawing.style(c + 1)["c"]
        assert drawing.style(c)["marker"] != drawing.style(c + 1)["marker"]


def test_every_point_is_drawn_once_where_it_is() -> None:
    at = np.random.default_rng(0).normal(size=(50, 2))
    y = np.arange(50) % 4 - 1
    ax = drawing.new_figure(2, 2).subplots()
    drawing.points(ax, at, y)
    drawn = np.concatenate([one.get_offsets() for one in ax.collections])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, at))


def test_the_legend_shows_the_symbol_of_each_class_and_cuts_long_names() -> None:
    keys = drawing.class_keys(["0", "a name that is much too long for it"], [0, 1])
    assert [key.get_label() for key in keys] == ["class 0", "a name that is much t…"]
    assert [key.get_marker() for key in keys] == ["o", "s"]
    assert [key.get_markerfacecolor() for key in keys] == [drawing.style(c)["c"] for c in (0, 1)]


def test_the_limits_are_square_and_hold_all_stages() -> None:
    first, second = np.array([[0.0, 0.0], [1.0, 0.2]]), np.array([[4.0, 1.0], [2.0, -1.0]])
    panels = drawing.new_figure(2, 2).subplots(1, 2)
    drawing.square(panels, [first, second])
    (left, right), (low, high) = panels[0].get_xlim(), panels[0].get_ylim()
    assert right - left == pytest.approx(high - low)
    assert left < 0 < 4 < right
    assert low < -1 < 1 < high
    assert panels[1].get_xlim() == (left, right)


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *_: Any, **__: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(drawing.importlib, "import_module", absent)
    with pytest.raises(InputError, match=r"matplotlib.*bes-graph\[figures\]"):
        drawing.new_figure(1, 1)


def test_importing_the_figures_imports_no_matplotlib() -> None:
    code = "import sys, bes.bench.figures; print(*{'matplotlib', 'openTSNE'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
