from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split, split_nodes

NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)


def labelled(y: list[int], **masks: torch.Tensor) -> Graph:
    return Graph(torch.ones(len(y), 1), NO_EDGES, torch.tensor(y), "toy", masks)


def parts_of(split: NodeSplit) -> list[list[int]]:
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=60), st.integers(0, 5), st.booleans())
def test_random_parts_cover_the_labelled_nodes_once(y, seed, stratify):
    if max(y) < 0:
        with pytest.raises(InputError, match="no labelled node"):
            split_nodes(labelled(y), seed=seed, stratify=stratify)
        return
    split = split_nodes(labelled(y), seed=seed, stratify=stratify)
    assert sorted(torch.cat([split.train, split.val, split.test]).tolist()) == [
        node for node, c in enumerate(y) if c >= 0
    ]
    assert all(part == sorted(part) for part in parts_of(split))
    if stratify:
        assert split.missing_classes() == []


def test_random_is_60_20_20_in_each_class():
    split = make_split(labelled([0] * 50 + [1] * 100), "random", seed=3)
    for part, fraction in (("train", 0.6), ("val", 0.2), ("test", 0.2)):
        assert torch.bincount(split.reveal(part)).tolist() == [50 * fraction, 100 * fraction]
    assert parts_of(split) == parts_of(make_split(labelled([0] * 50 + [1] * 100), "random", seed=3))
    assert parts_of(split) != parts_of(make_split(labelled([0] * 50 + [1] * 100), "random", seed=4))


def test_low_labels():
    graph = labelled([0] * 900 + [1] * 900)
    split = make_split(graph, "low:20", seed=1)
    assert torch.bincount(split.train_labels).tolist() == [20, 20]
    assert (len(split.val), len(split.test)) == (500, 1800 - 540)
    small = make_split(labelled([0] * 5 + [1] * 5), "low:3", seed=1)
    assert [len(part) for part in parts_of(small)] == [6, 2, 2]


def test_mask_labels_hide_everything_outside_train():
    split = make_split(labelled([0, 1] * 10), seed=0)
    for y in (torch.tensor([0, 1] * 10), np.array([0, 1] * 10)):
        masked = split.mask_labels(y)
        assert type(masked) is type(y)
        assert [i for i in range(20) if masked[i] >= 0] == split.train.tolist()
        assert (masked[split.train.tolist()] == y[split.train.tolist()]).all()


def test_mask_labels_of_another_graph_are_refused(refuses):
    split = make_split(labelled([0, 1] * 10), seed=0)
    with refuses("length 3", "20 nodes"):
        split.mask_labels(torch.zeros(3))


def ten_masks(n: int, prefix: str = "") -> dict[str, torch.Tensor]:
    part = (torch.arange(n)[:, None] + torch.arange(10)) % 3
    return {f"{prefix}{key}_mask": part == i for i, key in enumerate(("train", "val", "test"))}


def test_masks_are_taken_as_the_file_has_them():
    graph = labelled([0] * 5 + [-1], **ten_masks(6), **ten_masks(6, "geom_"))
    assert parts_of(make_split(graph, "mask:1")) == [[2], [0, 3], [1, 4]]  # node 5 has no label
    assert make_split(graph, "mask", seed=13).name == "mask:3"
    assert parts_of(make_split(graph, "geom:2")) == parts_of(make_split(graph, "geom", seed=2))
    one = labelled([0, 1, 0], **{key: mask[:, 0] for key, mask in ten_masks(3).items()})
    assert parts_of(make_split(one, "public")) == parts_of(make_split(one, "mask", seed=5)) == [[0], [1], [2]]
    assert make_split(one, "mask").name == "mask"


def test_one_test_mask_serves_several_training_masks():
    masks = ten_masks(6)
    masks["train_mask"] &= torch.arange(6)[:, None] < 4
    masks["val_mask"] &= torch.arange(6)[:, None] < 4
    masks["test_mask"] = torch.arange(6) >= 4
    split = make_split(labelled([0] * 6, **masks), "mask:0")
    assert parts_of(split) == [[0, 3], [1], [4, 5]]


@pytest.mark.parametrize("spec", ["", "rnd", "low", "low:0", "low:x", "low:-1", "geom:", "mask:²", "public:1"])
def test_unknown_specs_are_refused(spec, refuses):
    with refuses(f"'{spec}'" if spec != "geom:" else "geom"):
        make_split(labelled([0, 1]), spec)


def test_absent_masks_are_refused(refuses):
    graph = labelled([0] * 6, **ten_masks(6))
    with refuses("'toy'", "'geom'", "use mask or random"):
        make_split(graph, "geom:0")
    with refuses("'toy'", "'public'"):
        make_split(graph, "public")
    with refuses("mask:10", "mask:9"):
        make_split(graph, "mask:10")


