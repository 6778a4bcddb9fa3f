"""PyTorch Geometric's two-layer GCN on CiteSeer, and the same with BES between its two layers."""

import argparse
import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

import bes

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--epochs", type=int, default=200)
epochs = options.parse_args().epochs
torch.manual_seed(0)
graph = bes.load("citeseer")
split = bes.split_nodes(graph, train=0.6, val=0.2, seed=0)
data = graph.to_pyg()  # its x is a sparse CSR tensor, which GCNConv takes as it is
for part in ("train", "val", "test"):
    data[f"{part}_mask"] = torch.zeros(graph.n_nodes, dtype=torch.bool).index_fill(0, split.nodes(part), True)


class Encoder(GCNConv):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x, data.edge_index).relu()


class Head(GCNConv):
    def forward(self, z: Tensor) -> Tensor:
        return super().forward(F.dropout(z, training=self.training), data.edge_index)


def accuracy(model: nn.Module, x: Tensor, mask: Tensor) -> float:
    with torch.no_grad():
        return (model.eval()(x).argmax(1) == data.y)[mask].float().mean().item()


def train(model: nn.Module, x: Tensor) -> nn.Module:
    """The model as it was in the epoch that did best on validation."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, kept = -1.0, model
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(model.train()(x)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        if (score := accuracy(model, x, data.val_mask)) > best:
            best, kept = score, copy.deepcopy(model)
    return kept.eval()


gcn = train(nn.Sequential(Encoder(graph.n_features, 16), Head(16, graph.n_classes)), data.x)
# BES begins here: take the hidden embedding, shape it, train a new head on it
z = gcn[0](data.x).detach()
layer = bes.nn.BESLayer(16).fit(z, data.y, mask=data.train_mask)
shaped = nn.Sequential(gcn[0], layer, train(Head(16, graph.n_classes), layer(z)))
# and ends here; a fair control has a new head too
control = nn.Sequential(gcn[0], train(Head(16, graph.n_classes), z))
for name, model in {"GCN": gcn, "GCN + new head": control, "GCN + BES + new head": shaped}.items():
    print(f"{name}:", *(f"{part} {accuracy(model, data.x, data[f'{part}_mask']):.4f}" for part in ("val", "test")))
