from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from oracles import links as oracle
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, split_links
from bes.tasks.link import LinkTask

Sides = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def split(small_graph: Graph) -> LinkSplit:
    return split_links(small_graph)


@pytest.fixture(scope="module")
def scores(split: LinkSplit) -> dict[str, Tensor]:
    """Scores that hint at the links, with many ties."""
    rng = torch.Generator().manual_seed(0)
    return {
        part: ((split.reveal(part) + torch.randn(split.pairs(part).shape[1], generator=rng)) * 4).round() / 4
        for part in split.parts
    }


@pytest.fixture(scope="module")
def here(split: LinkSplit) -> Tensor:
    return torch.rand(split.pairs("test").shape[1], generator=torch.Generator().manual_seed(1)) < 0.3


@pytest.fixture(scope="module")
def sides(split: LinkSplit, scores: dict[str, Tensor], here: Tensor) -> dict[str, Sides]:
    """Scores of links and of others by set, pair by pair from the split's own lists of edges and negatives."""
    score = {
        (part, *sorted(pair)): value
        for part in split.parts
        for pair, value in zip(split.pairs(part).T.tolist(), scores[part].tolist(), strict=True)
    }
    at = {tuple(sorted(pair)) for pair in split.pairs("test").T[here].tolist()}

    def of(part: str, pairs: Tensor, keep: Callable[[tuple[int, ...]], bool] = lambda _: True) -> np.ndarray:
        found = [tuple(sorted(pair)) for pair in pairs.T.tolist()]
        return np.array([score[part, *pair] for pair in found if keep(pair)])

    edges, others = split._edges, split._negatives
    link = of("test", edges["test"])
    near, far = of("two_hop", others["two_hop"]), of("degree", others["degree"])
    return {
        "val": (of("val", edges["val"]), of("val", others["val"])),
        "test": (link, of("test", others["test"])),
        "test_boundary": (of("test", edges["test"], at.__contains__), of("test", others["test"], at.__contains__)),
        "test_two_hop": (link, near),
        "test_degree": (link, far),
        "test_hard": (link, np.concatenate([near, far])),
    }


def test_values_are_those_of_scikit_learn_and_of_loops(
    split: LinkSplit, scores: dict[str, Tensor], here: Tensor, sides: dict[str, Sides]
) -> None:
    found = LinkTask(split, here).evaluate("control", scores)
    assert list(found) == list(sides)
    threshold = found["val"].pop("threshold")
    assert isinstance(threshold, float)
    for part, (link, other) in sides.items():
        assert len(link) > 20
        assert len(other) > 20
        truth, score = np.repeat([1, 0], [len(link), len(other)]), np.concatenate([link, other])
        assert found[part] == pytest.approx(
            {
                "n": len(truth),
                "acc": accuracy_score(truth, score > threshold),
                "f1": f1_score(truth, score > threshold),
                "auroc": roc_auc_score(truth, score),
                "ap": average_precision_score(truth, score),
                **{
                    f"hits@{k}": oracle.hits(link.tolist(), other.tolist(), k) for k in (20, 50, 100) if len(other) >= k
                },
                **{f"hits@{k}": None for k in (20, 50, 100) if len(other) < k},
            }
        ), part
    assert len({found[part]["auroc"] for part in found}) == 6  # no set stands in for another


def test_the_threshold_is_chosen_on_validation_and_used_everywhere(
    split: LinkSplit, scores: dict[str, Tensor], here: Tensor, sides: dict[str, Sides]
) -> None:
    found = LinkTask(split, here).evaluate("control", scores)
    link, other = sides["val"]
    best = max(oracle.right(link, other, cut) for cut in [-np.inf, *link, *other])
    assert oracle.right(link, other, found["val"]["threshold"]) == best
    assert found["val"]["acc"] == best / len(np.concatenate([link, other]))
    moved = {part: score + 100 * (part != "val") for part, score in scores.items()}
    shifted = LinkTask(split, here).evaluate("control", moved)
    assert shifted["val"] == found["val"]
    for part in ("test", "test_boundary", "test_two_hop", "test_degree", "test_hard"):
        link, other = sides[part]
        assert "threshold" not in shifted[part]
        assert shifted[part]["acc"] == pytest.approx(len(link) / (len(link) + len(other)))  # all are called links
        assert shifted[part]["auroc"] == found[part]["auroc"]


def test_the_test_part_opens_once_for_an_arm(split: LinkSplit, scores: dict[str, Tensor], here: Tensor) -> None:
    task = LinkTask(split, here)
    first = task.evaluate("control", scores)
    assert task.evaluate("bes", scores) == first
    for arm in ("control", "bes"):
        with pytest.raises(RuntimeError, match=f"already opened for arm '{arm}'"):
            task.evaluate(arm, scores)
    assert LinkTask(split, here).evaluate("control", scores) == first  # another run has its own guard


def test_empty_sets_have_no_values(split: LinkSplit, scores: dict[str, Tensor], here: Tensor) -> None:
    none = {part: pairs[:, :0] for part, pairs in split._negatives.items() if part in ("two_hop", "degree")}
    bare = replace(split, _negatives={**split._negatives, **none})
    given = {part: score[: bare.pairs(part).shape[1]] for part, score in scores.items()}
    found = LinkTask(bare, torch.zeros_like(here)).evaluate("control", given)
    assert found["test_boundary"]["n"] == 0
    assert found["test_boundary"]["acc"] is found["test_boundary"]["auroc"] is None
    for part in ("test_two_hop", "test_degree", "test_hard"):
        assert found[part]["n"] == bare._edges["test"].shape[1]
        assert found[part]["auroc"] is found[part]["ap"] is None
