import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from bes.explore import neighbors
from bes.explore.neighbors import Adjacency, nearest
from bes.graph.graph import Graph


def test_the_nearest_are_scikit_learns() -> None:
    z = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    far, near = NearestNeighbors(n_neighbors=11).fit(z).kneighbors(z)
    for node in (0, 17, 299):
        nodes, distances = nearest(z, node, 10)
        assert nodes.tolist() == near[node, 1:].tolist()
        np.testing.assert_allclose(distances, far[node, 1:], rtol=1e-5)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12),
    st.data(),
    st.integers(0, 15),
)
def test_ties_and_small_counts_agree_with_a_loop(points: list[tuple[int, int]], data: st.DataObject, k: int) -> None:
    z = np.array(points, dtype=np.float32)
    node = data.draw(st.integers(0, len(z) - 1))
    others = [i for i in range(len(z)) if i != node]
    wanted = sorted(others, key=lambda i: (sum((a - b) ** 2 for a, b in zip(points[i], points[node], strict=True)), i))
    nodes, distances = nearest(z, node, k)
    assert nodes.tolist() == wanted[:k]
    assert (np.diff(distances) >= 0).all()


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.random.default_rng(1).normal(size=(50, 3))
    whole = nearest(z, 4, 9)
    monkeypatch.setattr(neighbors, "BLOCK", 7)
    assert [part.tolist() for part in nearest(z, 4, 9)] == [part.tolist() for part in whole]


def test_neighbours_in_the_graph_are_those_of_its_edges(small_graph: Graph) -> None:
    edges = small_graph.edge_index.numpy()
    shuffled = edges[:, np.random.default_rng(0).permutation(edges.shape[1])]
    around = Adjacency(shuffled, small_graph.n_nodes)
    for node in range(small_graph.n_nodes):
        assert around.of(node).tolist() == sorted(v for u, v in edges.T.tolist() if u == node)


def test_a_node_may_stand_alone() -> None:
    around = Adjacency(np.array([[0, 2], [2, 0]]), 4)
    assert [around.of(node).tolist() for node in range(4)] == [[2], [], [0], []]