def test_overlapping_or_empty_parts_are_refused(refuses):
    both = torch.tensor([True, True])
    with refuses("two parts"):
        make_split(labelled([0, 1], train_mask=both, val_mask=~both, test_mask=both), "mask")
    with refuses("no training label"):
        make_split(labelled([0, 1], train_mask=~both, val_mask=~both, test_mask=both), "mask")


@pytest.mark.parametrize(("train", "val"), [(0, 0.2), (1.0, 0), (0.9, 0.2), (-1, 0.5), (float("nan"), 0.2)])
def test_bad_fractions_are_refused(train, val, refuses):
    with refuses("fractions"):
        split_nodes(labelled([0, 1]), train, val)


def test_score_and_missing_classes():
    split = make_split(labelled([0, 1, 2] * 4), seed=0)
    logits = torch.nn.functional.one_hot(torch.tensor([0, 1, 2] * 4), 3).float() * 50
    assert split.score(logits, "test") == pytest.approx((1.0, 0.0))
    empty = NodeSplit(torch.tensor([0]), NO_EDGES[0], NO_EDGES[0], "x", 3, torch.tensor([0, 1, 2]))
    assert empty.score(logits, "val") == (0.0, 0.0)
    assert empty.missing_classes() == [1, 2]


def test_balanced_scores_count_classes_alike(refuses):
    """Held against scikit-learn and a loop; a class that the part does not have counts for nothing."""
    y, rng = [0] * 30 + [1] * 9 + [2] * 6 + [3], torch.Generator().manual_seed(0)
    logits = torch.randn(len(y), 4, generator=rng)
    split = make_split(labelled(y), "random", seed=1, scoring="balanced_accuracy").to("cpu")
    assert 3 not in split.reveal("val")
    truth, guess = split.reveal("val"), logits[split.val].argmax(1)
    accuracy, loss = split.score(logits)
    assert accuracy == pytest.approx(recall_score(truth, guess, average="macro", labels=[0, 1, 2]))
    own = -logits.log_softmax(1)[split.val, truth]
    assert -loss == pytest.approx(np.mean([own[truth == c].mean() for c in (0, 1, 2)]), rel=1e-5)
    assert split.hits(logits).mean().item() == pytest.approx(accuracy)
    assert split.score(logits.double()) == pytest.approx((accuracy, loss))
    size = np.bincount(truth)[:3]
    assert split.n_effective() == pytest.approx(9 / sum(1 / n for n in size))
    plain = make_split(labelled(y), "random", seed=1)
    assert plain.score(logits)[0] == pytest.approx((guess == truth).float().mean().item())
    assert plain.hits(logits).dtype == torch.bool
    assert plain.n_effective() == len(truth)
    masks = {f"{part}_mask": torch.zeros(len(y), 2, dtype=torch.bool) for part in ("train", "val", "test")}
    masks |= {f"geom_{part}": mask for part, mask in masks.items()}
    for part, column in zip(("train", "val", "test"), (range(0, 46, 2), [1], [3]), strict=True):
        masks[f"{part}_mask"][list(column)] = True
    for spec in ("random:plain", "low:2", "mask:1", "geom:0"):
        assert make_split(labelled(y, **masks), spec, scoring="balanced_accuracy").scoring == "balanced_accuracy"
    with refuses("scoring='f1'", "accuracy or balanced_accuracy"):
        split_nodes(labelled(y), scoring="f1")


def test_as_many_right_of_each_class_is_a_tie_whoever_they_are():
    y = [0] * 397 + [1] * 103
    split = make_split(labelled(y), "random", seed=0, scoring="balanced_accuracy")
    truth, rng = split.reveal("val"), np.random.default_rng(0)
    found = set()
    for _ in range(20):
        logits = torch.zeros(len(y), 2)
        for c, right in ((0, 41), (1, 7)):
            own = rng.permutation(split.val[truth == c].numpy())
            logits[own[:right], c], logits[own[right:], 1 - c] = 1.0, 1.0
        found.add(split.score(logits)[0])
    assert len(found) == 1


def test_labels_do_not_show():
    assert "labels" not in repr(make_split(labelled([0, 1] * 10), seed=0))


def test_saved_split_comes_back(tmp_path, refuses):
    graph = labelled([0, 1] * 10)
    split = make_split(graph, "low:2", seed=0)
    split.save(tmp_path / "split.npz")
    back = NodeSplit.load(tmp_path / "split.npz", graph)
    assert parts_of(back) == parts_of(split)
    assert back.name == "low:2"
    assert torch.equal(back.to("cpu").train_labels, split.train_labels)
    with refuses("split.npz", "outside graph 'toy'"):
        NodeSplit.load(tmp_path / "split.npz", labelled([0, 1]))
    np.savez(tmp_path / "other.npz", train=np.array([0.5]))
    with refuses("other.npz", "'train'"):
        NodeSplit.load(tmp_path / "other.npz", graph)
