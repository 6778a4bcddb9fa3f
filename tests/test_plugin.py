"""`bes shape`, through the command line and from Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bes import plugin
from bes.core import rows
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.plugin import PluginConfig, read_npy, shape_files

Call = Callable[..., Any]
QUICK = ["--set", "n_iter=5", "--set", "delta=20", "--set", "tau=10"]
OPTIONS = {"n_iter": 5, "delta": 20.0, "tau": 10.0}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with `z.npy`, `y.npy` and `edges.npy` of three classes that overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    np.save(tmp_path / "z.npy", rng.normal(size=(3, 6))[y] + rng.normal(size=(120, 6)))
    np.save(tmp_path / "y.npy", np.where(np.arange(120) % 4 == 0, -1, y))
    np.save(tmp_path / "edges.npy", rng.integers(0, 120, (2, 300)))
    return tmp_path


def load(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.load(folder / "z.npy"), np.load(folder / "y.npy"), np.load(folder / "edges.npy")


def test_the_command_does_what_the_estimator_does(files: Path, command: Call) -> None:
    z, y, _ = load(files)
    called = command("shape", files / "z.npy", "--labels", files / "y.npy", "-o", files / "out.npy", *QUICK)
    assert called.code == 0, called.err
    shaper = BoundaryShaper(**OPTIONS).fit(z, y)
    found = np.load(files / "out.npy")
    assert np.array_equal(found, shaper.transform(z))
    assert not np.array_equal(found, z)
    assert f"Layer 1: {shaper.region_sizes_[0]} nodes in the region, {len(shaper.boundary_[0])} bound" in called.out
    assert "Layer 2:" in called.out
    assert "Shaped embeddings:" in called.out
    assert sorted(p.name for p in files.iterdir()) == ["edges.npy", "out.npy", "y.npy", "z.npy"]


def test_a_large_file_is_read_and_written_in_blocks(
    files: Path, command: Call, refused: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    z, y, _ = load(files)
    expected = BoundaryShaper(**OPTIONS).fit(z, y).transform(z)
    monkeypatch.setattr(plugin, "MAPPED", 1)
    monkeypatch.setattr(rows, "WHOLE", 100)
    monkeypatch.setattr(rows, "STEP", 60)
    words = ["shape", files / "z.npy", "--labels", files / "y.npy", "-o", files / "out.npy", *QUICK]
    assert command(*words).code == 0
    np.testing.assert_allclose(np.load(files / "out.npy"), expected, atol=1e-9)
    assert sorted(p.name for p in files.iterdir()) == ["edges.npy", "out.npy", "y.npy", "z.npy"]
    spoil(files, "z.npy", with_nan)
    refused(command(*words), "NaN or infinite")


def test_edges_save_settings_and_quiet(files: Path, command: Call) -> None:
    z, y, edges = load(files)
    words = ["--edges", files / "edges.npy", "--save", files / "my.bes", *QUICK]
    words += ["--set", "scope=neighbors", "--set", "random_state=3", "--quiet"]
    called = command("shape", files / "z.npy", "--labels", files / "y.npy", "-o", files / "out.npy", *words)
    assert called == (0, "", "")
    expected = BoundaryShaper(**OPTIONS, scope="neighbors", random_state=3).fit_transform(z, y, edge_index=edges)
    assert np.array_equal(np.load(files / "out.npy"), expected)
    again = BoundaryShaper.load(files / "my.bes")
    assert np.array_equal(again.transform(z, edge_index=edges), expected)


def test_what_the_shaper_remarks_is_printed_as_a_sentence(files: Path, command: Call) -> None:
    words = ["shape", files / "z.npy", "--labels", files / "y.npy", "-o", files / "out.npy", "--set", "delta=0"]
    called = command(*words)
    assert called.code == 0
    assert called.err == ""
    assert "Layer 1 found no boundary nodes" in called.out
    assert np.array_equal(np.load(files / "out.npy"), load(files)[0])
    assert command(*words, "--quiet") == (0, "", "")


def spoil(files: Path, name: str, change: Callable[[np.ndarray], Any]) -> None:
    np.save(files / name, change(np.load(files / name)))


def with_nan(z: np.ndarray) -> np.ndarray:
    z[3, 2] = np.nan
    return z


BAD_ARRAYS = [
    ("z.npy", with_nan, ("z.npy", "NaN or infinite")),
    ("z.npy", lambda z: z * np.inf, ("z.npy", "NaN or infinite")),
    ("z.npy", lambda z: z[:, 0], ("z.npy", "shape (120,)", "(N, D)")),
    ("z.npy", lambda z: z[:0], ("z.npy", "shape (0, 6)")),
    ("z.npy", lambda z: z[:, :0], ("z.npy", "shape (120, 0)")),
    ("z.npy", lambda z: z.astype(complex), ("z.npy", "complex128")),
    ("z.npy", lambda z: z.astype(str), ("z.npy", "<U")),
    ("y.npy", lambda y: y[:-1], ("y.npy", "(119,)", "120 rows")),
    ("y.npy", lambda y: y[:, None], ("y.npy", "(120, 1)")),
    ("y.npy", lambda y: y * 0 - 1, ("no label",)),
    ("y.npy", lambda y: y * 0, ("one class only",)),
    ("edges.npy", lambda e: e + 100, ("edge_index", "0..119")),
    ("edges.npy", lambda e: e + 0.5, ("edge_index", "integers")),
    ("edges.npy", lambda e: e.T, ("edge_index", "(2, E)")),
]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize(("name", "change", "words"), BAD_ARRAYS, ids=range(len(BAD_ARRAYS)))
def test_bad_arrays_are_refused_and_the_output_is_left_alone(
    files: Path, command: Call, refused: Call, name: str, change: Callable[[np.ndarray], Any], words: tuple[str, ...]
) -> None:
    spoil(files, name, change)
    (files / "out.npy").write_text("keep me")
    before = sorted(p.name for p in files.iterdir())
    paths = ["--labels", files / "y.npy", "--edges", files / "edges.npy", "-o", files / "out.npy"]
    refused(command("shape", files / "z.npy", *paths, *QUICK), *words)
    assert (files / "out.npy").read_text() == "keep me"
    assert sorted(p.name for p in files.iterdir()) == before


BAD_WORDS = [
    (["--set", "n_itr=3"], ("n_itr", "did you mean n_iter")),
    (["--set", "n_views=4"], ("n_views",)),
    (["--set", "shrinkage=2.0"], ("shrinkage=2.0",)),
    (["--set", "tau=0"], ("tau=0", "greater than 0")),
    (["--set", "scope=neighbors"], ("edge_index",)),
    (["--device", "nonsense"], ("device 'nonsense' cannot be used",)),
    (["--edges", "absent.npy"], ("absent.npy", "does not exist")),
    (["-o", "z.npy/out.npy"], ("z.npy/out.npy", "cannot be written")),
    (["-o", "absent/out.npy"], ("absent/out.npy", "cannot be written")),
    (["-o", "."], ("is a folder",)),
    (["--save", "other"], ("other", "holds no shaper")),
    (["--save", "z.npy/x"], ("z.npy/x", "cannot be written")),
]


@pytest.mark.parametrize(("words", "told"), BAD_WORDS, ids=lambda value: " ".join(value))
def test_bad_words_are_refused_and_the_output_is_left_alone(
    files: Path, command: Call, refused: Call, monkeypatch: pytest.MonkeyPatch, words: list[str], told: tuple[str, ...]
) -> None:
    monkeypatch.chdir(files)
    (files / "out.npy").write_text("keep me")
    (files / "other").mkdir()
    (files / "other" / "mine.txt").write_text("keep me too")
    before = sorted(p.name for p in files.rglob("*"))
    refused(command("shape", "z.npy", "--labels", "y.npy", "-o", "out.npy", *QUICK, *words), *told)
    assert (files / "out.npy").read_text() == "keep me"
    assert sorted(p.name for p in files.rglob("*")) == before


def test_files_that_are_no_plain_array(files: Path) -> None:
    z = np.load(files / "z.npy")
    with (files / "pickle.npy").open("wb") as file:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(files / "several.npz", z=z)
    (files / "cut.npy").write_bytes((files / "z.npy").read_bytes()[:-100])
    (files / "empty.npy").write_bytes(b"")
    for name, words in [
        ("pickle.npy", "something else than a plain array"),
        ("several.npz", "archive of several arrays"),
        ("cut.npy", "is damaged"),
        ("empty.npy", "is damaged"),
        ("absent.npy", "does not exist"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            read_npy(files / name)
        assert name in str(caught.value)


def test_from_python(files: Path) -> None:
    z, y, _ = load(files)
    out = files / "out.npy"
    shaper, notes = shape_files(
        files / "z.npy", files / "y.npy", out, None, None, ["n_iter=5", "delta=20", "tau=10"], "cpu", show=False
    )
    assert notes == []
    assert np.array_equal(np.load(out), shaper.transform(z))
    assert np.array_equal(shaper.classes_, np.unique(y[y >= 0]))


def test_options_are_the_shapers() -> None:
    own = BoundaryShaper().get_params()
    for name in ("device", "verbose"):
        del own[name]
    assert PluginConfig().model_dump() == own
