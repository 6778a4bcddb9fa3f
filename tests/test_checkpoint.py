"""A trained model written and read back gives the same bits, and anything else is refused in one sentence."""

import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from bes import checkpoint
from bes.checkpoint import NodeModel
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.models.convs import CONVS
from bes.models.decoders import KINDS
from bes.pipeline import ARMS, run_seed
from bes.pipeline.results import SeedResult

Quick = Callable[..., RunConfig]


@pytest.fixture(scope="module")
def seed(small_graph: Graph, quick: Quick) -> SeedResult:
    return run_seed(quick(), small_graph, 0)


@pytest.fixture(scope="module")
def file(seed: SeedResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "0.safetensors"
    kept(seed).save(path)
    return path


def kept(result: SeedResult) -> NodeModel:
    assert result.model is not None
    return result.model


def sparse(graph: Graph) -> Graph:
    """The graph with a third of its features, kept sparse."""
    return replace(graph, x=Sparse.from_dense(torch.where(graph.x > 0.5, graph.x, 0.0)))


def check_same(model: NodeModel, result: SeedResult, graph: Graph) -> None:
    """The model says what the seed recorded, to the last bit."""
    for arm in result.arms:
        found = model.predict_proba(graph, arm.arm).numpy()
        assert np.array_equal(found, arm.predictions["prob"]), arm.arm


def check_round_trip(config: RunConfig, graph: Graph, path: Path) -> NodeModel:
    result = run_seed(config, graph, 0)
    check_same(kept(result), result, graph)
    kept(result).save(path)
    state = torch.get_rng_state()
    loaded = NodeModel.load(path)
    check_same(loaded, result, graph)
    assert torch.equal(torch.get_rng_state(), state), "reading leaves torch's own stream alone"
    check_same(pickle.loads(pickle.dumps(kept(result))), result, graph)
    return loaded


@pytest.mark.parametrize("name", CONVS)
def test_every_encoder_comes_back(name: str, small_graph: Graph, quick: Quick, tmp_path: Path) -> None:
    config = quick(encoders={"names": [name, "gcn", name]})
    loaded = check_round_trip(config, small_graph, tmp_path / "m.safetensors")
    assert loaded.config == config
    assert [encoder.name for encoder in loaded.encoders.encoders_] == [name, "gcn", name]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["batch", "none"])
def test_every_decoder_comes_back(kind: str, norm: str, small_graph: Graph, quick: Quick, tmp_path: Path) -> None:
    check_round_trip(quick(decoder={"kind": kind, "norm": norm}), small_graph, tmp_path / "m.safetensors")


