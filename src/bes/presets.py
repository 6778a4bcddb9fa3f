"""What the paper uses for which data set, and the presets that bundle options."""

from typing import Any

#: Every encoder by its name in `bes.models.convs`, which loads torch: the shell's completion cannot wait for that.
ENCODERS = ("gcn", "cheb", "gat", "gatv2", "sgc", "ssgc", "sage", "kgnn", "mlp")

#: The paper's encoder pairs; `*` is for graphs it does not know.
PAPER_ENCODERS: dict[str, tuple[str, ...]] = {
    "cora": ("cheb", "gcn"),
    "citeseer": ("sgc", "ssgc"),
    "pubmed": ("cheb", "kgnn"),
    "wikics": ("cheb", "gatv2"),
    "chameleon": ("sage", "kgnn"),
    "chameleon_filtered": ("sage", "kgnn"),
    "cornell": ("cheb", "kgnn"),
    "texas": ("cheb", "sage"),
    "roman_empire": ("cheb", "kgnn"),
    "ogbn-arxiv": ("cheb", "gatv2"),
    "ogbl-collab": ("sage",),
    "arxiv-like": ("cheb", "gatv2"),
    "*": ("gcn", "cheb"),
}

#: The paper's decoders, Chebyshev but for these.
PAPER_DECODER: dict[str, str] = {"chameleon": "sage", "chameleon_filtered": "sage", "*": "cheb"}

#: `paper`: the equations, unclear points settled as in the README's table. `official`: as far as the
#: authors' code differs from the paper. `strong`: what we recommend for nodes, the same for every graph; for pairs it
#: is what `paper` is.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "official": {
        "shaper": {
            "n_layers": 1,
            "scope": "self",
            "init": "random",
            "hinge": "rival",
            "update": "official",
            "alpha": 1.0,
            "alpha_unit": "total",
            "unit": "absolute",
        },
        "decoder": {"norm": "batch"},
    },
    "strong": {
        "features": "unit",
        "shaping": "encoders",
        "encoders": {
            "names": ("gcn", "sage", "cheb", "mlp"),
            "keep": 2,
            "channels": 64,
            "epochs": 400,
            "patience": 100,
        },
    },
}

#: Presets that only nodes have.
FOR_NODES = frozenset({"strong"})

#: What a link or edge run is unless told otherwise, chosen on validation (docs/research-log.md).
PAIRS: dict[str, Any] = {
    "features": "length",
    "encoders": {"channels": 64, "epochs": 300, "patience": 50},
    "decoder": {"patience": 30},
    "shaper": {"unit": "spread", "alpha": 1e-4},
}

#: Arms that cost little and say much beside a link run.
LINK_RIVALS = ("cn", "aa", "ra", "pa", "cosine", "mlp")


def preset_options(name: str, task: str) -> dict[str, Any]:
    """What a preset sets."""
    return {} if task != "node" and name in FOR_NODES else PRESETS[name]


def defaults(task: str, dataset: str, split: str | None) -> dict[str, Any]:
    """What a run is before presets and settings: by the task, and by what the paper uses for the data set.

    Args:
        split: The data set's own node split; empty or None where there is none.
    """
    if task == "node":
        encoders, decoder = (table.get(dataset, table["*"]) for table in (PAPER_ENCODERS, PAPER_DECODER))
        return {"split": split or "random", "encoders": {"names": encoders}, "decoder": {"kind": decoder}}
    hits = {"select": "hits@50", **({"repeats": True} if dataset == "ogbl-collab" else {})}
    collab = dataset in ("ogbl-collab", "collab-like")  # the only one whose encoder for links the paper names
    return {
        "split": "official" if dataset == "ogbl-collab" and task == "link" else "random",
        "rivals": LINK_RIVALS if task == "link" else ("mlp",),
        "features": PAIRS["features"],
        "encoders": {**PAIRS["encoders"], "names": ("sage",) if collab else ("gcn", "sage")},
        "decoder": {**PAIRS["decoder"], "kind": "dot" if collab else "mlp"},
        "shaper": PAIRS["shaper"],
        "links": hits if collab and task == "link" else {},
    }
