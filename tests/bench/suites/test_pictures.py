"""The runs that figures are drawn from."""

from __future__ import annotations

from bes.bench.model import PAIRED
from bes.bench.suites import SUITES, comparisons, pictures
from bes.bench.suites.settings import DATASETS, node_config
from bes.bench.units import of_picture, unit_of, units_of

DRAWN = ("shaping-process", "encoders", "final-embeddings", "convergence", "binary-vs-multiclass")


def test_a_suite_without_sheets_is_drawn_from_pictures_under_its_own_name() -> None:
    for name in SUITES:
        suite = SUITES[name]()
        assert bool(suite.pictures) == (name in DRAWN) == (not suite.sheets)
        assert suite.figure == (name if name in (*DRAWN, "sensitivity") else "")
        names = [picture.name for picture in suite.pictures]
        assert len(set(names)) == len(names)


def test_one_name_is_one_run_in_every_suite() -> None:
    """Its folder is shared."""
    known: dict[str, object] = {}
    for name in DRAWN:
        for picture in SUITES[name]().pictures:
            assert known.setdefault(picture.name, (picture.config, picture.seed)) == (picture.config, picture.seed)
    assert len(set(known.values())) == len(known), "and a run has one name"


def test_pictures_are_honest() -> None:
    for name in DRAWN:
        for picture in SUITES[name]().pictures:
            assert (picture.config.selection, picture.config.links.message) == ("validation", "train")
            assert picture.seed == 0


def test_the_shaping_process_is_that_of_the_tables() -> None:
    """So that the run is made once: the picture stands for the plain one."""
    suite = pictures.shaping_process()
    assert [picture.config.dataset for picture in suite.pictures] == ["cora", "citeseer", "wikics"]
    assert [picture.name for picture in suite.pictures] == [f"{n} NC L1+2" for n in ("Cora", "CiteSeer", "WikiCS")]
    table = comparisons.table1()
    (bes,) = [cell.ask for cell in table.sheets[0].cells if (cell.row, cell.column) == ("BES", "Cora NC") and cell.ask]
    plain, picture = unit_of(bes)[0], of_picture(suite.pictures[0])
    assert (plain.config, plain.seed, plain.arms) == (picture.config, picture.seed, PAIRED)
    assert len(units_of([table, suite])) == len(units_of([table]))
    assert pictures.final_embeddings().pictures == suite.pictures


def test_encoders_are_the_two_of_the_figure() -> None:
    found = pictures.encoders().pictures
    assert {picture.config.encoders.names for picture in found} == {("gcn", "gatv2")}
    assert [picture.config.dataset for picture in found] == ["cora", "citeseer", "wikics"]


def test_convergence_has_nodes_and_links_with_one_layer_and_two() -> None:
    found = pictures.convergence().pictures
    assert len(found) == 16
    for picture in found:
        dataset, task, layers = picture.name.split()
        assert picture.config.dataset == DATASETS[dataset]
        assert picture.config.task == {"NC": "node", "LP": "link"}[task]
        assert picture.config.shaper.n_layers == {"L1": 1, "L1+2": 2}[layers]


def test_two_classes_are_of_the_same_run_but_for_the_data() -> None:
    two, many, *rest = pictures.binary_vs_multiclass().pictures
    assert (two.config.dataset, many.config.dataset) == ("cora#binary", "cora")
    assert [picture.config.dataset for picture in rest] == ["citeseer#binary", "citeseer"]
    assert two.config.model_copy(update={"dataset": "cora"}) == many.config == node_config("cora")
