"""The graphs of a suite: two classes of one, and what is said of those that are not here."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bes.bench.data import load_graph, look_up, two_classes
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.graph.sparse import Sparse
from bes.records import data_hash


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Classes 1 and 3 are the largest; nodes 4 and 9 have no class, and edges cross in every way."""
    y = torch.tensor([3, 1, 0, 1, -1, 3, 2, 3, 1, -1, 0, 3])
    x = torch.arange(24.0).reshape(12, 2)
    x[::3] = 0  # rows of which a sparse matrix stores nothing
    pairs = [(u, v) for u in range(12) for v in range(u) if (u * 5 + v * 3) % 4 == 0]
    masks = {"train_mask": torch.ones(12, dtype=torch.bool)}
    return Graph(x, torch.tensor(pairs).T, y, "toy", masks)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_two_largest_classes_and_the_edges_among_them(graph: Graph, sparse: bool) -> None:
    given = replace(graph, x=Sparse.from_dense(graph.x)) if sparse else graph
    found = two_classes(given, "toy#binary")
    old = [i for i, label in enumerate(graph.y.tolist()) if label in (1, 3)]
    assert found.y.tolist() == [int(graph.y[i] == 3) for i in old]
    assert isinstance(found.x, Sparse) == sparse
    x = found.x.csr.to_dense() if isinstance(found.x, Sparse) else found.x
    assert torch.equal(x, graph.x[old])
    edges = {(old[u], old[v]) for u, v in found.edge_index.T.tolist()}
    assert edges == {(u, v) for u, v in graph.edge_index.T.tolist() if u in old and v in old}
    assert 0 < found.edge_index.shape[1] < graph.edge_index.shape[1]
    assert (found.name, found.masks, found.n_classes) == ("toy#binary", {}, 2)


def test_by_its_name_it_is_the_same(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "toy.npz"
    write_npz(graph, path)
    binary = load_graph(f"{path}#binary")
    assert binary.content_hash == two_classes(graph, "toy#binary").content_hash
    whole, part = look_up(str(path)), look_up(f"{path}#binary")
    assert (whole.hash, whole.absent) == (data_hash(load_graph(str(path))), "")
    assert part.hash == data_hash(binary)
    assert part.hash != whole.hash


@pytest.mark.parametrize("label", [0, -1])
def test_one_class_cannot_be_two(graph: Graph, label: int) -> None:
    with pytest.raises(InputError, match=r"'toy' has one class only: two are needed for 'toy#binary'\.$"):
        two_classes(replace(graph, y=torch.full((12,), label)), "toy#binary")


def test_one_class_cannot_be_two_whatever_its_number(graph: Graph) -> None:
    with pytest.raises(InputError, match="one class only"):
        two_classes(replace(graph, y=torch.full((12,), 1)), "toy#binary")


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty data root, and a download that says much before it fails; what it was asked for."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("BES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []

    def download(info: object) -> None:
        asked.append(info.name)  # type: ignore[attr-defined]
        print("Downloading ...")
        print("Processing ...", file=sys.stderr)
        warnings.warn("this is going nowhere", stacklevel=1)
        raise OSError("no network")

    monkeypatch.setattr("bes.graph.catalog.download", download)
    return asked


@pytest.mark.parametrize("name", ["cora", "cora#binary"])
def test_an_absent_set_says_how_to_add_it_and_nothing_else(
    name: str, noisy: list[str], capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    found = look_up(name)
    assert noisy == ["cora"]
    assert (found.name, found.hash) == (name, None)
    assert "not here" in found.absent
    assert "no network" in found.absent
    assert found.absent.endswith("`bes data add cora --from DIR`.")
    assert capfd.readouterr() == ("", "")
    assert len(recwarn) == 0


def test_names_and_paths_that_are_nothing_are_absent_too(tmp_path: Path) -> None:
    unknown = look_up("coraa")
    assert unknown.hash is None
    assert "coraa" in unknown.absent
    assert "bes data add" not in unknown.absent
    file = look_up(str(tmp_path / "none.npz"))
    assert file.hash is None
    assert "none.npz" in file.absent
