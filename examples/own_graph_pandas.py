"""A graph of your own from two pandas DataFrames: train, predict, and join the predictions to your rows.

You learn: `bes.from_pandas` encodes the columns and says what it did; rows without a label are predicted; predictions
come back under your own ids, so that one `merge` puts them beside the input; and people who come later are predicted by
the saved models, without training again.

Run it: python examples/own_graph_pandas.py [--seeds 2] [--out runs/people]
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import bes
from bes.config import RunConfig
from bes.predict import predict_new, predict_run
from bes.runs import run
from bes.stored import StoredRun
from bes.summary import verdict


def people_and_ties(n: int = 200) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """People of three teams, ties mostly within a team, and the truth about the teams."""
    rng = np.random.default_rng(0)
    number = rng.integers(3, size=n)
    team = pd.Series(np.array(["blue", "green", "red"])[number], name="truth")
    people = pd.DataFrame({"person": [f"p{i:03}" for i in range(n)], "age": rng.normal(25 + 8 * number, 6).round()})
    people["city"] = np.where(rng.random(n) < 0.3, np.array(["Bonn", "Trier", "Ulm"])[number], "Kiel")
    people.loc[rng.random(n) < 0.1, "age"] = np.nan  # some would not say
    people["team"] = team.where(rng.random(n) < 0.5)  # and half of the teams are not known
    ends = rng.integers(n, size=(2, 3000))
    kept = (number[ends[0]] == number[ends[1]]) | (rng.random(3000) < 0.3)
    return people, pd.DataFrame(ends[:, kept].T[:600], columns=["one", "other"]).map(lambda i: f"p{i:03}"), team


def main(seeds: int, out: Path) -> None:
    people, ties, truth = people_and_ties()
    graph = bes.from_pandas(people, ties, label="team", id="person")
    print(f"{graph.n_nodes} people, {graph.n_edges} ties, {graph.n_features} features, classes {graph.class_names}")
    print(*graph.names.notes, sep="\n")
    run(RunConfig.build("people", preset="paper"), graph, list(range(seeds)), out)
    done = StoredRun(out)
    print(verdict(done.records))
    path, chosen = predict_run(done)
    joined = people.assign(truth=truth).merge(pd.read_csv(path), on="person")
    right = (joined["prediction"] == joined["truth"])[joined["team"].isna()]
    print(f"{chosen} It is right for {right.mean():.0%} of {len(right)} people without a team.")
    pd.DataFrame({"person": ["ann"], "age": [24], "city": ["Bonn"]}).to_csv(out / "new.csv", index=False)
    pd.DataFrame({"one": ["ann", "ann"], "other": ["p001", "p002"]}).to_csv(out / "new_ties.csv", index=False)
    predict_new(done, out / "new.csv", out / "new_ties.csv", out / "new_predictions.csv")
    print(pd.read_csv(out / "new_predictions.csv").to_string(index=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/people"))
    main(**vars(parser.parse_args()))
