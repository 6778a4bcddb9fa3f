"""BoundaryShaper: Algorithm 1 as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from bes.core import attention, boundary, gaussians, gravity, inputs, options, similarity, storage, update
from bes.core.algorithm import Boundary, look, train_layer
from bes.core.group import ALONE, Group, total
from bes.core.inputs import Array
from bes.core.problem import apply_layer
from bes.core.resume import Keeper
from bes.core.rows import Rows, Through, in_memory, write_npy
from bes.errors import InputError
from bes.files import whole_file
from bes.progress import Step, iterations


class BoundaryShaper(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Boundary Embedding Shaping: pull boundary nodes to their class centre, push them from the others.

    Args:
        n_layers: Attention layers L, trained one after another.
        n_iter: Iterations Q a layer.
        delta: Half-width of the slab of Eq. 5.
        tau: Temperature of the gravity loss.
        alpha: How far a step may move the embeddings (Eq. 13), in `alpha_unit`.
        batch_size: Boundary nodes beta a step.
        n_neighbors: k of the shift score (Eq. 4).
        eta: Length of the virtual step (Eq. 11).
        scope: What a node attends to: `views`, `neighbors`, `nodes` or `self`.
        n_views: Equal parts of z, one an encoder, for `scope="views"`.
        n_heads: Attention heads.
        init: `identity` (W_out = 0) or `random`.
        origin: Of the slab: `midpoint` of the two centres, or `literal` as printed.
        covariance: `pooled`, `total` or `per_class`.
        shrinkage: Of the covariance, in [0, 1], or `oas`.
        neighborhood: Of the shift score: `embedding` or `graph` (then `fit` needs `edge_index`).
        shift_threshold: Region nodes with a larger shift score are boundary nodes.
        labels: `given` alone; or `soft`: half of the nodes without a label join them, those whose class is clearest by
            class Gaussians and, with `edge_index`, their neighbours, and the quarter after them is shaped too.
        targets: What is shaped: the `boundary` nodes, or `all` labelled nodes (the ablation without boundary nodes).
        objective: `centers` (Eq. 9 and 10) or `pairwise` (Eq. 6 and 7).
        hinge: Of Eq. 9: `region` or `rival`.
        denominator: Of the loss: `with_positive` or `negatives_only`.
        update: `adaptive` (Eq. 13 with acceptance) or `official` (through Adam).
        alpha_unit: `node` (mean displacement) or `total` (as printed).
        unit: What tau and alpha are measured in: `absolute` as printed, or `spread`, in which alpha counts in
            root mean square distances of labelled nodes from their class centres and tau in their square,
            so that the loss and the length of a step do not depend on the embedding's scale (attention
            between views does: its softmax has a scale of its own).
        weight_decay: Of Adam, with `update="official"`.
        displacement_sample: Nodes, drawn anew in each iteration, by which the displacement is estimated without bias;
            None measures all of them. With 10,000 its error is about a percent, and an iteration costs the same for
            any number of nodes.
        tol: A batch whose loss is not above it is separated already, and no step is taken; with
            `denominator="with_positive"`, whose loss ends at zero.
        random_state: Seed of initial weights and batches.
        device: `auto`, or a torch device; tensors are worked on where they are under `auto`.
        verbose: Show a progress bar with loss, displacement and accepted steps.

    Attributes:
        classes_: The classes seen in `fit`.
        layers_: The trained attention layers; empty when there was nothing to shape.
        boundary_: Indices of the boundary nodes, or of what `targets` names, an array a layer looked at.
        shift_scores_: S(v) of every node, NaN outside region and labels, an array a layer looked at.
        region_sizes_: Nodes in the region, a number a layer looked at.
        history_: A dict an iteration: layer, iteration, loss and loss_after of the batch, displacement
            (Delta of the virtual step, Eq. 12), scale (of the step that was kept, Eq. 13; 0 if none),
            halvings, accepted, displacement_error (relative standard error of the displacement, 0 when exact).
    """

    def __init__(
        self,
        n_layers: int = 2,
        n_iter: int = 200,
        delta: float = 5.0,
        tau: float = 1.0,
        alpha: float = 0.005,
        batch_size: int = 256,
        n_neighbors: int = 5,
        *,
        eta: float = 0.01,
        scope: attention.Scope = "views",
        n_views: int = 1,
        n_heads: int = 1,
        init: attention.Init = "identity",
        origin: boundary.Origin = "midpoint",
        covariance: gaussians.Covariance = "pooled",
        shrinkage: float | Literal["oas"] = "oas",
        neighborhood: options.Neighborhood = "embedding",
        shift_threshold: float = 0.5,
        labels: options.Labels = "given",
        targets: options.Targets = "boundary",
        objective: options.Objective = "centers",
        hinge: similarity.Hinge = "region",
        denominator: gravity.Denominator = "with_positive",
        update: update.Update = "adaptive",
        alpha_unit: update.AlphaUnit = "node",
        unit: options.Unit = "absolute",
        weight_decay: float = 5e-4,
        tol: float = 0.05,
        displacement_sample: int | None = None,
        random_state: int = 0,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.n_layers = n_layers
        self.n_iter = n_iter
        self.delta = delta
        self.tau = tau
        self.alpha = alpha
        self.batch_size = batch_size
        self.n_neighbors = n_neighbors
        self.eta = eta
        self.scope = scope
        self.n_views = n_views
        self.n_heads = n_heads
        self.init = init
        self.origin = origin
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.neighborhood = neighborhood
        self.shift_threshold = shift_threshold
        self.labels = labels
        self.targets = targets
        self.objective = objective
        self.hinge = hinge
        self.denominator = denominator
        self.update = update
        self.alpha_unit = alpha_unit
        self.unit = unit
        self.weight_decay = weight_decay
        self.tol = tol
        self.displacement_sample = displacement_sample
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(
        self,
        X: Array,
        y: Array,
        edge_index: Array | None = None,
        callbacks: Sequence[Step] = (),
        group: Group | None = None,
        keeper: Keeper | None = None,
    ) -> Self:
        """Train the layers on embeddings `X` `[N, D]`; `y` `[N]` is -1 where the label is unknown.

        Only here does -1 mean that: to scikit-learn's classifiers it is a class like any other. So in a
        `Pipeline` that ends in one, give labelled rows alone, and classes of other names than -1.

        A large `np.memmap` is read in blocks and never held whole, with `scope` `views` or `self` and given labels.

        Args:
            edge_index: Edges `[2, E]`, for `scope="neighbors"`, `neighborhood="graph"` and `labels="soft"` only.
            callbacks: Called after each iteration with its number over all layers, the shaper and the row of
                `history_`; what one raises ends the fit.
            group: The ranks that hold the other rows (`bes.core.group`); None where X has them all. X holds own rows,
                then halo rows, `y` and `edge_index` tell of these; layers, `history_` and `region_sizes_` are then
                those of all ranks, `boundary_` and `shift_scores_` tell of own rows.
            keeper: Keeps how far each layer has come, and gives it back after a kill (`bes.core.resume`); `callbacks`
                hear of iterations that were kept too.
        """
        group = group or ALONE
        options.check_options(self)
        options.check_group(self, group)
        z, edges = inputs.read(self, X, edge_index, reset=True)
        if self.scope == "views":
            attention.check_views(z.shape[1], self.n_views)
        self.classes_, codes = inputs.encode_labels(y, z.shape[0], group)
        labels = codes.to(z.device)
        around = inputs.neighborhoods(self, edges, z.shape[0])
        self.layers_: list[attention.BoundaryAttention] = []
        self.boundary_: list[np.ndarray] = []
        self.shift_scores_: list[np.ndarray] = []
        self.region_sizes_: list[int] = []
        self.history_: list[dict[str, Any]] = []
        with iterations(self.n_layers * self.n_iter, show=self.verbose) as report:

            def note(row: dict[str, Any]) -> None:
                self.history_.append(row)
                report(row)
                for callback in callbacks:
                    callback(len(self.history_) - 1, self, row)

            for index in range(self.n_layers):
                found, told = look(self, z, labels, edges, group)
                self._remember(found, group)
                if total(group, found.nodes.numel(), z.device) == 0:
                    n = round(total(group, found.region.numel(), z.device))
                    warnings.warn(
                        f"Layer {index + 1} found no boundary nodes ({self.region_sizes_[-1]} nodes of {n} in "
                        "the region): it and all layers after it are the identity. Raise delta to look further.",
                        stacklevel=2,
                    )
                    break
                layer, z = train_layer(self, index, z, told, found, around, note, group, keeper)
                self.layers_.append(layer)
        return self

    def transform(
        self, X: Array, edge_index: Array | None = None, group: Group | None = None, out: str | Path | None = None
    ) -> Array:
        """Shape embeddings `[N, D]`, of nodes seen in `fit` or not; returns the kind that went in.

        Args:
            edge_index: Edges `[2, E]`, for `scope="neighbors"` only.
            group: As in `fit`; own rows come out, and then halo rows as their owners have them.
            out: An `.npy` file to write in blocks, whole or not at all; what is returned is a map of it.
        """
        z = self._through(X, edge_index, group or ALONE)
        if out is None:
            return inputs.like(z if isinstance(z, Tensor) else in_memory(z), X)
        with whole_file(Path(out)) as temporary:
            write_npy(temporary, z)
        return np.load(out, mmap_mode="r")

    def stages(self, X: Array, edge_index: Array | None = None, group: Group | None = None) -> list[Array]:
        """The embeddings as they go in and after each layer; the last is what `transform` gives."""
        return list(self.each_stage(X, edge_index, group))

    def each_stage(self, X: Array, edge_index: Array | None = None, group: Group | None = None) -> Iterator[Array]:
        """What `stages` gives, one after another: whoever lets go of one before the next holds no more than two."""
        rows, around = self._ready(X, edge_index)
        z = rows[:]
        yield inputs.like(z, X)
        for layer in self.layers_:
            z = apply_layer(layer, z, around, group or ALONE)[:]
            yield inputs.like(z, X)

    def _through(self, X: Array, edge_index: Array | None, group: Group) -> Rows:
        """The embeddings after all layers; where no layer mixes nodes, made as they are read."""
        z, around = self._ready(X, edge_index)
        for layer in self.layers_:
            z = apply_layer(layer, z, around, group) if layer.mixes_nodes else Through(z, layer)
        return z

    def _ready(self, X: Array, edge_index: Array | None) -> tuple[Rows, attention.Neighborhoods | None]:
        check_is_fitted(self, "layers_")
        z, edges = inputs.read(self, X, edge_index, reset=False)
        return z, inputs.neighborhoods(self, edges, z.shape[0])

    def fit_transform(
        self, X: Array, y: Array, edge_index: Array | None = None, callbacks: Sequence[Step] = ()
    ) -> Array:
        """`fit`, then `transform` of the same embeddings."""
        return self.fit(X, y, edge_index, callbacks).transform(X, edge_index)

    def _remember(self, found: Boundary, group: Group) -> None:
        scores = np.full(found.region.numel(), np.nan)
        scores[found.scored.cpu().numpy()] = found.scores.cpu().numpy()
        self.boundary_.append(found.nodes.cpu().numpy())
        self.shift_scores_.append(scores)
        self.region_sizes_.append(round(total(group, int(found.region.sum()), found.region.device)))

    def save(self, path: str | Path) -> None:
        """Write the fitted shaper as a directory of safetensors and JSON."""
        check_is_fitted(self, "layers_")
        storage.write(path, *storage.pack(self))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a shaper that `save` wrote."""
        state, tensors = storage.read(path)
        try:
            return storage.unpack(cls, state, tensors)
        except (KeyError, TypeError, RuntimeError):
            raise InputError(f"{path} is damaged: save the shaper again.") from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
