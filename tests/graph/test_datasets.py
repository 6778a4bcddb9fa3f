from __future__ import annotations

import pytest
import torch

from bes.graph.datasets import CATALOG, lookup
from bes.graph.graph import Graph

PAPER = "wikics cora pubmed citeseer chameleon cornell texas roman_empire ogbn-arxiv ogbl-collab"


def test_the_papers_ten_are_marked():
    assert " ".join(name for name, info in CATALOG.items() if info.paper) == PAPER
    assert all(info.files() for info in CATALOG.values() if info.kind != "generated")


def test_links_and_nodes_are_split_in_files_of_their_own():
    assert CATALOG["ogbl-collab"].files()[-1] == "split/time/*.pt"
    assert CATALOG["ogbn-arxiv"].files()[-2:] == ["raw/node-label.csv.gz", "split/time/*.csv.gz"]


@pytest.mark.parametrize(
    ("name", "expected"), [("CiteSeer", "citeseer"), ("Roman-empire", "roman_empire"), ("ogbn_arxiv", "ogbn-arxiv")]
)
def test_case_and_dashes_do_not_matter(name, expected):
    assert lookup(name).name == expected


def test_unknown_names_are_answered_with_the_nearest(refuses):
    with refuses("Unknown data set 'citeser': did you mean citeseer?"):
        lookup("citeser")
    with refuses("Unknown data set 'qqq'", "cora", ".npz"):
        lookup("qqq")


def test_other_counts_are_refused(refuses):
    graph = Graph(torch.ones(183, 3), torch.zeros(2, 0, dtype=torch.int64), torch.zeros(183, dtype=torch.int64))
    with refuses("'texas' in there", "0 undirected edges", "279 are expected"):
        CATALOG["texas"].check(graph, "there")


def test_no_features_count_as_node_ids(refuses):
    info = CATALOG["roman_empire_nofeat"]
    ring = torch.stack([torch.arange(22_662), (torch.arange(22_662) + 1) % 22_662])
    chords = torch.stack([torch.arange(10_265), torch.arange(10_265) + 5])
    graph = Graph(torch.zeros(22_662, 0), torch.cat([ring, chords], 1), torch.arange(22_662) % 18)
    info.check(graph, "there")
    with refuses("22,662 features"):
        CATALOG["roman_empire"].check(graph, "there")
