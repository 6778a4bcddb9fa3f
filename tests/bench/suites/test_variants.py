"""Variants of BES: each row has the settings it names, and shares the runs that others have."""

from __future__ import annotations

import pytest

from bes.bench import paper
from bes.bench.model import ACCURACY, CONVERGENCE, Ask, Sheet, Suite
from bes.bench.suites import comparisons, variants
from bes.bench.suites.settings import CONTROL, DATASETS
from bes.bench.units import unit_of, units_of
from bes.config import RunConfig, ShaperConfig
from bes.presets import PAPER_ENCODERS

MAIN = ("Cora", "CiteSeer", "PubMed", "WikiCS")
HARD = ("Chameleon", "Cornell", "Texas", "Roman-empire", "ogbn-arxiv")


def sheets(suite: Suite) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in suite.sheets}


def asked(sheet: Sheet, row: str, column: str) -> Ask:
    (cell,) = [cell for cell in sheet.cells if (cell.row, cell.column) == (row, column)]
    assert cell.ask is not None
    return cell.ask


def table1(task: str, dataset: str, arm: str = "BES", kind: str = "") -> Ask:
    return asked(sheets(comparisons.table1())[f"table1-{task.lower()}{kind}"], arm, f"{dataset} {task}")


def shaped(config: RunConfig) -> dict[str, object]:
    """What differs from the shaper of the same task in table 1."""
    plain = table1("NC" if config.task == "node" else "LP", "Cora").config.shaper.model_dump()
    return {key: value for key, value in config.shaper.model_dump().items() if value != plain[key]}


PRINTED = [
    (variants.topology_vs_embedding, 6, MAIN),
    (variants.pairwise_vs_centers, 7, MAIN),
    (variants.ablation_nc, 14, MAIN),
    (variants.ablation_lp, 15, MAIN),
    (variants.boundary_nodes, 16, (*MAIN, *HARD)),
]


@pytest.mark.parametrize(("make", "table", "datasets"), PRINTED)
def test_every_printed_value_is_shown_under_each_protocol(make, table, datasets) -> None:
    suite = make()
    seen = set()
    for sheet in suite.sheets:
        number = 8 if "seconds" in sheet.name else table
        assert tuple(sheet.columns) == datasets
        for cell in sheet.cells:
            if cell.row == CONTROL:
                assert cell.printed is None
                continue
            assert cell.printed == paper.printed(number, cell.row, cell.column), (sheet.name, cell.row)
            seen.add((number, cell.row, cell.column))
    for number in {table, *([8] if table == 7 else [])}:
        for row in paper.rows(number):
            assert {(number, row, column) for column in paper.columns(number)} <= seen


def test_printed_values_as_the_paper_has_them() -> None:
    def text(suite: Suite, sheet: str, row: str, column: str) -> str:
        (cell,) = [c for c in sheets(suite)[sheet].cells if (c.row, c.column) == (row, column)]
        assert cell.printed is not None
        return cell.printed.text

    topology, pairwise = variants.topology_vs_embedding(), variants.pairwise_vs_centers()
    assert text(topology, "topology-vs-embedding-nc", "NC Graph Topology", "PubMed") == "91.09±0.06"
    assert text(topology, "topology-vs-embedding-lp", "LP Embedding Space", "CiteSeer") == "95.66±0.06"
    assert text(pairwise, "pairwise-vs-centers-nc-peek", "NC Pairwise Objective", "WikiCS") == "85.22±0.12"
    assert text(pairwise, "pairwise-vs-centers-seconds-lp", "LP Center-based Approximation", "Cora") == "~220"
    assert text(variants.ablation_nc(), "ablation-nc", "Enc2", "CiteSeer") == "78.10±0.63"
    assert text(variants.ablation_lp(), "ablation-lp", "Enc", "PubMed") == "97.64±0.06"
    assert text(variants.boundary_nodes(), "boundary-nodes-peek", "w/o boundary nodes", "ogbn-arxiv") == "72.54"


def test_the_shift_score_is_from_the_graph_or_the_embedding() -> None:
    found = sheets(variants.topology_vs_embedding())
    for task, name in (("NC", "nc"), ("NC", "nc-peek"), ("LP", "lp")):
        sheet = found[f"topology-vs-embedding-{name}"]
        graph, near = (asked(sheet, f"{task} {row}", "Cora") for row in ("Graph Topology", "Embedding Space"))
        assert shaped(graph.config) == {"n_layers": 1, "neighborhood": "graph"}
        assert shaped(near.config) == {"n_layers": 1}
        assert (graph.arm, near.arm, graph.config.task) == ("bes", "bes", "link" if task == "LP" else "node")
        assert unit_of(asked(sheet, CONTROL, "Cora")) == unit_of(near), "the control comes with it"


