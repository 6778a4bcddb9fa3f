"""Draw docs/images/before-after.png from the run that `make demo` left in runs/demo."""

from pathlib import Path

import matplotlib
import numpy as np

from bes.graph.catalog import load
from bes.planes import plane
from bes.report.figures import COLORS

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    run = ROOT / "runs" / "demo"
    y = load("citeseer").y.numpy()
    with np.load(run / "embeddings" / "0.npz") as file:
        before, after, boundary = file["before"], file["after"], file["boundary"]
    with np.load(run / "splits" / "0.npz") as file:
        train = file["train"]
    sides = plane([before, after], y, train)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharex=True, sharey=True, layout="constrained")
    for axis, side, title in zip(axes, sides, ("before shaping", "after shaping"), strict=True):
        for c in np.unique(y):
            axis.scatter(*side[y == c].T, s=5, color=COLORS[c], alpha=0.5, linewidths=0, label=f"class {c}")
        axis.scatter(
            *side[boundary].T, s=22, facecolors="none", edgecolors="black", linewidths=0.5, label="boundary nodes"
        )
        axis.set(title=title, xticks=[], yticks=[])
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False, markerscale=3
    )
    figure.savefig(ROOT / "docs" / "images" / "before-after.png", dpi=110)


if __name__ == "__main__":
    main()
