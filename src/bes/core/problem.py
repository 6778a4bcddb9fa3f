"""One layer's training as `Stepper` sees it, over all ranks: displacement, loss and gradient by the weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bes.core import update
from bes.core.attention import BoundaryAttention, Inputs, Neighborhoods, Weights
from bes.core.group import ALONE, Group, total
from bes.core.objective import Objective
from bes.core.rows import Rows, Through, blocks, in_memory, is_small


class LayerProblem:
    """Displacement, loss and gradient as functions of the weights.

    Batches hold own rows; losses and gradients are means over the batch of all ranks. Where the scope mixes nodes, or
    z is small, the layer's input is laid out once; a large z is read in blocks in every pass.

    Args:
        z: Embeddings before the layer `[N, D]`, own rows and then the halo.
        around: Who attends to whom, for the scope `neighbors`.
        sample: Nodes by which the displacement is estimated; None for all.
        draw: Where samples come from, another stream on every rank.
    """

    def __init__(
        self,
        layer: BoundaryAttention,
        z: Rows,
        around: Neighborhoods | None,
        objective: Objective,
        group: Group = ALONE,
        sample: int | None = None,
        draw: torch.Generator | None = None,
    ) -> None:
        self.layer, self.z, self.objective, self.group = layer, z, objective, group
        self.own = z.shape[0] if group.own is None else group.own
        self.n_nodes = round(total(group, self.own, z.device))
        self.sample, self.draw = sample if sample is not None and sample < self.n_nodes else None, draw
        self.displacement_error = 0.0
        self.inputs = self._laid_out(around)
        self._batch: Tensor | None = None
        self._at: Weights | None = None

    def _laid_out(self, around: Neighborhoods | None) -> Inputs | None:
        """The input of own rows for every pass; None where it is read in blocks."""
        if self.layer.mixes_nodes:
            return own_inputs(self.layer, self.z[:], around, self.group)
        if self.sample is not None or not is_small(self.own, self.z.shape[1]):
            return None
        return self.layer.read(self.z[: self.own])

    def displacement(self, old: Weights, new: Weights) -> float:
        """Eq. 12 in one pass over all nodes, or the unbiased estimate from a fresh sample of them."""
        if self.sample is not None:
            return self._estimated(old, new, self.sample)
        if self.layer.mixes_nodes:
            assert self.inputs is not None
            # the output of the accepted weights was kept by `loss`
            moved = update.displacement(self.layer.full(new, self.inputs) - self._output_of(old))
        elif self.inputs is not None:
            moved = update.displacement(self.layer.difference(old, new, self.inputs))
        else:
            moved = torch.zeros((), dtype=torch.float64, device=self.z.device)
            for part in blocks(self.own, self.z.shape[1]):
                moved += update.displacement(self.layer.difference(old, new, self.layer.read(self.z[part])))
        return self.group.sum(moved).item()

    def _estimated(self, old: Weights, new: Weights, sample: int) -> float:
        """N times the mean over a sample drawn with replacement; ranks draw by their share of the nodes."""
        size = max(2, round(sample * self.own / self.n_nodes))
        rows = torch.randint(self.own, (size,), generator=self.draw).sort().values.to(self.z.device)
        if self.layer.mixes_nodes:
            assert self.inputs is not None
            inputs = self.layer.select(self.inputs, rows)
            difference = self.layer.attend(new, inputs) - self.layer.attend(old, inputs)
        else:
            difference = self.layer.difference(old, new, self.layer.read(self.z[rows]))
        moved = update.distances(difference).double()
        here = torch.stack([moved.mean() * self.own, moved.var() * self.own**2 / size])
        delta, variance = self.group.sum(here).tolist()
        self.displacement_error = math.sqrt(variance) / delta if delta > 0 else 0.0
        return float(delta)

    def loss(self, weights: Weights, batch: Tensor) -> float:
        rows, z, share = self._select(batch)
        if not share:
            return self._merged(z.new_zeros(()))[0]
        if self.layer.mixes_nodes and self.sample is None:
            moved = self._output_of(weights)[batch]
        else:
            moved = self.layer.attend(weights, rows)
        return self._merged(self.objective.loss(z + moved, batch) * share)[0]

    def _output_of(self, weights: Weights) -> Tensor:
        """The output of all own nodes, kept for the weights it was last taken for."""
        if weights is not self._at:
            assert self.inputs is not None
            self._at, self._output = weights, self.layer.full(weights, self.inputs)
        return self._output

    def gradient(self, weights: Weights, batch: Tensor) -> tuple[float, Weights]:
        rows, z, share = self._select(batch)
        if not share:
            return self._merged(z.new_zeros(()), *(torch.zeros_like(weight) for weight in weights))
        value, gradients = self.layer.gradient(weights, rows, lambda moved: self.objective.pull(z + moved, batch))
        if self.group.size == 1:
            return value.item(), gradients
        return self._merged(value * share, *(gradient * share for gradient in gradients))

    def _merged(self, value: Tensor, *gradients: Tensor) -> tuple[float, Weights]:
        """Sums over ranks of a loss and its gradients, in one message."""
        if self.group.size == 1:
            return value.item(), gradients
        parts = [value.reshape(1), *gradients]
        merged = self.group.sum(torch.cat([part.flatten() for part in parts])).split([p.numel() for p in parts])
        return merged[0].item(), tuple(m.view_as(g) for m, g in zip(merged[1:], gradients, strict=True))

    def _select(self, batch: Tensor) -> tuple[Inputs, Tensor, float]:
        """The batch's inputs and its share of the batch of all ranks, looked up once: a full batch stays the same."""
        if batch is not self._batch:
            self._batch, self._z = batch, self.z[batch]
            mixing = self.inputs if self.layer.mixes_nodes else None
            self._rows = self.layer.select(mixing, batch) if mixing else self.layer.read(self._z)
            count = self.objective.count(batch) if self.group.size > 1 else 1
            self._share = count / max(1.0, total(self.group, count, self._z.device))
        return self._rows, self._z, self._share


def own_inputs(layer: BoundaryAttention, z: Tensor, around: Neighborhoods | None, group: Group) -> Inputs:
    """Inputs with which `full` gives the outputs of own rows, where nodes mix; the halo is attended to."""
    inputs = layer.read(z, around)
    return inputs if group.own is None else layer.select(inputs, torch.arange(group.own, device=z.device))


def apply_layer(layer: BoundaryAttention, z: Rows, around: Neighborhoods | None, group: Group = ALONE) -> Rows:
    """The embeddings after a layer `[N, D]`, halo rows as their owners have them; rows of a file stay there."""
    if not isinstance(z, Tensor):
        return Through(z, layer)
    if not layer.mixes_nodes:  # what a row becomes depends on the row alone
        return in_memory(Through(z, layer))
    with torch.no_grad():
        moved = layer.full(tuple(weight.to(z) for weight in layer.weights), own_inputs(layer, z, around, group))
    if group.own is None:
        return z + moved
    return group.refresh(torch.cat([z[: group.own] + moved, z[group.own :]]))
