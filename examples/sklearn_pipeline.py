"""Shape embeddings inside a scikit-learn pipeline, and choose the shaper's options by cross-validation.

You learn: `BoundaryShaper` is a scikit-learn transformer, so that `Pipeline`, `GridSearchCV` and `clone` take it as any
other; the option `n_layers=0` is the same pipeline without shaping, and belongs into the grid so that shaping has to
earn its place; and `unit="spread"` spares you from guessing the scale of the embeddings.

Run it: python examples/sklearn_pipeline.py
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import bes


def main() -> None:
    pixels, digit = load_digits(return_X_y=True)
    pixels = pixels + np.random.default_rng(0).normal(scale=6.0, size=pixels.shape)  # so that digits overlap
    train_x, test_x, train_y, test_y = train_test_split(pixels, digit, test_size=0.3, stratify=digit, random_state=0)

    pipeline = make_pipeline(
        PCA(16, random_state=0),  # stands for any encoder: what matters is that rows become vectors
        bes.BoundaryShaper(n_iter=50, unit="spread", random_state=0),
        KNeighborsClassifier(),  # reads distances, which is what shaping changes
    )
    grid = [
        {"boundaryshaper__n_layers": [0]},  # shapes nothing: the control
        {"boundaryshaper__n_layers": [1, 2], "boundaryshaper__alpha": [0.001, 0.005]},
    ]
    search = GridSearchCV(pipeline, grid, cv=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Layer .* found no boundary nodes")
        search.fit(train_x, train_y)

    for options, score, spread in zip(
        search.cv_results_["params"],
        search.cv_results_["mean_test_score"],
        search.cv_results_["std_test_score"],
        strict=True,
    ):
        print(f"{options}: cross-validated accuracy {100 * score:.2f} (std {100 * spread:.2f})")
    print("chosen:", search.best_params_)
    shaper = search.best_estimator_["boundaryshaper"]
    print("boundary rows by layer:", [len(rows) for rows in shaper.boundary_])
    print(f"test accuracy of the chosen pipeline, looked at once: {100 * search.score(test_x, test_y):.2f}")


if __name__ == "__main__":
    main()