def test_the_objective_is_pairwise_or_by_centres() -> None:
    found = sheets(variants.pairwise_vs_centers())
    names = ["nc", "nc-peek", "lp", "seconds-nc", "seconds-lp"]
    assert list(found) == [f"pairwise-vs-centers-{name}" for name in names]
    for name in names:
        sheet, task = found[f"pairwise-vs-centers-{name}"], "LP" if "lp" in name else "NC"
        pairwise, centers = (asked(sheet, f"{task} {row}", "PubMed") for row in ("Pairwise Objective", _CENTERS))
        assert shaped(pairwise.config) == {"n_layers": 1, "n_iter": 250, "objective": "pairwise"}
        assert shaped(centers.config) == {"n_layers": 1}
        assert {pairwise.metric, centers.metric} == {CONVERGENCE if "seconds" in name else ACCURACY}
        assert {pairwise.arm, centers.arm} == {"bes"}
    accuracy, seconds = found["pairwise-vs-centers-nc"], found["pairwise-vs-centers-seconds-nc"]
    row = f"NC {_CENTERS}"
    assert unit_of(asked(accuracy, row, "Cora")) == unit_of(asked(seconds, row, "Cora")), "one run has both figures"


_CENTERS = "Center-based Approximation"


@pytest.mark.parametrize("kind", ["", "-peek"])
def test_ablation_of_nodes_takes_parts_away(kind: str) -> None:
    sheet = sheets(variants.ablation_nc())[f"ablation-nc{kind}"]
    assert sheet.rows == paper.rows(14)
    for dataset in MAIN:
        first, second = PAPER_ENCODERS[DATASETS[dataset]]
        rows = {row: asked(sheet, row, dataset) for row in sheet.rows}
        assert {row: ask.arm for row, ask in rows.items()} == dict.fromkeys(["Enc1", "Enc2", "Enc1+2"], "control") | {
            "L1": "bes",
            "L1+2": "bes",
        }
        assert rows["Enc1"].config.encoders.names == (first,)
        assert rows["Enc2"].config.encoders.names == (second,)
        assert rows["Enc1+2"].config.encoders.names == (first, second)
        assert shaped(rows["L1"].config) == {"n_layers": 1}
        assert unit_of(rows["Enc1+2"]) == unit_of(rows["L1+2"])
        assert rows["L1+2"].config == table1("NC", dataset, kind=kind).config, "the run of table 1"


def test_ablation_of_links_takes_parts_away() -> None:
    (sheet,) = variants.ablation_lp().sheets
    assert sheet.rows == paper.rows(15)
    for dataset in MAIN:
        enc, one, two = (asked(sheet, row, dataset) for row in sheet.rows)
        assert (enc.arm, one.arm, two.arm) == ("control", "bes", "bes")
        assert shaped(one.config) == {"n_layers": 1}
        assert enc.config == two.config == table1("LP", dataset).config


def test_without_boundary_nodes_all_labelled_ones_are_shaped() -> None:
    for sheet in variants.boundary_nodes().sheets:
        for dataset in (*MAIN, *HARD):
            without, with_, control = (asked(sheet, row, dataset) for row in sheet.rows)
            assert (without.arm, with_.arm, control.arm) == ("bes", "bes", "control")
            assert with_.config.shaper == ShaperConfig()
            assert without.config.shaper == ShaperConfig(targets="all")
            assert without.config.model_copy(update={"shaper": with_.config.shaper}) == with_.config == control.config


# Sensitivity


def test_the_default_column_is_the_run_of_table_1() -> None:
    defaults = {"tau": "1", "delta": "5", "alpha": "0.005", "beta": "256"}
    found = sheets(variants.sensitivity())
    assert set(found) == {f"sensitivity-{name}" for name in defaults}
    for name, column in defaults.items():
        sheet = found[f"sensitivity-{name}"]
        assert sheet.columns[-1] == "no shaping"
        assert tuple(sheet.rows) == MAIN
        for dataset in MAIN:
            known = unit_of(table1("NC", dataset))
            assert unit_of(asked(sheet, dataset, column)) == known[:5]
            assert unit_of(asked(sheet, dataset, "no shaping")) == known[:5]
            assert asked(sheet, dataset, "no shaping").arm == "control"
    alone, both = units_of([comparisons.table1()]), units_of([comparisons.table1(), variants.sensitivity()])
    others = sum(len(values) - 1 for _, values, _ in variants.SENSITIVITY.values())
    assert len(both) - len(alone) == others * len(MAIN) * 5


def test_each_column_changes_its_own_parameter_alone() -> None:
    options = {"tau": "tau", "delta": "delta", "alpha": "alpha", "beta": "batch_size"}
    found = sheets(variants.sensitivity())
    for name, option in options.items():
        for cell in found[f"sensitivity-{name}"].cells:
            assert cell.printed is None
            assert cell.ask is not None
            if cell.column == "no shaping":
                continue
            value = cell.ask.config.shaper.model_dump()[option]
            assert value == float(cell.column)
            assert set(shaped(cell.ask.config)) <= {option}