@pytest.mark.parametrize("preset", ["paper", "official", "strong"])
def test_every_preset_comes_back(preset: str, small_graph: Graph, quick: Quick, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    check_round_trip(quick(preset=preset), small_graph, path)
    buffers = {name for name in load_file(path) if name.endswith("running_mean")}
    assert buffers == ({f"decoders.{arm}.norm.running_mean" for arm in ARMS} if preset == "official" else set())


def test_whether_predictions_are_read_from_both_views_comes_back(
    small_graph: Graph, quick: Quick, tmp_path: Path
) -> None:
    config = quick(preset="strong", encoder_shaper={"teacher": "alike", "epochs": 5, "trust": None, "sizes": None})
    loaded = check_round_trip(config, small_graph, tmp_path / "m.safetensors")
    assert loaded.shaped is not None
    assert loaded.shaped.both_views_, "on this graph validation finds it no worse"
    assert not loaded.encoders.both_views_


@pytest.mark.parametrize("scope", ["views", "neighbors", "nodes", "self"])
def test_every_scope_of_the_shaper_comes_back(scope: str, small_graph: Graph, quick: Quick, tmp_path: Path) -> None:
    loaded = check_round_trip(quick(shaper={"scope": scope}), small_graph, tmp_path / "m.safetensors")
    assert len(loaded.shaper.layers_) == 2


@pytest.mark.parametrize("features", ["raw", "row", "length"])
def test_features_are_prepared_as_in_the_run(features: str, small_graph: Graph, quick: Quick, tmp_path: Path) -> None:
    config = quick(features=features)
    for graph in (replace(small_graph, x=small_graph.x.abs()), sparse(small_graph)):
        check_round_trip(config, graph, tmp_path / "m.safetensors")


def test_a_shaper_without_layers_comes_back(small_graph: Graph, quick: Quick, tmp_path: Path) -> None:
    loaded = check_round_trip(quick(shaper={"n_layers": 0}), small_graph, tmp_path / "m.safetensors")
    assert loaded.shaper.layers_ == []


def test_one_file_that_safetensors_reads_alone(file: Path, quick: Quick, tmp_path: Path) -> None:
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    with safe_open(file, framework="pt") as content:
        state = json.loads(content.metadata()["bes"])
        names = set(content.keys())
    assert {
        "encoders.0.conv1.bias",
        "shaper.layer.0.out",
        "decoders.bes.conv1.bias",
        "decoders.control.conv1.bias",
    } <= names
    assert (state["format"], state["version"]) == ("bes-node-model", 1)
    assert RunConfig.model_validate(state["config"]) == quick()
    assert (state["n_features"], state["n_classes"], state["seed"]) == (8, 3, 0)
    assert state["shaper"]["classes"] == [0, 1, 2]
    assert state["shaper"]["options"]["tau"] == quick().shaper.tau
    again = tmp_path / "again.safetensors"
    NodeModel.load(file).save(again)
    assert again.read_bytes() == file.read_bytes(), "the same model, the same bytes"


def test_what_was_loaded_is_frozen_and_whole(seed: SeedResult, file: Path) -> None:
    loaded = NodeModel.load(file, device="cpu")
    modules = [*loaded.encoders.encoders_, *loaded.shaper.layers_, *(d.net_ for d in loaded.decoders.values())]
    assert not any(weight.requires_grad for module in modules for weight in module.parameters())
    assert not any(module.training for module in (*loaded.encoders.encoders_, loaded.decoders["bes"].net_))
    before, after = kept(seed)._tensors(), loaded._tensors()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert {part.device for part in (loaded.encoders, loaded.shaper, *loaded.decoders.values())} == {"cpu"}


def test_predictions_do_not_read_labels(small_graph: Graph, file: Path) -> None:
    model = NodeModel.load(file)
    for arm in ARMS:
        found = model.predict_proba(small_graph, arm)
        assert torch.equal(found, model.predict_proba(small_graph.without_labels(), arm))
        torch.testing.assert_close(found.sum(1), torch.ones(150))


def test_nodes_may_come_in_any_order(small_graph: Graph, file: Path) -> None:
    model, order = NodeModel.load(file), torch.randperm(150, generator=torch.Generator().manual_seed(0))
    place = torch.empty_like(order)
    place[order] = torch.arange(150)
    other = replace(
        small_graph, x=small_graph.x[order], edge_index=place[small_graph.edge_index], y=small_graph.y[order]
    )
    for arm in ARMS:
        torch.testing.assert_close(model.predict_proba(other, arm), model.predict_proba(small_graph, arm)[order])


def test_what_cannot_be_predicted_is_refused(small_graph: Graph, file: Path) -> None:
    model = NodeModel.load(file)
    with pytest.raises(InputError, match="has 7 features, but the encoders were fitted on 8"):
        model.predict_proba(replace(small_graph, x=small_graph.x[:, :7]), "bes")
    with pytest.raises(InputError, match=r"The arm 'bess' is not known: did you mean bes\?"):
        model.predict_proba(small_graph, "bess")
    with pytest.raises(InputError, match="device 'nonsense' cannot be used"):
        NodeModel.load(file, device="nonsense")


def test_what_is_no_model_is_refused(file: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none.safetensors"):
        with pytest.raises(InputError, match=r"cannot be read: give a model that `bes run` left\."):
            NodeModel.load(place)
    other = tmp_path / "other.safetensors"
    for metadata in (None, {"bes": "{}"}, {"bes": "[]"}, {"bes": json.dumps({"format": "pt"})}, {"format": "pt"}):
        save_file({"weight": torch.zeros(3, dtype=torch.bfloat16)}, other, metadata)
        with pytest.raises(InputError, match="holds no model of node classes"):
            NodeModel.load(other)
    save_file({}, other, {"bes": json.dumps({"format": checkpoint.FORMAT, "version": 2})})
    with pytest.raises(InputError, match="has version 2 of its format, and this library reads 1"):
        NodeModel.load(other)
    with pytest.raises(InputError, match=r"cannot be written \(.*\): choose another folder"):
        NodeModel.load(file).save(file / "below.safetensors")


@pytest.mark.parametrize("text", ["{", "{}", '{"format": "bes-node-model", "version": 1}'])
def test_metadata_that_say_too_little_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save_file({"weight": torch.zeros(3)}, path, {"bes": text})
    with pytest.raises(InputError, match=r"is damaged|holds no model"):
        NodeModel.load(path)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "no bias": lambda all: all["tensors"].pop("encoders.0.conv1.bias"),
    "no layer": lambda all: all["tensors"].pop("shaper.layer.1.out"),
    "other shape": lambda all: all["tensors"].update({"decoders.bes.conv1.bias": torch.zeros(3)}),
    "more classes": lambda all: all["state"].update(n_classes=4),
    "more encoders": lambda all: all["state"]["config"]["encoders"].update(names=["gcn"] * 3),
    "new setting": lambda all: all["state"]["config"].update(unheard_of=1),
    "no settings": lambda all: all["state"].update(config=[]),
    "no shaper": lambda all: all["state"].update(shaper=[]),
    "new option": lambda all: all["state"]["shaper"]["options"].update(unheard_of=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_content_that_does_not_fit_together_is_refused(change: str, seed: SeedResult, tmp_path: Path) -> None:
    """Also where the digest is right: a file of another version."""
    state, tensors = kept(seed)._state(), kept(seed)._tensors()
    CHANGES[change]({"state": state, "tensors": tensors})
    text = json.dumps({**state, "sha256": checkpoint._digest(state, tensors)})
    save_file(tensors, tmp_path / "m.safetensors", {"bes": text})
    with pytest.raises(InputError, match=r"m\.safetensors is damaged, or of another version of bes-graph: remove it"):
        NodeModel.load(tmp_path / "m.safetensors")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1), change=st.integers(0, 255))
def test_any_cut_and_any_changed_byte_is_noticed(where: float, change: int, file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    at = round(where * (len(whole) - 1))
    changed = bytes([whole[at] ^ change]) + whole[at + 1 :] if change else b""
    path = tmp_path / "damaged.safetensors"
    path.write_bytes(whole[:at] + changed)
    with suppress(InputError):
        NodeModel.load(path).save(path)
        assert path.read_bytes() == whole, "one white space for another, and nothing else, may go unnoticed"
