"""Figures from kept runs and filled sheets: those that can be drawn, under their names, and no others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from oracles.crew import AtOnce

from bes.bench.board import LiveBoard
from bes.bench.draw import FIGURES, draw
from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import PAIRED, Cell, Picture, Sheet, Suite
from bes.bench.runner import Runner
from bes.bench.store import Store
from bes.bench.suites import SUITES
from bes.bench.suites.comparisons import table1
from bes.bench.suites.variants import SENSITIVITY, sensitivity
from bes.bench.units import of_picture
from bes.console import out
from bes.graph.readers import write_npz
from bes.graph.synthetic import sbm
from bes.records import library_version

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("openTSNE")


class Made(NamedTuple):
    """Pictures as the paper's suites name them, and the folders that their runs left."""

    pictures: tuple[Picture, ...]
    kept: dict[str, Path]

    def draw(self, figure: str, *names: str) -> dict[str, Any]:
        """What is drawn where these pictures alone were kept; all where none is named."""
        kept = {name: path for name, path in self.kept.items() if name in (names or self.kept)}
        return draw(Suite("own", "Own", pictures=self.pictures, figure=figure), [], kept)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, quick: Callable[..., Any]) -> Made:
    """Six runs of a graph of 60 nodes, kept for pictures; only read by tests."""
    place = tmp_path_factory.mktemp("pictures")
    small = str(place / "small.npz")
    write_npz(sbm(n_nodes=60, n_classes=3, n_features=8, degree=6.0, noise=0.3, separation=1.5), Path(small))

    def config(dataset: str = small, **given: Any) -> Any:
        made = quick(**given).model_copy(update={"dataset": dataset})
        return type(made).model_validate(made.model_dump())

    one_layer, links = {"n_layers": 1}, {"task": "link", "rivals": ()}
    pictures = (
        Picture("Small NC L1+2", config()),
        Picture("Small NC L1", config(shaper=one_layer)),
        Picture("Small LP L1", config(shaper=one_layer, **links)),
        Picture("Small LP L1+2", config(**links)),
        Picture("Small GCN and GATv2", config(encoders={"names": ("gcn", "gatv2")})),
        Picture("Small binary", config(f"{small}#binary")),
    )
    store = Store(place / "out", library_version())
    runner = Runner([Suite("own", "Own", pictures=pictures)], store)
    runner.run(LiveBoard(out, show=False), make_crew=AtOnce)
    assert runner.failed() == []
    return Made(pictures, {picture.name: runner.folder(of_picture(picture)) for picture in pictures})


def titles(figure: Any) -> list[str]:
    return [ax.get_title() for ax in figure.axes]


def test_every_picture_of_the_paper_has_someone_to_draw_it() -> None:
    named = {make().figure for make in SUITES.values() if make().pictures}
    assert named == set(FIGURES)


def test_the_runner_keeps_curves_and_whole_runs(made: Made) -> None:
    for path in made.kept.values():
        assert (path / "curves.json").stat().st_size > 100
        assert (path / "graph.npz").exists()
        assert len((path / "records.jsonl").read_text().splitlines()) == len(PAIRED)


def test_the_shaping_process(made: Made) -> None:
    drawn = made.draw("shaping-process", "Small NC L1+2")
    assert list(drawn) == ["shaping-process"]
    assert len(drawn["shaping-process"].axes) >= 3, "before, and after each of two layers"


def test_encoders_a_figure_a_data_set(made: Made) -> None:
    drawn = made.draw("encoders", "Small GCN and GATv2")
    assert list(drawn) == ["encoders-small"]
    assert [ax.get_xlabel().lower() for ax in drawn["encoders-small"].axes] == [
        "(a) gcn",
        "(b) gatv2",
        "(c) gcn + gatv2",
    ]


def test_final_embeddings(made: Made) -> None:
    drawn = made.draw("final-embeddings", "Small NC L1+2")
    assert list(drawn) == ["final-embeddings"]
    assert len(drawn["final-embeddings"].axes) >= 2


