"""One frozen object drives Python, the command line and YAML."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bes.core import attention, boundary, gaussians, gravity, options, similarity, soft
from bes.core.update import AlphaUnit, Update
from bes.errors import InputError, did_you_mean
from bes.graph.datasets import known
from bes.graph.links import Message, Select
from bes.graph.scaling import Scaling
from bes.graph.splits import Scoring
from bes.graph.variants import MARK
from bes.presets import PRESETS, defaults, preset_options
from bes.settings import merge, parse_options, parse_settings, read_file, validate

#: What is predicted: the class of nodes, links, or the class of edges.
Task = Literal["node", "link", "edge"]


def _names(given: Any) -> Any:
    """`cheb,gcn` is two names."""
    return tuple(name.strip() for name in given.split(",") if name.strip()) if isinstance(given, str) else given


def _by_name(given: Any) -> dict[str, dict[str, Any]]:
    """Methods as options by name: names alone, as a text or a list, have none of their own."""
    names = _names(given)
    if isinstance(names, Mapping) and all(isinstance(options, Mapping | None) for options in names.values()):
        return {name: dict(options or {}) for name, options in names.items()}
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return {name: {} for name in names}
    raise InputError(f"The setting methods={given!r} is not understood: write names, or options by name.")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class EncoderConfig(_Frozen):
    """The frozen encoders Phi: each F -> channels -> classes, trained with its own head."""

    names: tuple[str, ...] = Field((), description="Convolutions; empty takes the paper's pair for the data set.")
    channels: int = Field(16, ge=1, description="Width of each encoder's embedding.")
    epochs: int = Field(200, ge=1)
    lr: float = Field(0.01, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    dropout: float = Field(0.5, ge=0, lt=1)
    patience: int = Field(0, ge=0, description="Epochs without a better validation score before stopping; 0 never.")
    keep: int = Field(0, ge=0, description="Of the encoders, how many are kept, the best by `selection`; 0 keeps all.")

    @property
    def n_kept(self) -> int:
        """How many encoders there are in the end."""
        return min(self.keep, len(self.names)) if self.keep else len(self.names)

    _split_names = field_validator("names", mode="before")(_names)


class ShaperConfig(_Frozen):
    """Options of `BoundaryShaper`, by the same names; `n_views` follows the encoders."""

    n_layers: int = Field(2, ge=0)
    n_iter: int = Field(200, ge=0)
    delta: float = Field(5.0, ge=0)
    tau: float = Field(1.0, gt=0)
    alpha: float = Field(0.005, gt=0)
    batch_size: int = Field(256, ge=1)
    n_neighbors: int = Field(5, ge=1)
    eta: float = Field(0.01, gt=0)
    scope: attention.Scope = "views"
    n_heads: int = Field(1, ge=1)
    init: attention.Init = "identity"
    origin: boundary.Origin = "midpoint"
    covariance: gaussians.Covariance = "pooled"
    shrinkage: Literal["oas"] | float = "oas"
    neighborhood: options.Neighborhood = "embedding"
    shift_threshold: float = Field(0.5, ge=0, lt=1)
    labels: options.Labels = "given"
    targets: options.Targets = "boundary"
    objective: options.Objective = "centers"
    hinge: similarity.Hinge = "region"
    denominator: gravity.Denominator = "with_positive"
    update: Update = "adaptive"
    alpha_unit: AlphaUnit = "node"
    unit: options.Unit = "absolute"
    weight_decay: float = Field(5e-4, ge=0)
    tol: float = Field(0.05, ge=0)
    displacement_sample: int | None = Field(None, ge=2)


class EncoderShaperConfig(_Frozen):
    """Options of `EncoderShaper`, by the same names: how `shaping=encoders` shapes."""

    epochs: int = Field(200, ge=1)
    lr: float = Field(0.01, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    first: float = Field(0.3, ge=0, le=1, description="Share of the nodes without a label that joins at first.")
    last: float = Field(0.9, ge=0, le=1, description="Share that has joined in the end.")
    band: float = Field(0.25, ge=0, le=1, description="Share after those that gravity acts on.")
    every: int = Field(10, ge=1, description="Epochs from one choice of who takes part to the next.")
    teacher: soft.Teacher = Field(
        "auto", description="What makes labels of predictions; auto takes what validation does not find worse at first."
    )
    steps: int = Field(10, ge=0, description="Steps by which a teacher smooths predictions.")
    restart: float = Field(0.1, ge=0, lt=1, description="How far each step goes back to the predictions.")
    sizes: float | None = Field(
        0.75, ge=0, le=1, description="How far classes keep the sizes they had at first; none: the teacher decides."
    )
    weight: float = Field(2.0, ge=0, description="Of the cross-entropy of nodes that joined.")
    balance: float = Field(0.5, ge=0, le=1, description="How they count: 0 all alike, 1 all classes alike.")
    gravity: float = Field(0.3, ge=0, description="Weight of gravity.")
    pulled: soft.Pulled = Field("band", description="What gravity acts on: the band, or all labelled nodes.")
    temperature: float = Field(0.1, gt=0, description="Tau of that gravity.")
    guard: float | None = Field(
        0.2, ge=0, le=1, description="Share of epochs that must be better on validation than none; none: any one."
    )
    trust: float | None = Field(
        0.2, le=1, description="Explained share of which edges join one class that lets edges count by it; none: never."
    )


class DecoderConfig(_Frozen):
    """The decoder Psi of Eq. 1: D -> hidden -> classes on the embeddings."""

    kind: str = Field("", description="cheb, sage or mlp; empty takes the paper's for the data set.")
    hidden: int = Field(64, ge=1)
    epochs: int = Field(200, ge=1)
    lr: float = Field(0.01, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    dropout: float = Field(0.5, ge=0, lt=1)
    norm: Literal["batch", "none"] = "none"
    patience: int = Field(0, ge=0)


class LinkConfig(_Frozen):
    """What only links and edges need."""

    boundary: Literal["auto", "classes", "clusters", "pairs"] = Field(
        "auto", description="What is shaped, and by what."
    )
    n_clusters: int = Field(10, ge=2, description="Clusters of boundary=clusters.")
    label_split: str = Field("random", description="The node split whose training labels boundary=classes gets.")
    shaping_pairs: int = Field(20_000, ge=4, description="Training pairs that boundary=pairs shapes, at most.")
    message: Message = Field("train", description="Edges that pass messages when test pairs are scored.")
    select: Select = Field("auc", description="What validation selects by.")
    repeats: bool = Field(False, description="Let held-out edges of split=official repeat training edges.")
    batch: int = Field(1 << 14, ge=1, description="Training edges a step, at most.")


class RunConfig(_Frozen):
    """Everything that a run depends on but its seeds."""

    dataset: str
    task: Task = "node"
    split: str = "random"
    preset: str = "paper"
    selection: Literal["validation", "test-peek"] = "validation"
    scoring: Scoring = Field(
        "accuracy",
        description="What validation counts, for nodes: all alike, or (balanced_accuracy) all classes alike.",
    )
    features: Scaling = Field(
        "raw", description="row: each node's features sum to one; length: they have Euclidean length 8; unit: length 1."
    )
    allow_missing_classes: bool = Field(False, description="Go on when a class has no training node.")
    device: str = "auto"
    batching: Literal["auto", "full", "parts"] = Field(
        "auto",
        description="Training on the whole graph at once or on parts of it; auto is full while memory is enough.",
    )
    n_parts: int = Field(0, ge=0, description="Parts of batching=parts; 0 makes steps of about 32,768 nodes.")
    parts_per_step: int = Field(0, ge=0, description="Parts that a training step takes; 0 takes 4.")
    encoders: EncoderConfig = EncoderConfig()
    shaping: Literal["layers", "encoders"] = Field(
        "layers",
        description="What it trains: the paper's layers on frozen embeddings, or the encoders with their own heads.",
    )
    crossfit: int = Field(
        0, ge=0, description="Folds of training nodes whose rows shaping learns from come from encoders without them."
    )
    shaper: ShaperConfig = ShaperConfig()
    encoder_shaper: EncoderShaperConfig = EncoderShaperConfig()
    decoder: DecoderConfig = DecoderConfig()
    links: LinkConfig = LinkConfig()
    rivals: tuple[str, ...] = Field((), description="Arms beside control and bes.")
    methods: dict[str, dict[str, Any]] = Field(
        {}, description="Methods instead of control and bes, with their options; bes among them brings both back."
    )
    settings: Literal["paper", "official", "ours"] | None = Field(
        None, description="Whose settings the methods get; none takes the first of these that a method has."
    )
    tune: int = Field(0, ge=0, description="Settings of each method that are tried on the validation part of split 0.")

    _split_rivals = field_validator("rivals", mode="before")(_names)

    @field_validator("methods", mode="before")
    @classmethod
    def _name_methods(cls, given: Any) -> Any:
        """Names alone have no options of their own."""
        return _by_name(given)

    def __hash__(self) -> int:
        return hash(self.canonical())

    @property
    def paired(self) -> bool:
        """Whether control and bes are run."""
        return not self.methods or bool({"control", "bes"} & self.methods.keys())

    @property
    def methods_alone(self) -> tuple[str, ...]:
        """The methods but for control and bes, which are one run."""
        return tuple(name for name in self.methods if name not in ("control", "bes"))

    @classmethod
    def build(
        cls,
        dataset: str,
        *,
        preset: str | None = None,
        file: Path | None = None,
        given: Mapping[str, Any] | None = None,
        settings: Sequence[str] = (),
    ) -> Self:
        """Defaults, then the preset, then the file, then what was `given`, then `key=value` settings.

        Args:
            dataset: A name or a path; its split in the catalogue, and the paper's encoders and decoder for
                it, are the default. It is the one thing that neither file nor settings change.
            given: Values by key; None leaves a key as it is.
            settings: `METHOD.option=value` sets an option of a method that is run.
        """
        written = read_file(file) if file else {}
        options = {"dataset": dataset, "preset": preset, **(given or {})}
        if options.get("methods"):  # names replace those of the file; options of theirs that it has stay
            told = _by_name(written.pop("methods", None) or ())
            options["methods"] = {
                name: {**told.get(name, {}), **own} for name, own in _by_name(options["methods"]).items()
            }
        named = {name for layer in (written, options) for name in _by_name(layer.get("methods") or ())}
        own = [text for text in settings if text.partition(".")[0] in named and text.count(".") and "=" in text]
        rest = [text for text in settings if text not in own]
        over = [written, options, {"methods": parse_options(own)}, parse_settings(rest, cls)]
        if "dataset" in over[-1]:
            raise InputError("The setting 'dataset' cannot be set: name the data set as the first word of the command.")
        chosen = str(next((layer["preset"] for layer in reversed(over) if layer.get("preset")), "paper"))
        if chosen not in PRESETS:
            raise InputError(_unknown_preset(chosen))
        base, mark, variants = dataset.partition(MARK)
        info = known(base)
        task = str(next((layer["task"] for layer in reversed(over) if layer.get("task")), "node"))
        merged: dict[str, Any] = {}
        usual = defaults(task, info.name if info else dataset, info.split if info else None)
        for layer in [usual, preset_options(chosen, task), *over]:
            merge(merged, {**layer, "methods": _by_name(layer["methods"])} if layer.get("methods") else layer)
        merged |= {"dataset": f"{info.name}{mark}{variants}" if info else dataset, "preset": chosen}
        return validate(cls, merged)

    def canonical(self) -> str:
        """The configuration as JSON with sorted keys: the same text for the same run."""
        return sorted_json(self.model_dump(mode="json"))


def sorted_json(content: Mapping[str, Any]) -> str:
    """The same text for the same content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _unknown_preset(name: str) -> str:
    near = difflib.get_close_matches(name, PRESETS)
    hint = did_you_mean(near, f"use one of {', '.join(PRESETS)}.")
    return f"The preset '{name}' is not known: {hint}"
