from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import numpy as np
import pytest

from bes.config import RunConfig
from bes.errors import InputError
from bes.explore.payload import MOST_NEIGHBORS, PARTS, Nodes
from bes.explore.server import make_server
from bes.graph.graph import Graph
from bes.outcomes import OUTCOMES
from bes.planes import plane
from bes.records import RunDirectory
from bes.runs import run
from bes.stored import StoredRun
from explore.made import made_graph, made_run, part_of_split


@pytest.fixture(scope="module")
def nodes(made: StoredRun) -> Nodes:
    return Nodes(made)


def test_columns_agree_with_a_loop_over_the_nodes(made: StoredRun, nodes: Nodes) -> None:
    split, y = made.split(0), made.graph.y.tolist()
    control, bes = (made.predictions(0, arm)["prob"] for arm in ("control", "bes"))
    parts = [set(split[key].tolist()) for key in ("train", "val", "test")]
    for node in range(made.graph.n_nodes):
        assert nodes.arrays["class"][node] == y[node]
        part = next((i for i, part in enumerate(parts) if node in part), 4)
        assert nodes.arrays["part"][node] == part
        for side, prob in (("before", control), ("after", bes)):
            ranked = sorted(prob[node].tolist(), reverse=True)
            assert prob[node, nodes.arrays[side][node]] == np.float32(ranked[0])
            assert nodes.arrays[f"margin_{side}"][node] == pytest.approx(ranked[0] - ranked[1], abs=1e-6)
    assert PARTS[4] == "unlabelled"


def test_outcomes_are_those_of_test_nodes_alone(made: StoredRun, nodes: Nodes) -> None:
    test, y = set(made.split(0)["test"].tolist()), made.graph.y.tolist()
    control, bes = (made.predictions(0, arm)["prob"].argmax(1).tolist() for arm in ("control", "bes"))
    names = {(True, True): 0, (False, True): 1, (True, False): 2, (False, False): 3}
    wanted = [names[control[i] == y[i], bes[i] == y[i]] if i in test else -1 for i in range(90)]
    assert nodes.arrays["outcome"].tolist() == wanted
    assert len(set(wanted)) == 5, "or the test could not tell them apart"
    assert OUTCOMES[1:3] == ("fixed by bes", "broken by bes")


def test_labelled_nodes_outside_the_split_are_not_called_unlabelled(tmp_path: Path, made: StoredRun) -> None:
    found = Nodes(part_of_split(made_run(tmp_path / "run", made.graph)))
    split, y = StoredRun(tmp_path / "run").split(0), made.graph.y.numpy()
    used = np.concatenate([split["train"], split["val"], split["test"]])
    outside = np.setdiff1d(np.flatnonzero(y >= 0), used)
    assert len(outside) > 10
    assert np.array_equal(np.flatnonzero(found.arrays["part"] == PARTS.index("in no part")), outside)
    assert np.array_equal(np.flatnonzero(found.arrays["part"] == PARTS.index("unlabelled")), np.flatnonzero(y < 0))


def test_the_page_is_told_how_epochs_were_selected(tmp_path: Path, made: StoredRun, nodes: Nodes) -> None:
    assert nodes.about["selection"] == "validation"
    peeked = made_run(tmp_path / "run", made.graph, selection="test-peek")
    assert Nodes(peeked).about["selection"] == "test-peek"


def test_stages_share_a_plane_and_fill_the_bounds(made: StoredRun, nodes: Nodes) -> None:
    rows, y, train = made.rows(0), made.graph.y.numpy(), made.split(0)["train"]
    assert nodes.about["stages"] == ["Before", "Layer 1", "After"]
    for i, flat in enumerate(plane([rows["before"], rows["between"][0], rows["after"]], y, train)):
        np.testing.assert_allclose(nodes.arrays[f"stage{i}"], flat, rtol=1e-6)
    left, right, bottom, top = nodes.about["bounds"]
    every = np.concatenate([nodes.arrays[f"stage{i}"] for i in range(3)])
    inside = (every >= (left, bottom)) & (every <= (right, top))
    assert inside.mean() > 0.98


def test_a_nodes_details_are_those_of_the_files(made: StoredRun, nodes: Nodes) -> None:
    rows = made.rows(0)
    edges = made.graph.edge_index.T.tolist()
    for node in (0, 1, 44, 89):
        found = nodes.node(node)
        assert found["neighbors"] == sorted(v for u, v in edges if u == node)
        assert found["degree"] == len(found["neighbors"])
        for arm, side in (("control", "before"), ("bes", "after")):
            np.testing.assert_allclose(found["prob"][side], made.predictions(0, arm)["prob"][node], rtol=1e-5)
            away = [(float(np.linalg.norm(rows[side][i] - rows[side][node])), i) for i in range(90) if i != node]
            assert found["nearest"][side]["nodes"] == [i for _, i in sorted(away)[:10]]
        for layer in range(2):
            score = rows["shift_scores"][layer, node]
            assert found["shift"][layer] == (None if np.isnan(score) else pytest.approx(score))
            assert found["boundary"][layer] is bool(rows["boundaries"][layer, node])


