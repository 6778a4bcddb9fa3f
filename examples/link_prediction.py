"""Predict links without leaks, and see what shaping adds to a plain baseline.

You learn: a `LinkSplit` hands out a graph with the training edges alone, so that no held-out edge can pass messages;
pairs can be shaped as "link" or "no link", with the decoder reading the shaped pairs; a heuristic that trains nothing
belongs beside every network; and all is compared on validation, the test part is opened once at the end.

Run it: python examples/link_prediction.py [--epochs 100]
"""

import argparse

import torch

import bes
from bes.graph.synthetic import sbm
from bes.models.heuristics import HEURISTICS
from bes.models.pairs import products
from bes.tasks.link import LinkTask


def main(epochs: int) -> None:
    graph = sbm(n_nodes=600, n_classes=6, n_features=16, degree=10.0, noise=0.15, separation=2.0)
    split = bes.split_links(graph, train=0.6, val=0.2, seed=0)
    print(f"{split.graph.n_edges} training edges of {graph.n_edges}; messages pass over those alone")

    phi = bes.PairEncoders(["gcn", "sage"], epochs=epochs, random_state=0).fit(split)
    z = phi.transform(split.graph)

    pairs, is_link = split.training_pairs(2000, torch.Generator().manual_seed(0))  # edges and fresh negatives
    shaper = bes.BoundaryShaper(n_views=phi.n_views, n_iter=100, unit="spread", alpha=1e-4, random_state=0)
    shaper.fit(products(z, pairs), is_link)
    print("pairs at the boundary, by layer:", [len(rows) for rows in shaper.boundary_])

    scores = {"cn": lambda part: HEURISTICS["cn"](split.graph, split.pairs(part))[:, None]}
    for arm, shape in (("control", None), ("bes", shaper.transform)):
        decoder = bes.PairDecoder("mlp", epochs=epochs, random_state=0).fit(z, split, shape)
        scores[arm] = lambda part, decoder=decoder, shape=shape: decoder.decision_function(
            split.graph, z, split.pairs(part), shape
        )
    for arm, score in scores.items():
        print(f"{arm}: validation AUC {split.score(score('val'), 'val')[0]:.4f}")

    chosen = max(scores, key=lambda arm: split.score(scores[arm]("val"), "val")[0])
    nowhere = torch.zeros(split.pairs("test").shape[1], dtype=torch.bool)  # no part of its own for boundary pairs
    metrics = LinkTask(split, nowhere).evaluate(chosen, {part: scores[chosen](part) for part in split.parts})
    print(f"chosen on validation: {chosen}; its test AUC, opened once: {metrics['test']['auroc']:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=100)
    main(parser.parse_args().epochs)
