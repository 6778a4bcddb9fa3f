"""LinkSplit: which edges are learned from, select and test, without a way from the held-out ones to the model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from bes import seeding
from bes.errors import InputError
from bes.graph import negatives
from bes.graph.arrays import load_arrays
from bes.graph.disjoint import check_disjoint, read_pairs
from bes.graph.edges import PAIRS
from bes.graph.graph import Graph
from bes.graph.pairs import PairSplit, among, at_most, check_fractions
from bes.metrics import auc, hits

#: Edges that pass messages when test pairs are scored; `all` lets the held-out ones pass them always, which is a leak.
Message = Literal["train", "train+val", "all"]

#: What validation selects by.
Select = Literal["auc", "hits@50"]

#: Held-out pairs by part: edges and negatives share `val` and `test`; the rest are harder negatives of the test edges.
PARTS = ("val", "test", "two_hop", "degree")


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkSplit(PairSplit):
    """Training edges, held-out edges and their fixed negatives; each unordered pair is in one part.

    `graph` holds the training edges and nothing else of the structure. At construction it is checked
    that no held-out edge is a training edge or in another part, in either direction, and that no negative is
    an edge. Hard negatives are another test set: a few of them may also be uniform negatives.

    Args:
        train: Training edges `[2, E]`.
        message: `train`, or `train+val` to let validation edges pass messages when test pairs are
            scored (and only then); `all` for `graph` to hold every edge, the test ones too: a leak, which exists
            only to say what such a protocol gains, and is a note in the record.
        select: `auc`, or `hits@50` as OGB does for ogbl-collab.
        repeats: Whether held-out edges may repeat earlier ones: for splits by time only, where two
            authors may write together again. How many do is a note in the record.
    """

    train: Tensor
    message: Message = "train"
    select: Select = "auc"
    repeats: bool = False
    _edges: dict[str, Tensor] = field(repr=False)
    _negatives: dict[str, Tensor] = field(repr=False)

    def __post_init__(self) -> None:
        held = self.held()
        leaky = self.message == "all"
        check_disjoint(self.graph, held.pop("train"), held, self.name, repeats=self.repeats, leaky=leaky)

    @property
    def notes(self) -> list[str]:
        if self.message == "all":
            return ["Messages pass over the validation and test edges too: a leak, so these figures are not honest."]
        if not self.repeats:
            return []
        known = {part: negatives.contains(self._train_keys, self._keys(part)).sum().item() for part in self._edges}
        said = [f"{known[part]} of {self._edges[part].shape[1]} {part} edges" for part in known]
        return [f"{' and '.join(said)} are training edges too, as the split '{self.name}' allows."]

    def _keys(self, part: str) -> Tensor:
        return negatives.pair_keys(self._edges[part], self.graph.n_nodes)

    @property
    def parts(self) -> tuple[str, ...]:
        return PARTS

    @cached_property
    def test_graph(self) -> Graph:
        if self.message != "train+val":
            return self.graph
        return replace(self.graph, edge_index=torch.cat([self.graph.edge_index, self._edges["val"]], dim=1))

    @cached_property
    def _parts(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Pairs and classes by part, smaller node first and sorted, so that neither order tells the class."""
        found = {}
        for part in PARTS:
            edges, others = self._edges.get(part), self._negatives[part]
            both = others if edges is None else torch.cat([edges, others], dim=1)
            link = torch.zeros(both.shape[1], dtype=torch.long, device=both.device)
            link[: 0 if edges is None else edges.shape[1]] = 1
            keys = torch.sort(negatives.pair_keys(both, self.graph.n_nodes), stable=True)
            found[part] = negatives.key_pairs(keys.values, self.graph.n_nodes), link[keys.indices]
        return found

    def pairs(self, part: str) -> Tensor:
        return self._parts[part][0]

    def reveal(self, part: str) -> Tensor:
        return self._parts[part][1]

    @cached_property
    def _train_keys(self) -> Tensor:
        keys: Tensor = negatives.pair_keys(self.train, self.graph.n_nodes).unique()
        return keys

    def training_pairs(self, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Training edges, `limit` of them at most, and as many fresh negatives.

        Negatives avoid the training edges only: avoiding the held-out ones would tell the model where they are.
        """
        edges = at_most(self.train, limit, rng)
        return _with_negatives(edges, self.graph.n_nodes, self._train_keys, edges.shape[1], rng)

    def training_pairs_among(self, nodes: Tensor, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        found, _ = among(self.train, nodes, self.graph.n_nodes)
        n = nodes.numel()
        keys = negatives.pair_keys(found, n).unique()
        edges = at_most(found, limit, rng)
        free = n * (n - 1) // 2 - keys.numel()  # a small dense part may have fewer pairs without an edge than edges
        return _with_negatives(edges, n, keys, min(free, edges.shape[1]), rng)

    def quality(self, logits: Tensor, truth: Tensor) -> float:
        positive, negative = logits[truth == 1, 0], logits[truth == 0, 0]
        return auc(positive, negative) if self.select == "auc" else hits(positive, negative, 50)

    def to(self, device: torch.device | str) -> LinkSplit:
        if torch.device(device) == self.graph.device:
            return self
        edges = {part: pairs.to(device) for part, pairs in self._edges.items()}
        others = {part: pairs.to(device) for part, pairs in self._negatives.items()}
        return replace(self, graph=self.graph.to(device), train=self.train.to(device), _edges=edges, _negatives=others)

    def held(self) -> dict[str, Tensor]:
        others = {_key(part): pairs for part, pairs in self._negatives.items()}
        return {"train": self.train, **self._edges, **others}

    @classmethod
    def load(cls, path: Path, graph: Graph, *, repeats: bool = False) -> LinkSplit:
        """A split that `save` wrote, over the features of `graph`; messages pass over its training edges."""
        arrays = load_arrays(path)
        pairs = {key: read_pairs(arrays, key, path, graph) for key in ("train", "val", "test", *map(_key, PARTS))}
        held = {part: pairs[part] for part in ("val", "test")}
        others = {part: pairs[_key(part)] for part in PARTS}
        return _build(graph, pairs["train"], held, others, str(arrays.get("name", "saved")), repeats=repeats)


def _with_negatives(
    edges: Tensor, n_nodes: int, taken: Tensor, count: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Edges and `count` fresh pairs that are not `taken` (sorted keys), with their classes, 1 and 0."""
    others = negatives.uniform(count, n_nodes, taken, rng)
    link = torch.zeros(edges.shape[1] + count, dtype=torch.long, device=edges.device)
    link[: edges.shape[1]] = 1
    return torch.cat([edges, others], dim=1), link


def _key(part: str) -> str:
    return f"{part}_negatives"


def split_links(graph: Graph, train: float = 0.6, val: float = 0.2, seed: int = 0) -> LinkSplit:
    """A random split of the edges; the rest is test. Both directions of an edge are one edge.

    Validation and test get as many negatives as edges, uniform over the pairs without an edge.
    """
    check_fractions(train, val)
    n = graph.n_nodes
    keys = negatives.pair_keys(graph.edge_index.cpu(), n).unique()
    count = keys.numel()
    first = round(train * count)
    second = first + round(val * count)
    if not 0 < first < second < count:
        raise InputError(
            f"Graph '{graph.name}' has {count} edges, too few for train={train:g} and val={val:g}: each part needs one."
        )
    order = torch.randperm(count, generator=seeding.generator(seed, "links"))
    edges = negatives.key_pairs(keys[order], n)
    held = {"val": edges[:, first:second], "test": edges[:, second:]}
    others = {"val": negatives.uniform(second - first, n, keys, seeding.generator(seed, "negatives", "val"))}
    taken = torch.cat([keys, negatives.pair_keys(others["val"], n)]).sort().values
    others["test"] = negatives.uniform(count - second, n, taken, seeding.generator(seed, "negatives", "test"))
    percents = "/".join(f"{100 * share:.10g}" for share in (train, val, 1 - train - val))
    name = "random" if percents == "60/20/20" else f"random:{percents}"
    return _build(graph, edges[:, :first], held, _harder(edges[:, :first], held, others, keys, n, seed), name)


def official_links(graph: Graph, seed: int = 0, *, repeats: bool = False) -> LinkSplit:
    """The source's own split, such as ogbl-collab's by years: its edges train, its `pairs` are held out."""
    missing = [key for key in PAIRS if key not in graph.pairs or graph.pairs[key].shape[1] == 0]
    if missing:
        raise InputError(f"Graph '{graph.name}' has no '{missing[0]}' for split 'official': use --split random.")
    held = {part: graph.pairs[f"{part}_edges"].cpu() for part in ("val", "test")}
    others = {part: graph.pairs[_key(part)].cpu() for part in ("val", "test")}
    n = graph.n_nodes
    train = negatives.key_pairs(negatives.pair_keys(graph.edge_index.cpu(), n).unique(), n)
    keys = negatives.pair_keys(torch.cat([train, *held.values()], dim=1), n).unique()
    return _build(graph, train, held, _harder(train, held, others, keys, n, seed), "official", repeats=repeats)


def make_link_split(
    graph: Graph,
    spec: str = "random",
    seed: int = 0,
    *,
    message: Message = "train",
    select: Select = "auc",
    repeats: bool = False,
) -> LinkSplit:
    """The split that `spec` names: `random` (60/20/20) · `random:85/5/10` or other percents · `official`."""
    kind, colon, argument = spec.partition(":")
    shares = argument.split("/") if colon else ["60", "20", "20"]
    percents = [int(share) for share in shares if share.isdecimal()]
    if spec == "official":
        split = official_links(graph, seed, repeats=repeats)
    elif kind == "random" and len(percents) == len(shares) == 3 and sum(percents) == 100:
        split = split_links(graph, percents[0] / 100, percents[1] / 100, seed)
    else:
        raise InputError(f"The link split '{spec}' is not known: use random, random:85/5/10 or official.")
    if message == "all":
        every = torch.cat([split.train, *split._edges.values()], dim=1)
        split = replace(split, graph=replace(split.graph, edge_index=every), message="all")
    return replace(split, message=message, select=select)


def _harder(
    train: Tensor, held: dict[str, Tensor], others: dict[str, Tensor], edges: Tensor, n: int, seed: int
) -> dict[str, Tensor]:
    """`others` with hard negatives of the test edges: made from the training edges, and none of `edges` (keys)."""
    both = torch.cat([train, train.flip(0)], dim=1)
    both = both[:, torch.sort(both[0], stable=True).indices]
    rng = seeding.generator(seed, "negatives", "hard")
    return {
        **others,
        "two_hop": negatives.two_hop(held["test"].shape[1], both, n, edges, rng),
        "degree": negatives.degree_matched(held["test"], torch.bincount(both[0], minlength=n), edges, rng),
    }


def _build(
    graph: Graph,
    train: Tensor,
    held: dict[str, Tensor],
    others: dict[str, Tensor],
    name: str,
    *,
    repeats: bool = False,
) -> LinkSplit:
    device = graph.device
    blind = torch.full((graph.n_nodes,), -1, device=device)
    return LinkSplit(
        graph=Graph(graph.x, train.to(device), blind, graph.name),
        name=name,
        train=train.to(device),
        repeats=repeats,
        _edges={part: pairs.to(device) for part, pairs in held.items()},
        _negatives={part: pairs.to(device) for part, pairs in others.items()},
    )
