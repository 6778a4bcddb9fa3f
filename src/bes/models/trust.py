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
import torch
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators
from bes.models.heuristics import common_neighbors, feature_cosine

#: Labelled edges of either kind, within a class and across, below which nothing is learned.
LEAST = 50

#: Folds of the labelled edges that say how much is explained.
FOLDS = 5

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
        some = measured if len(measured) else np.zeros((1, 4))  # a graph without edges has no mean
        self.mean_, self.scale_ = some.mean(0), some.std(0) + 1e-9
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
        half = torch.from_numpy(expit(logit)).float().to(graph.device)
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
    pairs = torch.from_numpy(np.stack([row, col]))
    alike, common = feature_cosine(graph, pairs).numpy(), common_neighbors(graph, pairs).numpy()
    degree = np.bincount(graph.edge_index[0].cpu().numpy(), minlength=graph.n_nodes)
    low, high = np.log(degree[row]), np.log(degree[col])
    share = np.sqrt(common / np.sqrt(degree[row] * degree[col]))
    return np.stack([alike, share, low + high, np.abs(low - high)], axis=1)
