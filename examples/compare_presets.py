"""Two configurations over the same splits, and one report that holds them against each other.

You learn: a configuration is one object that names everything a run depends on; runs with the same seeds have the same
splits, so that their figures can be paired; a run that is called again goes on where it was; and `bes report` (here
from Python) puts any number of runs side by side, with the settings in which they differ.

Run it: python examples/compare_presets.py [--seeds 3] [--out runs/presets]
"""

import argparse
from pathlib import Path

from bes.config import RunConfig
from bes.graph.synthetic import sbm
from bes.report.compare import find_runs, write_comparison
from bes.runs import run
from bes.stored import StoredRun
from bes.summary import Summary, values, verdict

PRESETS = ("paper", "strong")


def main(seeds: int, out: Path) -> None:
    graph = sbm(n_nodes=400, n_classes=4, n_features=16, degree=6.0, noise=0.3, separation=1.5)
    by_preset = {}
    for preset in PRESETS:
        config = RunConfig.build("sbm", preset=preset, settings=["encoders.epochs=100", "decoder.epochs=100"])
        run(config, graph, list(range(seeds)), out / preset)
        done = StoredRun(out / preset)
        by_preset[preset] = values(done.records, "control", "acc", "val")
        print(f"{preset} (encoders {', '.join(config.encoders.names)}): {verdict(done.records)}")

    paper, strong = (by_preset[preset] for preset in PRESETS)
    change = Summary.of([strong[seed] - paper[seed] for seed in paper])  # paired by split
    print(f"other encoders change the control's validation accuracy by {change.text(signed=True)} points")
    print("comparison:", write_comparison(find_runs([out]), out / "comparison.html"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/presets"))
    main(**vars(parser.parse_args()))
