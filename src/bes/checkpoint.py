"""A trained way from a graph to classes, in one safetensors file: no pickle, and the same bits when read back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from bes import seeding
from bes.config import RunConfig
from bes.core import storage
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.files import whole_file
from bes.graph.graph import Graph
from bes.graph.scaling import scale
from bes.models.convs import pick
from bes.models.decoders import Decoder, DecoderNet
from bes.models.encoders import Encoder, EncoderEnsemble
from bes.models.fused import fused_proba
from bes.models.trust import EdgeTrust
from bes.run_ids import as_written

FORMAT = "bes-node-model"
VERSION = 1

#: Under which name the JSON text lies in the file's metadata: one name alone, as their order is left to chance.
_STATE = "bes"


#: What the shaper saw and did is not kept a second time: the run's folder has it.
_UNSEEN: dict[str, Any] = {"boundary": [], "region_sizes": [], "history": []}


@dataclass(eq=False)
class NodeModel:
    """Feature scaling, encoders, and what makes the arms of them, all fitted.

    Args:
        config: What was run.
        seed: Of the split and all streams.
        encoders: Phi.
        shaper: Of arm `bes`, where `config.shaping` is `layers`.
        decoders: Psi by arm, `control` and `bes`, likewise.
        shaped: The encoders of arm `bes`, where it is `encoders`: they and Phi predict by their own heads.
    """

    config: RunConfig
    seed: int
    encoders: EncoderEnsemble
    shaper: BoundaryShaper | None = None
    decoders: dict[str, Decoder] = field(default_factory=dict)
    shaped: EncoderEnsemble | None = None

    @property
    def n_features(self) -> int:
        return int(self.encoders.encoders_[0].conv1.in_channels)

    @property
    def n_classes(self) -> int:
        return int(self.encoders.encoders_[0].conv2.out_channels)

    def predict_proba(self, graph: Graph, arm: str) -> Tensor:
        """Probability of each class `[N, C]`, of the graph that was run or of another with the same features."""
        device = seeding.pick_device(self.encoders.device)
        blind = scale(graph, self.config.features).to(device).without_labels()
        if self.shaped is not None:
            return fused_proba(pick({"control": self.encoders, "bes": self.shaped}, arm, "arm"), blind)
        decoder = pick(self.decoders, arm, "arm")
        z = self.encoders.transform(blind)
        if arm == "bes" and self.shaper is not None:
            z = self.shaper.transform(z, blind.edge_index)
        return decoder.predict_proba(blind, z)

    def to(self, device: str | torch.device) -> NodeModel:
        """This model, moved to where it is to work; `auto` is the current GPU when there is one."""
        place = seeding.pick_device(device)
        for module in self._modules().values():
            module.to(place)
        parts: list[Any] = [self.encoders, self.shaper, self.shaped, *self.decoders.values()]
        for part in parts:
            if part is not None:
                part.device = str(place)
        return self

    def _modules(self) -> dict[str, nn.Module]:
        """Everything with weights, by its name in the file."""
        found: dict[str, nn.Module] = {f"encoders.{i}": encoder for i, encoder in enumerate(self.encoders.encoders_)}
        if self.shaper is not None:
            found |= {f"shaper.layer.{i}": layer for i, layer in enumerate(self.shaper.layers_)}
        if self.shaped is not None:
            found |= {f"shaped.{i}": encoder for i, encoder in enumerate(self.shaped.encoders_)}
        return found | {f"decoders.{arm}": decoder.net_ for arm, decoder in self.decoders.items()}

    def save(self, path: str | Path) -> None:
        """Write the file `path`, whole or not at all; the same model gives the same bytes."""
        path, state, tensors = Path(path), self._state(), self._tensors()
        text = json.dumps({**state, "sha256": _digest(state, tensors)}, sort_keys=True)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as temporary:
                temporary.write_bytes(save(tensors, {_STATE: text}))
        except OSError as error:
            raise InputError(f"The file {path} cannot be written ({error.strerror}): choose another folder.") from None

    @classmethod
    def load(cls, path: str | Path, device: str | torch.device = "auto") -> NodeModel:
        """Read a model that `save` wrote; what the shaper saw and did, and the training logs, stay behind."""
        state, tensors = _read(Path(path))
        try:
            if state.pop("sha256") != _digest(state, tensors):
                raise ValueError("other content than was written")
            model = _restore(state, tensors)
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise _damaged(path) from None
        return model.to(device)

    def _state(self) -> dict[str, Any]:
        """All but the tensors, as JSON knows it."""
        kept: dict[str, Any] = {}
        if self.shaper is not None:
            kept, _ = storage.pack(self.shaper)
            del kept["options"]["device"]  # where it was trained is not where it will be used
            kept |= _UNSEEN
        return {
            "format": FORMAT,
            "version": VERSION,
            "config": self.config.model_dump(mode="json"),
            "seed": self.seed,
            "n_features": self.n_features,
            "n_classes": self.n_classes,
            "arms": list(self.decoders),
            "encoders": [encoder.name for encoder in self.encoders.encoders_],
            "shaper": kept,
            "trust": self.shaped.trust_.state() if self.shaped and self.shaped.trust_ else None,
            "both_views": self.shaped.both_views_ if self.shaped else False,
        }

    def _tensors(self) -> dict[str, Tensor]:
        return {
            f"{prefix}.{name}": tensor.detach().cpu().contiguous()
            for prefix, module in self._modules().items()
            for name, tensor in module.state_dict().items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """As plain arrays: torch sends each tensor to another process by a file descriptor, of which there are few."""
        return _revive, (self._state(), {name: tensor.numpy() for name, tensor in self._tensors().items()})


def make_encoders(config: RunConfig, seed: int) -> EncoderEnsemble:
    """The encoders of a configuration: chosen as decoders are where their own heads predict, else on validation."""
    options = config.encoders.model_dump(exclude={"names"})
    by = config.selection if config.shaping == "encoders" else "validation"
    return EncoderEnsemble(config.encoders.names, **options, selection=by, random_state=seed, device=config.device)


def make_decoder(config: RunConfig, seed: int) -> Decoder:
    """The decoder of a configuration."""
    return Decoder(**config.decoder.model_dump(), selection=config.selection, random_state=seed, device=config.device)


def _revive(state: dict[str, Any], arrays: dict[str, np.ndarray]) -> NodeModel:
    return _restore(state, {name: torch.from_numpy(array) for name, array in arrays.items()}).to("cpu")


def _restore(state: dict[str, Any], tensors: dict[str, Tensor]) -> NodeModel:
    config, seed = as_written(state["config"]), state["seed"]
    n_features, n_classes = state["n_features"], state["n_classes"]

    def ensemble(prefix: str) -> EncoderEnsemble:
        found = make_encoders(config, seed)
        shape = (n_features, config.encoders.channels, n_classes)
        names = state.get("encoders", found.encoders)  # files of before encoders could be left behind have all
        if len(names) != config.encoders.n_kept or not set(names) <= set(config.encoders.names):
            raise ValueError("other encoders than were run")
        made = [Encoder(name, *shape, dropout=found.dropout, generator=torch.Generator()) for name in names]
        found.encoders_ = [_filled(one, _below(f"{prefix}.{i}.", tensors)) for i, one in enumerate(made)]
        return found

    if config.shaping == "encoders":
        shaped = ensemble("shaped")
        shaped.trust_ = EdgeTrust.restored(trust) if (trust := state.get("trust")) else None
        shaped.both_views_ = bool(state.get("both_views", False))  # files of before have it not
        return NodeModel(config, seed, ensemble("encoders"), shaped=shaped)
    shaper = storage.unpack(BoundaryShaper, state["shaper"], _below("shaper.", tensors))
    decoders = {}
    for arm in state["arms"]:
        decoder = decoders[arm] = make_decoder(config, seed)
        sizes = (shaper.n_features_in_, decoder.hidden, n_classes)
        options: dict[str, Any] = {"norm": decoder.norm == "batch", "dropout": decoder.dropout}
        net = DecoderNet(decoder.kind, sizes, **options, generator=torch.Generator())
        decoder.net_ = _filled(net, _below(f"decoders.{arm}.", tensors))
    return NodeModel(config, seed, ensemble("encoders"), shaper, decoders)


def _filled(module: nn.Module, weights: dict[str, Tensor]) -> Any:
    """The module with these weights in place of those that its own generator drew."""
    module.load_state_dict(weights)
    return module.requires_grad_(False).eval()


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(str(path), framework="pt") as file:
            text = (file.metadata() or {}).get(_STATE, "{}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        state = json.loads(text)
    except OSError:
        raise InputError(f"The file {path} cannot be read: give a model that `bes run` left.") from None
    except (SafetensorError, ValueError):
        raise _damaged(path) from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise InputError(f"The file {path} holds no model of node classes: give one that `bes run` left.")
    if state.get("version") != VERSION:
        raise InputError(
            f"The file {path} has version {state.get('version')!r} of its format, and this library reads {VERSION}: "
            "load it with the version of bes-graph that saved it."
        )
    return state, tensors


def _damaged(path: str | Path) -> InputError:
    return InputError(
        f"The file {path} is damaged, or of another version of bes-graph: remove it, and call `bes run` again."
    )


def _digest(state: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    """SHA-256 of all content: safetensors itself does not notice a changed byte."""
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
