"""A fit that was broken off goes on to the same bits, in one process as well."""

import pytest
import torch

from bes.core.resume import LayerState
from bes.core.shaper import BoundaryShaper
from bes.graph.synthetic import sbm


class Kept:
    """States by layer, each after so many iterations."""

    def __init__(self, every: int) -> None:
        self.every, self.states = every, dict[int, LayerState]()

    def begun(self, layer: int) -> LayerState | None:
        return self.states.get(layer)

    def due(self, iterations: int) -> bool:
        return iterations % self.every == 0

    def keep(self, layer: int, state: LayerState) -> None:
        weights = tuple(weight.clone() for weight in state.weights)
        self.states[layer] = LayerState(weights, state.drawn.clone(), list(state.rows), state.over)


class KilledError(Exception):
    """Stands for a kill."""


def fitted(keeper: Kept | None, at: int = -1, **options: object) -> tuple[BoundaryShaper, torch.Tensor]:
    graph = sbm(n_nodes=150, n_classes=3, n_features=6, separation=1.5)

    def watch(iteration: int, *_: object) -> None:
        if iteration == at:
            raise KilledError

    given = {"n_iter": 12, "delta": 20.0, "tau": 10.0, "alpha": 0.01, "tol": 0.0, "batch_size": 10, **options}
    shaper = BoundaryShaper(**given)
    return shaper.fit(graph.x, graph.y, callbacks=[watch], keeper=keeper), shaper.transform(graph.x)


@pytest.mark.parametrize(
    "options",
    [{}, {"batch_size": 500}, {"scope": "nodes"}, {"update": "official"}, {"displacement_sample": 20}],
)
@pytest.mark.parametrize("at", [2, 9, 17])
def test_the_result_is_that_of_one_go(at: int, options: dict[str, object]) -> None:
    straight, expected = fitted(None, **options)
    keeper = Kept(every=5)
    with pytest.raises(KilledError):
        fitted(keeper, at, **options)
    resumed, found = fitted(keeper, **options)
    assert torch.equal(found, expected)
    assert resumed.history_ == straight.history_
    assert [nodes.tolist() for nodes in resumed.boundary_] == [nodes.tolist() for nodes in straight.boundary_]


def test_iterations_that_were_kept_are_not_done_again() -> None:
    keeper = Kept(every=5)
    with pytest.raises(KilledError):
        fitted(keeper, 9)
    keeper.states[0].rows[0]["loss"] = -1.0  # a mark that only the kept rows have
    resumed, _ = fitted(keeper)
    assert resumed.history_[0]["loss"] == -1.0
    assert len(resumed.history_) == 24


def test_adams_moments_are_not_kept_so_a_layer_by_adam_begins_again() -> None:
    keeper = Kept(every=5)
    with pytest.raises(KilledError):
        fitted(keeper, 9, update="official")
    assert keeper.states == {}
