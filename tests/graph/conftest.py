"""A data root of its own for each test, and the shape of every refusal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from bes.errors import InputError

with warnings.catch_warnings():  # PyG warns of torch's deprecations while it is imported
    warnings.simplefilter("ignore", DeprecationWarning)
    import torch_geometric.datasets  # noqa: F401

Refuses = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def refuses() -> Refuses:
    """`with refuses("x.npz", "damaged")`: an InputError of one sentence that holds these words."""

    @contextmanager
    def check(*words: str) -> Iterator[None]:
        with pytest.raises(InputError) as caught:
            yield
        text = str(caught.value)
        assert "\n" not in text
        assert text[-1] in ".?"
        for word in words:
            assert word in text

    return check


@pytest.fixture
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty BES_DATA and an empty cache; no download gets through."""
    root = tmp_path / "data"
    root.mkdir()
    monkeypatch.setenv("BES_DATA", str(root))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def offline(_: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("bes.graph.catalog.download", offline)
    return root
