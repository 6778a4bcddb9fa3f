"""How far an edge can be trusted: the chance that it joins two nodes of one class.

A node's spurious neighbours are what blurs it, and many of them can be told from the others without any label: their
features are unlike its own, and they share no neighbour with it. Edges between labelled nodes say what that is worth:

    P(y_i = y_j | i ~ j) = sigmoid(b + w . f_ij),

where f_ij holds, standardised and with their squares: the cosine of the features, the share of common neighbours
c_ij / sqrt(d_i d_j) under a root, log d_i + log d_j, and |log d_i - log d_j|. None of them knows a label, so that edges
of test nodes look like those that were learned from. Propagation then counts an edge by P squared.
"""

from __future__ import annotations

from typing import Any, Self
from weakref import WeakKeyDictionary, ref

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators, Sparse

#: Labelled edges of either kind, within a class and across, below which nothing is learned.
LEAST = 50

#: Folds of the labelled edges that say how much is explained.
FOLDS = 5

#: Rows of edges whose neighbours are compared at a time.
_BLOCK = 1 << 15

#: No weight is below it: a node whose edges all look spurious still hears them, the likelier ones more.
FLOOR = 1e-4

#: What was measured of a graph's edges with which features, while both live: a graph without labels shares them.
_MEASURED: WeakKeyDictionary[Operators, tuple[ref[Features], np.ndarray]] = WeakKeyDictionary()


class EdgeTrust(BaseEstimator):  # type: ignore[misc]
    """P(one class) of edges, by logistic regression on those between labelled nodes.

    Attributes:
        explained_: The share of the deviance of labelled edges, each predicted by a model of the others, that the
            regression explains: 0 says nothing, 1 all; 0 where there are too few of either kind.
        mean_, scale_: Of the measures of the edges of the graph that was fitted `[4]`.
        weight_, bias_: Of the regression, `[8]` and a number; empty where there were too few edges.
    """

    def fit(self, graph: Graph, known: Tensor, labels: Tensor) -> Self:
        """Learn from edges between the nodes `known` `[n]` with classes `labels` `[n]`."""
        row, col = _half(graph)
        measured = _measured(graph)
        self.mean_, self.scale_ = measured.mean(0), measured.std(0) + 1e-9
        self.explained_, self.weight_, self.bias_ = 0.0, np.empty(0), 0.0
        y = np.full(graph.n_nodes, -1)
        y[known.cpu().numpy()] = labels.cpu().numpy()
        both = (y[row] >= 0) & (y[col] >= 0)
        same = (y[row] == y[col])[both]
        if min(same.sum(), (~same).sum()) < LEAST:
            return self
        inputs, model = self._inputs(measured)[both], LogisticRegression(max_iter=1000)
        held = cross_val_predict(model, inputs, same, cv=FOLDS, method="predict_proba")[:, 1]
        constant = np.full(same.shape, same.mean())
        self.explained_ = float(1 - log_loss(same, held) / log_loss(same, constant))
        model.fit(inputs, same)
        self.weight_, self.bias_ = model.coef_[0], float(model.intercept_[0])
        return self

    def predict_proba(self, graph: Graph) -> Tensor:
        """P(one class) of each edge, in the order of `graph.edge_index` `[E]`."""
        check_is_fitted(self, "weight_")
        logit = self._inputs(_measured(graph)) @ self.weight_ + self.bias_
        half = torch.from_numpy(1 / (1 + np.exp(-logit))).float().to(graph.device)
        source, target = graph.edge_index
        out = half.new_empty(source.numel())
        forward = source < target
        out[forward] = half
        backward = (~forward).nonzero().flatten()  # the same edges the other way, by their first end
        order = torch.argsort(target[backward] * graph.n_nodes + source[backward])
        out[backward[order]] = half
        return out

    def transform(self, graph: Graph) -> Graph:
        """The graph, propagating by these chances squared."""
        return graph.weighted(self.predict_proba(graph).square().clamp_min(FLOOR))

    def _inputs(self, measured: np.ndarray) -> np.ndarray:
        z = (measured - self.mean_) / self.scale_
        return np.concatenate([z, z * z], axis=1)

    def state(self) -> dict[str, Any]:
        """What `restored` needs, as JSON knows it."""
        check_is_fitted(self, "weight_")
        arrays = {name: getattr(self, name).tolist() for name in ("mean_", "scale_", "weight_")}
        return {**arrays, "bias_": self.bias_, "explained_": self.explained_}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> EdgeTrust:
        """What `state` gave, fitted again."""
        found = cls()
        for name in ("mean_", "scale_", "weight_"):
            setattr(found, name, np.array(state[name], dtype=float))
        found.bias_, found.explained_ = float(state["bias_"]), float(state["explained_"])
        return found


def _half(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Each edge once, in the order of its smaller end."""
    row, col = graph.edge_index.cpu().numpy()
    once = row < col
    return row[once], col[once]


def _measured(graph: Graph) -> np.ndarray:
    """The measures of each edge of `_half` `[E / 2, 4]`, made once."""
    features, found = _MEASURED.get(graph.operators, (None, np.empty(0)))
    if features is None or features() is not graph.x:
        found = measures(graph, *_half(graph))
        _MEASURED[graph.operators] = ref(graph.x), found
    return found


def measures(graph: Graph, row: np.ndarray, col: np.ndarray) -> np.ndarray:
    """What is known of edges without a label `[E, 4]`: features alike, common neighbours, degrees, their difference."""
    n = graph.n_nodes
    source, target = graph.edge_index.cpu().numpy()
    adjacency = sp.csr_array((np.ones(source.size, dtype=np.float32), (source, target)), shape=(n, n))
    degree = np.bincount(source, minlength=n)
    features = _unit_rows(graph)
    alike, common = np.empty(row.size), np.empty(row.size)
    for start in range(0, row.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        alike[part] = (features[row[part]] * features[col[part]]).sum(1)
        common[part] = (adjacency[row[part]] * adjacency[col[part]]).sum(1)
    low, high = np.log(degree[row]), np.log(degree[col])
    share = np.sqrt(common / np.sqrt(degree[row] * degree[col]))
    return np.stack([alike, share, low + high, np.abs(low - high)], axis=1)


def _unit_rows(graph: Graph) -> Any:
    """Features with rows of length one, sparse where they are."""
    if isinstance(graph.x, Sparse):
        row, col, value = (part.cpu().numpy() for part in graph.x.coo())
        length = np.sqrt(np.bincount(row, value.astype(float) ** 2, minlength=graph.n_nodes))
        entries = (value / np.maximum(length, 1e-12)[row], (row, col))
        return sp.csr_array(entries, shape=(graph.n_nodes, graph.n_features))
    return torch.nn.functional.normalize(graph.x, dim=1).cpu().numpy()
