import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bes.config import DecoderConfig, EncoderConfig, RunConfig, ShaperConfig
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.models.decoders import Decoder
from bes.models.encoders import EncoderEnsemble
from bes.models.pair_encoders import PairEncoders
from bes.models.pairs import PairDecoder
from bes.settings import validate


def defaults(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: p.default for name, p in parameters.items() if name != "self"}


def test_the_shapers_options_are_the_configurations() -> None:
    """Names and defaults alike, so that they cannot drift apart."""
    own = defaults(BoundaryShaper.__init__)
    for name in ("n_views", "random_state", "device", "verbose"):
        del own[name]
    assert ShaperConfig().model_dump() == own


def test_encoders_and_decoder_have_the_configurations_defaults() -> None:
    own = defaults(EncoderEnsemble.__init__)
    assert EncoderConfig().model_dump(exclude={"names"}) == {
        name: own[name] for name in EncoderConfig.model_fields if name != "names"
    }
    own = defaults(Decoder.__init__)
    assert DecoderConfig().model_dump(exclude={"kind"}) == {
        name: own[name] for name in DecoderConfig.model_fields if name != "kind"
    }


def test_precedence_defaults_preset_file_options_settings(tmp_path: Path) -> None:
    """Each layer overrules the one before it, key by key."""
    file = tmp_path / "my.json"
    file.write_text(
        json.dumps({"split": "low:20", "preset": "official", "encoders": {"epochs": 11, "lr": 0.5}, "dataset": "cora"})
    )
    build = RunConfig.build
    assert build("mine").encoders.epochs == 200
    assert build("mine", preset="strong").encoders.channels == 64
    assert build("mine", preset="official").shaper.scope == "self"
    found = build("mine", file=file)
    assert (found.split, found.encoders.epochs, found.preset, found.shaper.scope) == ("low:20", 11, "official", "self")
    assert found.dataset == "mine", "the file cannot rename the graph that was asked for"
    found = build("mine", file=file, preset="strong", given={"split": "mask", "encoders": {"epochs": 12}})
    assert (found.split, found.encoders.epochs, found.encoders.lr) == ("mask", 12, 0.5)
    assert (found.preset, found.encoders.channels, found.shaper.scope) == ("strong", 64, "views")
    given = {"encoders": {"epochs": 12}, "split": None}
    found = build("mine", file=file, given=given, settings=["encoders.epochs=13", "channels=5"])
    assert (found.encoders.epochs, found.encoders.channels, found.split) == (13, 5, "low:20")
    found = build("mine", preset="paper", settings=["preset=strong"])
    assert (found.preset, found.encoders.channels) == ("strong", 64), "a preset brings its options, however it is named"


def test_null_is_a_value_of_an_option_wherever_it_is_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("encoder_shaper: {gravity: 0, trust: 0.5}\nshaper:\n")
    found = RunConfig.build("mine", file=file, settings=["guard=null", "encoder_shaper.trust=null"]).encoder_shaper
    assert (found.guard, found.trust, found.gravity) == (None, None, 0)
    file.write_text("encoder_shaper: {guard: null}")
    assert RunConfig.build("mine", preset="strong", file=file).encoder_shaper.guard is None
    with pytest.raises(InputError, match=r"decoder\.kind=None is not valid"):
        RunConfig.build("mine", settings=["decoder.kind=null"])


def test_preset_strong_is_one_setting_for_every_graph() -> None:
    def settings(name: str) -> dict[str, object]:
        config = RunConfig.build(name, preset="strong")
        return config.model_dump(exclude={"dataset", "split", "decoder"})  # it has no decoder

    names = ("cora", "citeseer", "pubmed", "texas", "actor", "ogbn-arxiv", "mine")
    first, *others = (settings(name) for name in names)
    assert first["shaping"] == "encoders"
    assert all(one == first for one in others)


def test_presets_are_not_changed_by_use() -> None:
    first = RunConfig.build("mine", preset="official", settings=["alpha=3"])
    assert first.shaper.alpha == 3
    assert RunConfig.build("mine", preset="official").shaper.alpha == 1.0


