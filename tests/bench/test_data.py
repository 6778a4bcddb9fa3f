"""What is said of the graphs of a suite that are here, and of those that are not."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from bes.bench.data import look_up
from bes.graph.catalog import load
from bes.records import data_hash


def test_a_graph_and_its_variant_have_hashes_of_their_own(graph_file: Path) -> None:
    whole, part = look_up(str(graph_file)), look_up(f"{graph_file}#binary")
    assert (whole.hash, whole.absent) == (data_hash(load(graph_file)), "")
    assert part.hash == data_hash(load(f"{graph_file}#binary"))
    assert part.hash != whole.hash


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
