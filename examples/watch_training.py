"""Watch encoders, shaper and decoder while they train: a CSV file, TensorBoard, and a callback of your own.

You learn: every `fit` takes `callbacks`; a log has stages, one for each thing that is trained; a callback is any
function of a step, the model and a row of numbers, and can stop a fit by raising; and the same logs come from the
command line by `bes run ... --log csv` (or `tensorboard`, or `mlflow`).

Run it: python examples/watch_training.py [--epochs 100] [--out runs/watched], then: tensorboard --logdir runs/watched
"""

import argparse
import csv
from collections import Counter
from pathlib import Path
from typing import Any

import bes
from bes.callbacks import CSVLog, TensorBoardLog
from bes.graph.synthetic import sbm


class EnoughError(Exception):
    """Raised to end a fit."""


def until_lower_by(share: float) -> Any:
    """A callback that ends shaping once the boundary's loss has fallen by `share` of where it began."""
    first: list[float] = []

    def stop(step: int, _: Any, row: dict[str, Any]) -> None:
        first.append(row["loss"])
        if row["loss"] < (1 - share) * first[0]:
            raise EnoughError(f"the loss has fallen from {first[0]:.3f} to {row['loss']:.3f} in {step} steps")

    return stop


def main(epochs: int, out: Path) -> None:
    graph = sbm(n_nodes=500, n_classes=4, n_features=16, degree=6.0, noise=0.3, separation=1.5)
    split = bes.split_nodes(graph, seed=0)
    with CSVLog(out / "log.csv") as table, TensorBoardLog(out / "tensorboard") as board:
        phi = bes.EncoderEnsemble(["gcn", "cheb"], epochs=epochs)
        phi.fit(graph, split, callbacks=[log.stage("encoder") for log in (table, board)])
        z, shaper = phi.transform(graph), bes.BoundaryShaper(n_views=phi.n_views)
        try:
            callbacks = [table.stage("shaper"), board.stage("shaper"), until_lower_by(0.2)]
            shaper.fit(z, split.mask_labels(graph.y), callbacks=callbacks)
        except EnoughError as why:
            print("shaping was stopped:", why)
        bes.Decoder("cheb", epochs=epochs).fit(graph, z, split, callbacks=[table.stage("decoder")])

    with (out / "log.csv").open(newline="") as file:
        stages = Counter(row["stage"] for row in csv.DictReader(file) if row["name"] == "loss")
    print("steps in the log:", dict(stages))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("runs/watched"))
    main(**vars(parser.parse_args()))
