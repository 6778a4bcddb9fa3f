"""What the suites share: names that exist, and the configurations that each protocol gives."""

from __future__ import annotations

import pytest

from bes.bench.model import PAIRED
from bes.bench.suites.settings import DATASETS, HONEST, LEAK, METHODS, PEEK, link_config, node_config
from bes.graph.datasets import CATALOG
from bes.models.baselines import METHODS as BUILT
from bes.presets import PAPER_ENCODERS


def test_names_of_the_paper_lead_to_what_is_here() -> None:
    assert set(DATASETS.values()) <= set(CATALOG)
    assert len(set(DATASETS.values())) == len(DATASETS)
    assert set(METHODS.values()) <= {*BUILT, *PAIRED}
    papers = {name for name, info in CATALOG.items() if info.paper}
    assert papers <= set(DATASETS.values()), "a data set of the paper that no suite can name"


@pytest.mark.parametrize("dataset", [name for name in DATASETS.values() if name != "ogbl-collab"])
def test_nodes_are_split_at_random_but_for_ogb(dataset: str) -> None:
    honest, peek = node_config(dataset), node_config(dataset, protocol=PEEK)
    assert honest.split == ("mask" if dataset == "ogbn-arxiv" else "random")
    assert (honest.task, honest.preset, honest.rivals) == ("node", "paper", ())
    assert honest.encoders.names == PAPER_ENCODERS.get(dataset, PAPER_ENCODERS["*"])
    assert (honest.selection, peek.selection) == ("validation", "test-peek")
    assert peek.model_copy(update={"selection": "validation"}) == honest, "nothing else differs"


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed", "wikics", "ogbl-collab"])
def test_links_leak_only_where_the_protocol_says_so(dataset: str) -> None:
    honest, leaky = link_config(dataset), link_config(dataset, protocol=LEAK)
    assert honest.split == ("official" if dataset == "ogbl-collab" else "random")
    assert (honest.task, honest.rivals, honest.selection) == ("link", (), "validation")
    assert (honest.links.message, leaky.links.message) == ("train", "all")
    same = leaky.links.model_copy(update={"message": "train"})
    assert leaky.model_copy(update={"links": same}) == honest, "nothing else differs"


def test_what_is_set_is_set_and_the_rest_stays() -> None:
    for make in (node_config, link_config):
        changed, plain = make("cora", {"shaper": {"tau": 2.0}}), make("cora")
        assert changed.shaper.tau == 2.0 != plain.shaper.tau
        back = changed.shaper.model_copy(update={"tau": plain.shaper.tau})
        assert changed.model_copy(update={"shaper": back}) == plain


def test_one_protocol_is_honest() -> None:
    assert [protocol.honest for protocol in (HONEST, PEEK, LEAK)] == [True, False, False]