def test_convergence_a_figure_a_task(made: Made) -> None:
    names = [picture.name for picture in made.pictures if picture.name.split()[1] in ("NC", "LP")]
    drawn = made.draw("convergence", *names)
    assert list(drawn) == ["convergence-nc", "convergence-lp"]
    for task, figure in zip(("NC", "LP"), drawn.values(), strict=True):
        assert f"Small {task}" in titles(figure)
        labels = {line.get_label() for ax in figure.axes for line in ax.get_lines()}
        assert {"control", "L1", "L1+2"} <= labels
    assert list(made.draw("convergence", "Small LP L1")) == ["convergence-lp"]


def test_two_classes_beside_all(made: Made) -> None:
    drawn = made.draw("binary-vs-multiclass", "Small binary", "Small NC L1+2")
    assert list(drawn) == ["binary-vs-multiclass-small"]
    assert len(drawn["binary-vs-multiclass-small"].axes) >= 2
    assert made.draw("binary-vs-multiclass", "Small binary") == {}, "half of the figure is missing"
    assert made.draw("binary-vs-multiclass", "Small NC L1+2") == {}


@pytest.mark.parametrize("figure", sorted(FIGURES))
def test_without_kept_runs_nothing_is_drawn(figure: str) -> None:
    suite = SUITES[figure]()
    assert suite.figure == figure
    assert draw(suite, [], {}) == {}


def with_values(sheet: Sheet, value: Callable[[Cell], float | None]) -> FilledSheet:
    """A sheet whose cells have five splits around what `value` says, or none."""
    cells = []
    for cell in sheet.cells:
        mean = None if cell.ask is None else value(cell)
        if mean is None or cell.ask is None:
            cells.append(FilledCell(cell, {}, {}, "not measured yet"))
        else:
            values = {seed: mean + seed / 10 for seed in cell.ask.seeds}
            cells.append(FilledCell(cell, values, dict.fromkeys(values, "run")))
    return FilledSheet(sheet, tuple(cells))


def test_sensitivity_a_panel_a_parameter() -> None:
    suite = sensitivity()
    filled = [with_values(sheet, lambda cell: 80.0 if cell.row == "Cora" else None) for sheet in suite.sheets]
    drawn = draw(suite, filled, {})
    assert list(drawn) == ["sensitivity"]
    assert len(drawn["sensitivity"].axes) == len(SENSITIVITY)
    said = {text.get_text() for legend in drawn["sensitivity"].legends for text in legend.get_texts()}
    assert "Cora" in said
    assert "PubMed" not in said, "its data set is absent"


def test_sensitivity_without_values_is_not_drawn() -> None:
    suite = sensitivity()
    assert draw(suite, [with_values(sheet, lambda _: None) for sheet in suite.sheets], {}) == {}


@pytest.mark.parametrize("place", range(len(SENSITIVITY)))
def test_sensitivity_that_is_run_in_part_is_drawn_in_part(place: int) -> None:
    """A grid that is stopped after its first runs has values for one parameter alone."""
    suite = sensitivity()
    first = suite.sheets[place].cells[0]
    filled = [with_values(sheet, lambda cell: 80.0 if cell is first else None) for sheet in suite.sheets]
    assert list(draw(suite, filled, {})) == ["sensitivity"]


def test_ranks_of_honest_sheets_of_methods() -> None:
    suite = table1()
    scores = {row: 70.0 + place for place, row in enumerate(suite.sheets[0].rows)}
    filled = [with_values(sheet, lambda cell: scores[cell.row]) for sheet in suite.sheets]
    drawn = draw(suite, filled, {})
    assert list(drawn) == ["table1-nc-ranks", "table1-lp-ranks"], "sheets that are not honest are not ranked"
    few = [with_values(sheet, lambda cell: 70.0 if cell.row in ("BES", "GCN") else None) for sheet in suite.sheets]
    assert draw(suite, few, {}) == {}
