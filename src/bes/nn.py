"""BES as a torch module: a layer to put behind any encoder."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bes import seeding
from bes.core import inputs
from bes.core.attention import BoundaryAttention, Inputs, Neighborhoods, Weights
from bes.core.options import check_options
from bes.core.shaper import BoundaryShaper
from bes.core.storage import plain_options
from bes.errors import InputError, did_you_mean
from bes.files import whole_file
from bes.progress import Step

CONFIG, WEIGHTS = "config.json", "model.safetensors"  # as the Hugging Face hub calls them
Init = TypeVar("Init", bound=Callable[..., None])


def _with_options(init: Init) -> Init:
    """Show the shaper's options in place of `**options`, to people and to the hub's mixin, which reads signatures."""
    given = inspect.signature(init)
    own = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = inspect.signature(BoundaryShaper).parameters.values()
    shown: Any = init
    shown.__signature__ = given.replace(parameters=[*own, *(p.replace(kind=p.KEYWORD_ONLY) for p in more)])
    return init


class AttentionLayer(BoundaryAttention):
    """The boundary attention at any precision; its way back does blocks again instead of holding `[N, N]` weights."""

    def forward(self, z: Tensor, neighbors: Neighborhoods | None = None) -> Tensor:
        return z + self.full(tuple(weight.to(z) for weight in self.weights), self.read(z, neighbors))

    def attend(self, weights: Weights, inputs: Inputs) -> Tensor:
        if self.scope != "nodes" or not torch.is_grad_enabled():
            return super().attend(weights, inputs)
        moved: Tensor = checkpoint(super().attend, weights, inputs, use_reentrant=False, preserve_rng_state=False)
        return moved


class BESLayer(nn.Module):
    """Boundary Embedding Shaping behind an encoder: `z_hat = BESLayer(16).fit(z, data.y, mask=data.train_mask)(z)`.

    It is the identity until `fit` has run Algorithm 1, and then what `bes.BoundaryShaper` transforms to,
    differentiable by `z`. A layer that found no boundary stays the identity (W_out = 0), so that the parameters
    depend on the options alone and checkpoints always fit.

    Args:
        dim: Width D of the embeddings `[N, D]`.
        trainable: Leave the parameters to an optimizer as well; otherwise they are frozen.
        dtype: Of the parameters, a torch dtype or its name; `fit` takes that of the embeddings.
        **options: Those of `bes.BoundaryShaper`, by name. `device` is where `fit` works; the layer itself
            is moved by `to`, and by `fit` to where the embeddings are.

    Attributes:
        shaper_: The `bes.BoundaryShaper` of the last `fit`, with what it saw; no part of the state dict.
    """

    shaper_: BoundaryShaper

    @_with_options
    def __init__(
        self, dim: int, *, trainable: bool = False, dtype: torch.dtype | str = "float32", **options: Any
    ) -> None:
        super().__init__()
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise InputError(f"dim={dim!r} is out of range: use a whole number from 1.")
        self.dim, self.trainable = int(dim), bool(trainable)
        self.options = _checked(options)
        self.layers = nn.ModuleList(self._start(_as_dtype(dtype)))
        self.requires_grad_(self.trainable)

    def _start(self, dtype: torch.dtype) -> list[AttentionLayer]:
        """Layers that are the identity; the rest of them is drawn as the shaper draws it."""
        shape = {name: self.options[name] for name in ("scope", "n_heads", "n_views")}
        draws = [seeding.generator(self.options["random_state"], "init", i) for i in range(self.options["n_layers"])]
        return [AttentionLayer(self.dim, **shape, generator=draw, dtype=dtype) for draw in draws]

    def fit(
        self, z: Tensor, y: Any, edge_index: Any = None, *, mask: Any = None, callbacks: Sequence[Step] = ()
    ) -> Self:
        """Run Algorithm 1 on the embeddings `z` `[N, D]` and take its weights; nothing flows back into `z`.

        Args:
            y: Class of each node `[N]`, -1 where unknown.
            edge_index: Edges `[2, E]`, for `scope="neighbors"`, `neighborhood="graph"` and `labels="soft"` only.
            mask: Nodes whose label may be read, `[N]` bool; without it all that are not -1.
            callbacks: As of `bes.BoundaryShaper.fit`.
        """
        z = self._check(z).detach()
        labels = y if mask is None else _masked(y, mask, z.shape[0])
        with torch.inference_mode(False):  # training needs a way back, whoever calls
            shaper = BoundaryShaper(**self.options).fit(z.clone(), labels, edge_index, callbacks)
        dtype = torch.float64 if z.dtype == torch.float64 else torch.float32
        trained = [*shaper.layers_, *self._start(dtype)[len(shaper.layers_) :]]
        self.to(z.device, dtype)
        for layer, source in zip(self.layers, trained, strict=True):
            layer.load_state_dict(source.state_dict())
        self.shaper_ = shaper
        return self.requires_grad_(self.trainable)

    def forward(self, z: Tensor, edge_index: Tensor | None = None) -> Tensor:
        """Shape embeddings `[N, D]`; `edge_index` `[2, E]` is read by `scope="neighbors"` only."""
        z = self._check(z)
        if z.shape[0] == 0:
            return z
        around = self._around(edge_index, z)
        for layer in self.layers:
            z = layer(z, around)
        return z

    def _check(self, z: Tensor) -> Tensor:
        if not isinstance(z, Tensor) or not z.is_floating_point() or z.dim() != 2 or z.shape[1] != self.dim:
            found = f"has shape {tuple(z.shape)} and {z.dtype}" if isinstance(z, Tensor) else f"is a {type(z).__name__}"
            raise InputError(f"z {found}: give a tensor of real numbers, N x {self.dim}.")
        return z

    def _around(self, edge_index: Tensor | None, z: Tensor) -> Neighborhoods | None:
        if self.options["scope"] != "neighbors":
            return None
        if edge_index is None:
            raise InputError("scope='neighbors' needs the graph: give edge_index.")
        n = z.shape[0]
        return Neighborhoods.of(inputs.both_directions(inputs.as_edges(edge_index, n, z.device), n), n)

    def extra_repr(self) -> str:
        """The width, and the options that are not the default."""
        default = inspect.signature(BESLayer).parameters
        changed = {key: value for key, value in self._config().items() if value != default[key].default}
        return ", ".join([str(changed.pop("dim")), *(f"{key}={value!r}" for key, value in changed.items())])

    def _config(self) -> dict[str, Any]:
        """The arguments that make this layer again."""
        dtype = next((p.dtype for p in self.parameters()), torch.float32)
        own = {"dim": self.dim, "trainable": self.trainable, "dtype": str(dtype).removeprefix("torch.")}
        return {**own, **self.options}

    def save_pretrained(self, directory: str | Path, **hub: Any) -> Any:
        """Write `config.json` and `model.safetensors`, which the hub's mixin reads too.

        In a `class Hub(BESLayer, PyTorchModelHubMixin)` the mixin does it, and takes its own arguments `hub`.
        """
        mixin = getattr(super(), "save_pretrained", None)
        if mixin is not None:
            return mixin(directory, **hub)
        path = Path(directory)
        if hub:
            raise InputError(f"{', '.join(hub)} is the hub's: inherit from PyTorchModelHubMixin as well.")
        if (path / CONFIG).exists() and not (path / WEIGHTS).exists():
            raise InputError(f"{path} holds a {CONFIG} of something else: choose another place to save to.")
        fresh = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._save_pretrained(path)
        except (OSError, SafetensorError) as error:
            if fresh and path.is_dir():
                path.rmdir()
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{path} cannot be written ({reason}): choose a writable place.") from None
        return None

    def _save_pretrained(self, save_directory: Path) -> None:
        """Both files or none; the mixin calls this by its name."""
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        config, weights = save_directory / CONFIG, save_directory / WEIGHTS
        with whole_file(config) as new_config, whole_file(weights) as new_weights:
            new_config.write_text(json.dumps(self._config(), indent=2) + "\n", encoding="utf-8")
            save_file(tensors, new_weights, metadata={"format": "pt"})
            config.unlink(missing_ok=True)  # it comes back last: weights never stand beside another layer's options

    @classmethod
    def from_pretrained(cls, directory: str | Path, **options: Any) -> Self:
        """Read what `save_pretrained`, ours or the mixin's, wrote; `options` replace those of the file.

        In a `class Hub(BESLayer, PyTorchModelHubMixin)` the mixin does it, and takes names on the hub as well.
        """
        mixin = getattr(super(), "from_pretrained", None)
        if mixin is not None:
            found: Self = mixin(directory, **{"strict": True, **options})
            return found
        config, tensors = _read(Path(directory))
        try:
            layer = cls(**{**config, **options})
            layer.load_state_dict(tensors)
        except InputError as error:
            raise InputError(f"{directory} holds no such layer: {error}") from None
        except (TypeError, RuntimeError):
            raise InputError(f"{directory} has weights that do not fit its options: save the layer again.") from None
        return layer.eval()


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """All of the shaper's options, those given checked, as plain Python values."""
    known = inspect.signature(BESLayer).parameters
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known)
            hint = did_you_mean(near, f"known are {', '.join(known)}.")
            raise InputError(f"The option '{name}' of BESLayer is not known: {hint}")
    shaper = BoundaryShaper(**options)
    check_options(shaper)
    return plain_options(shaper)


