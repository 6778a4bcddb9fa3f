"""The suites that hold preset `strong` against its controls: fresh splits, and nothing differs but what a row names."""

from __future__ import annotations

import pytest

from bes.bench.model import Ask, Suite
from bes.bench.suites import SUITES, parts, shaping
from bes.config import RunConfig

EVERY = ("few-labels", "noisy-graphs", "full-labels", "unseen-graphs", "no-labels")
LARGE = ("pubmed", "coauthor_cs", "amazon_computers")


def asks(suite: Suite) -> dict[tuple[str, str, str], Ask]:
    return {(sheet.name, cell.row, cell.column): cell.ask for sheet in suite.sheets for cell in sheet.cells if cell.ask}


@pytest.mark.parametrize("name", EVERY)
def test_splits_are_fresh_and_enough(name: str) -> None:
    suite = SUITES[name]()
    assert suite.name == name
    for ask in asks(suite).values():
        assert min(ask.seeds) == 100, "earlier splits were looked at while choosing"
        assert len(ask.seeds) == (10 if ask.config.dataset in LARGE else 20)
        assert ask.config.selection == "validation"


@pytest.mark.parametrize("name", EVERY)
def test_a_note_says_what_its_rows_are_and_names_no_other(name: str) -> None:
    for sheet in SUITES[name]().sheets:
        rows = {cell.row for cell in sheet.cells}
        for row in parts.ROWS:
            assert (f"(`{row}`)" in sheet.note) == (row in rows)


def test_few_labels_has_both_counts_on_five_graphs() -> None:
    for sheet, split in zip(shaping.few_labels().sheets[:2], ("low:20", "low:5"), strict=True):
        assert {cell.ask.config.split for cell in sheet.cells if cell.ask} == {split}
        assert len(sheet.columns) == 5
        assert sheet.reference == "BES"


def test_rows_differ_from_bes_in_what_they_name_alone() -> None:
    found = asks(shaping.few_labels())
    bes = found["few-labels-20", "BES", "Cora"].config
    assert bes == RunConfig.build("cora", preset="strong", given={"split": "low:20"})
    assert found["few-labels-20", "BES without shaping", "Cora"].config == bes, "paired: one run"
    for row, given in parts.PARTS.items():
        config = found["few-labels-20", row, "Cora"].config
        changed = config.encoder_shaper.model_dump()
        assert {key: changed[key] for key in given} == dict(given)
        same = {"encoder_shaper": bes.encoder_shaper}
        assert config.model_copy(update=same) == bes
        assert config.encoder_shaper.epochs == bes.encoder_shaper.epochs
    for row, method in parts.ALONE.items():
        ask = found["few-labels-20", row, "Cora"]
        assert ask.arm == method
        options = ask.config.methods[method]
        assert (options["features"], options["hidden"]) == (bes.features, bes.encoders.channels)


def test_noise_is_in_the_name_of_the_graph() -> None:
    found = asks(shaping.noisy_graphs())
    assert found["noisy-edges", "BES", "Amazon Photo"].config.dataset == "amazon_photo#edges:1"
    assert found["noise-by-amount", "BES", "Cora +25%"].config.dataset == "cora#edges:0.25"
    assert found["features-left-out", "GCN", "CiteSeer -90%"].config.dataset == "citeseer#features:0.9"


def test_controls_of_noise_take_the_graph_as_it_is() -> None:
    found = asks(shaping.noisy_graphs())
    trust = {row: found["noisy-edges", row, "Cora"].config.encoder_shaper.trust for row in parts.NOISY_PARTS}
    own = found["noisy-edges", "BES", "Cora"].config.encoder_shaper.trust
    assert own is not None
    assert {row for row, value in trust.items() if value == own} == {"without gravity", "trusted edges alone"}
    assert {value for value in trust.values() if value != own} == {None}


def test_gravity_is_added_to_pseudo_labels_alone() -> None:
    found = asks(shaping.few_labels())
    plain, band, hopeless = (found["few-labels-band", row, "Cora"].config for row in parts.BAND_PARTS)
    assert plain == found["few-labels-20", "pseudo-labels", "Cora"].config, "one run for both sheets"
    for config, share in ((band, 0.25), (hopeless, 0.5)):
        changed = {"gravity": 0.3, "band": share}
        assert config.encoder_shaper == plain.encoder_shaper.model_copy(update=changed)
        assert config.encoder_shaper.last + share <= 1.0


def test_full_labels_is_on_the_graphs_of_the_arena() -> None:
    sheet = shaping.full_labels().sheets[0]
    assert sheet.columns == SUITES["arena-nodes"]().sheets[0].columns
    assert {cell.ask.config.preset for cell in sheet.cells if cell.ask} == {"strong"}


def test_unseen_graphs_are_in_no_other_suite_of_shaping_and_run_as_all_others() -> None:
    found = asks(shaping.unseen_graphs())
    graphs = {ask.config.dataset for ask in found.values()}
    seen = {ask.config.dataset for name in EVERY if name != "unseen-graphs" for ask in asks(SUITES[name]()).values()}
    assert len(graphs) == 4
    assert not graphs & seen
    for sheet, split in (("unseen-20", "low:20"), ("unseen-5", "low:5"), ("unseen-full", "random")):
        bes = found[sheet, "BES", "Twitch ES"].config
        assert bes == RunConfig.build("twitch_es", preset="strong", given={"split": split})
        for row in ("BES", "BES without shaping", "pseudo-labels", "look-alikes alone", "GCN"):
            assert found[sheet, row, "Twitch ES"].config == found[f"{sheet}-auc", row, "Twitch ES"].config, "one run"


@pytest.mark.parametrize(
    ("suite", "sheet", "variants"),
    [
        ("few-labels", "few-labels-frozen", shaping.SOFT),
        ("noisy-graphs", "noisy-frozen", shaping.SCOPES),
        ("full-labels", "full-labels-frozen", shaping.OUT_OF_FOLD),
    ],
)
def test_variants_of_frozen_embeddings_share_their_control(
    suite: str, sheet: str, variants: dict[str, dict[str, object]]
) -> None:
    found = asks(SUITES[suite]())
    own = {row: found[sheet, row, "Cora"].config for row in (*variants, "BES without shaping")}
    assert own["BES without shaping"] == next(iter(own.values())), "paired: one run"
    assert len({config.model_dump_json() for config in own.values()}) == len(variants)
    for config in own.values():
        assert config.shaping == "layers"
        assert config.encoders.names == ("mlp", "gcn", "cheb")


def test_without_labels_igcl_is_held_against_itself() -> None:
    found = asks(shaping.no_labels())
    for metric in ("accuracy", "nmi", "ari"):
        shaped, plain = (found[f"no-labels-{metric}", row, "Cora"].config.methods for row in ("IGCL, shaped", "IGCL"))
        options = shaped["igcl-shaped"]
        assert {key: options[key] for key in plain["igcl"]} == plain["igcl"]
