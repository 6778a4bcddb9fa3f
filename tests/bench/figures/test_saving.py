"""Files of figures: whole, and the same each time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bes.bench.figures import drawing
from bes.bench.figures.saving import DPI, save
from bes.errors import InputError


def picture(n: int = 30) -> Any:
    """Points enough to be an image in the SVG, or not; with a legend, a ring and text."""
    figure = drawing.new_figure(2, 1.5)
    ax = figure.subplots()
    at, y = np.random.default_rng(0).normal(size=(n, 2)), np.arange(n) % 3
    drawing.points(ax, at, y)
    drawing.rings(ax, at[:3], 5)
    drawing.open_frame(ax)
    ax.set_xlabel("some text")
    drawing.beside(ax, drawing.class_keys(["a", "b", "c"], [0, 1, 2]))
    return figure


@pytest.mark.parametrize("n", [30, drawing.AS_IMAGE + 1])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, n: int) -> None:
    figure = picture(n)
    first = [path.read_bytes() for path in save(figure, tmp_path / "a")]
    again = [path.read_bytes() for path in save(figure, tmp_path / "a")]
    anew = [path.read_bytes() for path in save(picture(n), tmp_path / "b")]
    assert first == again == anew


def test_both_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    paths = save(picture(), tmp_path / "deep" / "figure.v2")
    assert [path.name for path in paths] == ["figure.v2.png", "figure.v2.svg"]
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["figure.v2.png", "figure.v2.svg"]


def test_the_files_have_the_size_that_was_asked_for(tmp_path: Path) -> None:
    png, svg = save(picture(), tmp_path / "a")
    header = png.read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (2 * DPI, 1.5 * DPI)
    text = svg.read_text(encoding="utf-8")
    assert 'width="144pt" height="108pt"' in text
    assert "<dc:date>" not in text


def test_many_points_are_an_image_in_the_svg(tmp_path: Path) -> None:
    _, few = save(picture(), tmp_path / "few")
    _, many = save(picture(drawing.AS_IMAGE + 1), tmp_path / "many")
    assert "<image" not in few.read_text(encoding="utf-8")
    assert "<image" in many.read_text(encoding="utf-8")


def test_a_drawing_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = picture()
    png, _ = save(figure, tmp_path / "a")
    old = png.read_bytes()

    def broken(path: Path, **_: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", broken)
    with pytest.raises(InputError, match="No space left"):
        save(figure, tmp_path / "a")
    assert png.read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 2