def test_the_papers_encoders_by_data_set() -> None:
    assert RunConfig.build("citeseer").encoders.names == ("sgc", "ssgc")
    assert RunConfig.build("CiteSeer") == RunConfig.build("citeseer"), "load takes either spelling"
    assert RunConfig.build("chameleon-filtered").decoder.kind == "sage"
    assert RunConfig.build("my.npz").encoders.names == ("gcn", "cheb")
    found = RunConfig.build("citeseer", given={"encoders": {"names": "gat, sage"}, "decoder": {"kind": "mlp"}})
    assert (found.encoders.names, found.decoder.kind) == (("gat", "sage"), "mlp")
    assert RunConfig.build("citeseer", settings=["encoders.names=gat,sage"]).encoders.names == ("gat", "sage")
    assert RunConfig.build("citeseer", settings=['names=["gat","sage"]']).encoders.names == ("gat", "sage")


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("split: low:5\nencoders:\n  names: [gat, gcn]\nshaper: {n_iter: 7, tau: 0.5}\n")
    (tmp_path / "a.json").write_text(
        json.dumps({"split": "low:5", "encoders": {"names": ["gat", "gcn"]}, "shaper": {"n_iter": 7, "tau": 0.5}})
    )
    one, two = (RunConfig.build("mine", file=tmp_path / name) for name in ("a.yaml", "a.json"))
    assert one == two
    assert one.shaper.n_iter == 7
    (tmp_path / "empty.yaml").write_text("")
    assert RunConfig.build("mine", file=tmp_path / "empty.yaml") == RunConfig.build("mine")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("absent.yaml", None, "cannot be read"),
        ("a.json", "{", r"not valid JSON \(line 1\)"),
        ("a.yaml", "a: [", "not valid YAML"),
        ("a.yaml", "- 1", "must hold keys and values, not a list"),
        ("a.yaml", "shaper: {n_itr: 3}", r"'shaper\.n_itr' is not known: did you mean shaper\.n_iter"),
        ("a.yaml", "shaper: {n_iter: many}", r"shaper\.n_iter='many' is not valid"),
        ("a.yaml", "preset: [paper]", "preset .* is not known"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words):
        RunConfig.build("mine", file=tmp_path / name)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("n_iter", "has no value: write key=value"),
        ("n_itr=3", r"'n_itr' is not known: did you mean shaper\.n_iter"),
        ("encoders.epoch=3", r"is not known: did you mean encoders\.epochs\?$"),
        (
            "epochs=3",
            r"could be encoders\.epochs or encoder_shaper\.epochs or decoder\.epochs: write one of them in full",
        ),
        ("zzz=3", "known are dataset, "),
        ("n_iter=-1", r"shaper\.n_iter=-1 is not valid: input should be greater than or equal to 0"),
        ("n_iter=1.5", r"shaper\.n_iter=1\.5 is not valid"),
        ("shrinkage=abc", r"The setting shaper\.shrinkage='abc' is not valid"),
        ("scope=vews", r"shaper\.scope='vews' is not valid: input should be 'views'"),
        ("delta=Infinity", r"shaper\.delta=inf is not valid: input should be a finite number"),
        ("tau=NaN", r"shaper\.tau=nan is not valid"),
        ("selection=train", "selection='train' is not valid: input should be 'validation' or 'test-peek'"),
        ("preset=pape", "preset 'pape' is not known: did you mean paper"),
        ("preset=zzz", "preset 'zzz' is not known: use one of paper, official, strong"),
    ],
)
def test_bad_settings(setting: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        RunConfig.build("mine", settings=[setting])
    assert "\n" not in str(caught.value)


def test_frozen() -> None:
    plan = RunConfig.build("mine")
    with pytest.raises(ValidationError):
        plan.split = "mask"  # type: ignore[misc]
    assert validate(RunConfig, plan.model_dump()) == plan


def test_canonical_json_comes_back_as_the_same_configuration() -> None:
    plan = RunConfig.build("mine", preset="official", settings=["shrinkage=0.25"])
    assert RunConfig.model_validate_json(plan.canonical()) == plan


def test_the_data_set_is_not_a_setting() -> None:
    with pytest.raises(InputError, match="'dataset' cannot be set"):
        RunConfig.build("cora", settings=["dataset=citeseer"])


@pytest.mark.parametrize(("name", "split"), [("cora", "random"), ("Minesweeper", "mask"), ("my.npz", "random")])
def test_a_data_sets_own_split_is_the_default(name: str, split: str) -> None:
    assert RunConfig.build(name).split == split
    assert RunConfig.build(name, given={"split": "low:5"}).split == "low:5"


def test_links_and_edges_have_defaults_of_their_own() -> None:
    node, link, edge = (RunConfig.build("cora", given={"task": task}) for task in ("node", "link", "edge"))
    assert (node.encoders.names, node.decoder.kind, node.rivals) == (("cheb", "gcn"), "cheb", ())
    assert (link.encoders.names, link.decoder.kind, link.split) == (("gcn", "sage"), "mlp", "random")
    assert link.rivals == ("cn", "aa", "ra", "pa", "cosine", "mlp")
    assert edge.rivals == ("mlp",)
    assert link.shaper.unit == edge.shaper.unit == "spread"
    assert RunConfig.build("actor", given={"task": "link"}).split == "random", "its masks are of nodes"
    assert RunConfig.build("cora", given={"task": "link", "rivals": "gcn, sage"}).rivals == ("gcn", "sage")
    assert RunConfig.build("cora", settings=["task=link", "boundary=pairs"]).links.boundary == "pairs"


def test_pair_models_have_the_configurations_defaults() -> None:
    config = RunConfig.build("cora", given={"task": "link"})
    encoders, decoder = PairEncoders(), PairDecoder()
    for name, value in config.encoders.model_dump(exclude={"names"}).items():
        assert getattr(encoders, name) == value, name
    assert tuple(encoders.encoders) == config.encoders.names
    for name, value in config.decoder.model_dump().items():
        assert getattr(decoder, name) == value, name
    assert (encoders.decoder, encoders.hidden) == (config.decoder.kind, config.decoder.hidden)
    assert encoders.batch == decoder.batch == config.links.batch


# Methods


@pytest.mark.parametrize("given", ["gcn,h2gcn", ["gcn", "h2gcn"], {"gcn": {}, "h2gcn": None}])
def test_methods_are_given_by_name_or_with_options(given: Any) -> None:
    plan = RunConfig.build("mine", given={"methods": given})
    assert plan.methods == {"gcn": {}, "h2gcn": {}}
    assert plan.methods_alone == ("gcn", "h2gcn")
    assert not plan.paired


def test_without_methods_and_with_bes_among_them_a_run_is_paired() -> None:
    assert RunConfig.build("mine").paired
    plan = RunConfig.build("mine", given={"methods": "bes,gcn"})
    assert plan.paired
    assert plan.methods_alone == ("gcn",)


def test_an_option_of_a_method_is_set_by_the_methods_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("methods: {gcn: {hidden: 8, dropout: 0.1}}")
    plan = RunConfig.build("mine", file=file, settings=["gcn.hidden=32", "encoders.lr=0.1"])
    assert plan.methods == {"gcn": {"hidden": 32, "dropout": 0.1}}
    assert plan.encoders.lr == 0.1
    with pytest.raises(InputError, match=r"gat\.hidden"):
        RunConfig.build("mine", file=file, settings=["gat.hidden=32"])


def test_configurations_with_methods_can_be_members_of_a_set() -> None:
    one, two = (RunConfig.build("mine", given={"methods": {"gcn": {"hidden": width}}}) for width in (8, 16))
    assert len({one, two, one.model_copy()}) == 2


@pytest.mark.parametrize("given", [5, True, [{"gcn": {"hidden": 3}}], {"gcn": 3}])
def test_methods_that_are_not_understood_are_refused(given: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"methods": given}))
    with pytest.raises(InputError, match=r"methods=.* is not understood: write names, or options by name"):
        RunConfig.build("mine", file=file)


def test_named_methods_replace_those_of_the_file_and_keep_its_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"methods": {"gcn": {"hidden": 3}, "h2gcn": {}}}))
    plan = RunConfig.build("mine", file=file, given={"methods": "gcn,mlp"})
    assert plan.methods == {"gcn": {"hidden": 3}, "mlp": {}}


def test_what_is_given_is_not_changed() -> None:
    options = {"hidden": 8}
    RunConfig.build("mine", given={"methods": {"gcn": options}}, settings=["gcn.hidden=3"])
    assert options == {"hidden": 8}


def test_a_variant_has_the_defaults_of_its_graph() -> None:
    plan, plain = RunConfig.build("Cora#edges:1"), RunConfig.build("cora")
    assert plan.dataset == "cora#edges:1"
    assert plan.model_copy(update={"dataset": "cora"}) == plain