def test_probabilities_come_before_and_after_side_by_side(made: StoredRun, nodes: Nodes) -> None:
    chosen = np.array([3, 80, 3])
    control, bes = (made.predictions(0, arm)["prob"] for arm in ("control", "bes"))
    assert np.array_equal(nodes.probabilities(chosen), np.hstack([control[chosen], bes[chosen]]))


def test_predictions_find_their_node_in_any_order(tmp_path: Path, made: StoredRun) -> None:
    stored = made_run(tmp_path / "run", made.graph)
    file = stored.path / "predictions" / "0-bes.npz"
    straight = Nodes(stored).arrays["after"]
    arrays, order = dict(np.load(file)), np.random.default_rng(0).permutation(90)
    np.savez(file, node=arrays["node"][order], prob=arrays["prob"][order])
    assert np.array_equal(Nodes(stored).arrays["after"], straight)


def test_names_are_the_owners_or_numbers(tmp_path: Path, nodes: Nodes) -> None:
    assert nodes.ids is not None
    assert nodes.ids[0] == "<img src=x onerror=alert(1)>"
    assert nodes.about["classes"][1] == "<b>green</b>"
    assert nodes.about["named"] is True
    plain = Nodes(made_run(tmp_path / "run", made_graph(60)))
    assert plain.ids is None
    assert (plain.about["named"], plain.about["classes"]) == (False, ["0", "1", "2", "3"])


def test_the_seed_can_be_chosen(made: StoredRun) -> None:
    assert Nodes(made).seed == 0
    other = Nodes(made, 3)
    assert other.about["seed"] == 3
    assert not np.array_equal(other.arrays["stage0"], Nodes(made).arrays["stage0"])
    with pytest.raises(InputError, match=r"has no seed 7: use one of 0, 3\."):
        Nodes(made, 7)


def test_a_hub_is_counted_whole_and_sent_in_part(tmp_path: Path) -> None:
    n = MOST_NEIGHBORS + 50
    plain = made_graph(n)
    star = np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)])
    graph = Graph(plain.x, plain.edge_index.new_tensor(star), plain.y, "star")
    found = Nodes(made_run(tmp_path / "run", graph)).node(0)
    assert found["degree"] == n - 1
    assert found["neighbors"] == list(range(1, MOST_NEIGHBORS + 1))


def test_a_trained_run_can_be_explored_without_its_models(finished: RunDirectory, tmp_path: Path) -> None:
    copytree(finished.path, tmp_path / "run", ignore=ignore_patterns("models", "*.safetensors"))
    found = Nodes(StoredRun(tmp_path / "run"))
    assert found.about["nodes"] == 150
    assert set(found.about["accuracy"]) == {"before", "after"}
    assert len(found.node(3)["nearest"]["after"]["nodes"]) == 10


@pytest.mark.parametrize("boundary", ["classes", "clusters"])
def test_links_show_their_nodes(tmp_path: Path, small_graph: Graph, quick: Any, boundary: str) -> None:
    config: RunConfig = quick(task="link", links={"boundary": boundary}, decoder={"kind": "dot"})
    done = run(config, small_graph, [0], tmp_path / "run")
    found = Nodes(StoredRun(done.path))
    assert "before" not in found.arrays
    assert "part" not in found.arrays
    assert found.node(0)["prob"] == {}
    assert found.probabilities(np.array([1, 2])).shape == (2, 0)
    label = StoredRun(done.path).rows(0)["label"]
    assert np.array_equal(found.arrays["group"], label)
    groups = found.about["groups"]
    assert len(groups) == label.max() + 1
    assert groups[0] == ("0" if boundary == "classes" else "Cluster 0")


def test_pairs_are_refused_in_one_sentence(tmp_path: Path) -> None:
    stored = made_run(tmp_path / "run", made_graph(60), pair=np.zeros((60, 2), np.int64))
    with pytest.raises(InputError, match=r"shaped pairs of nodes.*: run it with --boundary clusters\."):
        make_server(stored)


def test_a_run_of_methods_alone_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = made_run(tmp_path / "run", made_graph(60))
    monkeypatch.setattr(stored, "config", stored.config.model_copy(update={"methods": {"gcn": {}}}))
    with pytest.raises(InputError, match=r"left no embedding to explore: look at its report\.html, or run it with bes"):
        make_server(stored)


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    stored = made_run(tmp_path / "run", made_graph(60), after=np.zeros((59, 16), np.float32))
    with pytest.raises(InputError, match="are not of its graph's 60 nodes: run it again"):
        Nodes(stored)
    file = tmp_path / "run" / "embeddings" / "0.npz"
    with np.load(file) as arrays:
        kept = {key: arrays[key] for key in arrays.files if key not in ("after", "boundaries")}
    np.savez(file, **kept, after=kept["before"])
    with pytest.raises(InputError, match="by an older bes, without 'boundaries': run it again"):
        Nodes(stored)


def test_one_class_has_a_margin(tmp_path: Path) -> None:
    plain = made_graph(60)
    graph = Graph(plain.x, plain.edge_index, plain.y.clamp(max=0), "alike")
    found = Nodes(made_run(tmp_path / "run", graph))
    assert (found.arrays["margin_after"] == 1).all()
    assert np.isfinite(found.arrays["stage0"]).all()
