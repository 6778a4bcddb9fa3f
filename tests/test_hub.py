"""Checkpoints that the Hugging Face hub's mixin reads and writes, without the mixin."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from huggingface_hub import PyTorchModelHubMixin
from safetensors.torch import load_file

from bes.errors import InputError
from bes.nn import BESLayer


class Hub(BESLayer, PyTorchModelHubMixin):
    """Ours first."""


class Mixed(PyTorchModelHubMixin, BESLayer):
    """The mixin's own methods all the way."""


OPTIONS = [
    {},
    {"n_views": 2, "n_heads": 2, "init": "random"},
    {"scope": "neighbors", "trainable": True},
    {"n_layers": 3, "shrinkage": 0.5},
    {"n_layers": 0},
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    z = rng.normal(size=(3, 6))[y] * 0.9 + rng.normal(size=(90, 6))
    return torch.from_numpy(z).float(), torch.from_numpy(y), torch.from_numpy(rng.integers(0, 90, (2, 250)))


def fitted(kind, data, dtype=torch.float32, **options):
    z, y, edges = data
    layer = kind(6, n_iter=5, delta=10.0, denominator="negatives_only", **options)
    return layer.fit(z.to(dtype), y, edges)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_saved_and_read_by_either_it_is_the_same(data, tmp_path, options, dtype):
    layer = fitted(BESLayer, data, dtype, **options)
    z, _, edges = data[0].to(dtype), *data[1:]
    assert layer.save_pretrained(tmp_path / "a") is None
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["config.json", "model.safetensors"]
    for kind in (BESLayer, Hub, Mixed):
        read = kind.from_pretrained(tmp_path / "a")
        assert type(read) is kind
        assert torch.equal(read(z, edges), layer(z, edges))
        assert read.options == layer.options
        assert not read.training
        assert all(weight.requires_grad == layer.trainable for weight in read.parameters())


@pytest.mark.parametrize("kind", [Hub, Mixed])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_the_mixin_writes_is_read_by_ours(data, tmp_path, options, kind):
    z, _, edges = data
    layer = fitted(kind, data, **options)
    layer.save_pretrained(tmp_path / "a")
    PyTorchModelHubMixin.save_pretrained(layer, tmp_path / "b")
    for folder in ("a", "b"):
        assert (tmp_path / folder / "README.md").is_file(), "the mixin wrote its card"
        for reader in (BESLayer, Hub):
            read = reader.from_pretrained(tmp_path / folder)
            assert torch.equal(read(z, edges), layer(z, edges))
            assert read.options == layer.options


def test_the_mixin_keeps_double_precision(data, tmp_path):
    z, _, edges = data
    layer = fitted(Hub, data, torch.float64)
    layer.save_pretrained(tmp_path / "a")
    for kind in (BESLayer, Hub):
        assert torch.equal(kind.from_pretrained(tmp_path / "a")(z.double(), edges), layer(z.double(), edges))


def test_the_mixin_can_push_it(data, tmp_path, monkeypatch):
    """The hub is played by a folder."""
    pushed = tmp_path / "hub"

    class Api:
        def __init__(self, token=None): ...

        def create_repo(self, repo_id, **_):
            return SimpleNamespace(repo_id=repo_id)

        def upload_folder(self, folder_path, **_):
            shutil.copytree(folder_path, pushed)

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    layer = fitted(Hub, data)
    layer.push_to_hub("someone/layer")
    assert torch.equal(BESLayer.from_pretrained(pushed)(data[0]), layer(data[0]))


def test_the_files_say_what_was_asked_for(data, tmp_path):
    layer = fitted(BESLayer, data, alpha=np.float32(0.5), batch_size=np.int64(32))
    layer.save_pretrained(tmp_path / "a")
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert config == {"dim": 6, "trainable": False, "dtype": "float32", **layer.options}
    assert config["alpha"] == 0.5
    weights = load_file(tmp_path / "a" / "model.safetensors")
    assert weights.keys() == layer.state_dict().keys()
    read = BESLayer.from_pretrained(str(tmp_path / "a"), trainable=True, n_iter=7)
    assert read.trainable
    assert read.options["n_iter"] == 7
    assert Hub.from_pretrained(tmp_path / "a", trainable=True).trainable


def test_saved_again_it_is_replaced_and_what_else_is_there_stays(data, tmp_path):
    z = data[0]
    fitted(BESLayer, data).save_pretrained(tmp_path)
    (tmp_path / "README.md").write_text("mine")
    other = fitted(BESLayer, data, n_layers=1)
    other.save_pretrained(tmp_path)
    assert torch.equal(BESLayer.from_pretrained(tmp_path)(z), other(z))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["README.md", "config.json", "model.safetensors"]


def test_it_is_written_whole_or_not_at_all(data, tmp_path, monkeypatch):
    z = data[0]
    layer, other = fitted(BESLayer, data), fitted(BESLayer, data, n_layers=1)
    layer.save_pretrained(tmp_path / "old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bes.nn.save_file", full)
    for folder in ("old", "new"):
        with pytest.raises(InputError, match=r"cannot be written \(No space left"):
            other.save_pretrained(tmp_path / folder)
    assert [p.name for p in tmp_path.iterdir()] == ["old"]
    assert sorted(p.name for p in (tmp_path / "old").iterdir()) == ["config.json", "model.safetensors"]
    assert torch.equal(BESLayer.from_pretrained(tmp_path / "old")(z), layer(z))


def test_bad_places_to_save_to_are_named(data, tmp_path):
    layer = fitted(BESLayer, data)
    (tmp_path / "config.json").write_text('{"of": "another program"}')
    with pytest.raises(InputError, match="of something else"):
        layer.save_pretrained(tmp_path)
    assert "another program" in (tmp_path / "config.json").read_text()
    for place in (tmp_path / "config.json", tmp_path / "config.json" / "deeper"):
        with pytest.raises(InputError, match="cannot be written"):
            layer.save_pretrained(place)
    with pytest.raises(InputError, match=r"push_to_hub .*PyTorchModelHubMixin"):
        layer.save_pretrained(tmp_path / "a", push_to_hub=True)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.json", None, "holds no saved layer"),
        ("model.safetensors", None, "holds no saved layer"),
        ("config.json", b"{", "is damaged"),
        ("config.json", b"\xff", "is damaged"),
        ("model.safetensors", b"nonsense", "is damaged"),
        ("config.json", b"[]", "another kind"),
        ("config.json", b'{"hidden": 3}', "another kind"),
        ("config.json", b'{"dim": 6, "n_layers": 1}', "do not fit"),
        ("config.json", b'{"dim": 5}', "do not fit"),
        ("config.json", b'{"dim": 6, "n_vews": 1}', "did you mean n_views"),
        ("config.json", b'{"dim": "six"}', "dim='six'"),
    ],
)
def test_bad_directories_are_named(data, tmp_path, name, content, words):
    fitted(BESLayer, data).save_pretrained(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        BESLayer.from_pretrained(tmp_path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_directory_that_is_not_there(tmp_path):
    for place in (tmp_path / "absent", "someone/something"):
        with pytest.raises(InputError, match="holds no saved layer"):
            BESLayer.from_pretrained(place)


def test_the_hub_is_not_imported(tmp_path):
    code = (
        "import sys; from bes.nn import BESLayer; BESLayer(4).save_pretrained(sys.argv[1]);"
        "BESLayer.from_pretrained(sys.argv[1]); sys.exit('huggingface_hub' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=False).returncode == 0