def _as_dtype(dtype: torch.dtype | str) -> torch.dtype:
    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise InputError(f"dtype={dtype!r} is no kind of real numbers: use float32 or float64.")
    return found


def _masked(y: Any, mask: Any, n: int) -> Any:
    """The labels with -1 where `mask` is False."""
    read = mask.detach().cpu().numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    if read.dtype != bool or read.shape != (n,):
        raise InputError(f"mask has shape {read.shape} and dtype {read.dtype}: give a bool for each of {n} nodes.")
    values = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if values.shape != (n,):
        return values  # the shaper says what is wrong
    if values.dtype.kind == "O":
        return np.array([value if known else -1 for value, known in zip(values, read, strict=True)], dtype=object)
    if values.dtype.kind in "SU":
        return np.where(read, values.astype(str), "-1")
    return np.where(read, values.astype(np.int64) if values.dtype.kind in "bu" else values, -1)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        tensors = load_file(path / WEIGHTS)
    except OSError:
        raise InputError(f"{path} holds no saved layer: give a directory that save_pretrained wrote.") from None
    except (ValueError, SafetensorError):
        raise InputError(f"{path} is damaged: save the layer again.") from None
    if not isinstance(config, dict) or "dim" not in config:
        raise InputError(f"{path} holds a model of another kind: give a directory that BESLayer.save_pretrained wrote.")
    return config, tensors
