"""What the page on links says around its tables, and the figures that the paper prints."""

#: Accuracy (Table 1, columns LP) and AUC (Table "F1 and AUC of Link Prediction") as the paper prints them, in percent.
#: "Encoders without shaping" is row "Enc" of the ablation for link prediction, which has no AUC.
PAPER = {
    "GCN": {"cora": ("92.30", "96.45"), "citeseer": ("95.30", "98.75"), "pubmed": ("93.70", "97.87")},
    "GraphSAGE": {"cora": ("90.67", "95.79"), "citeseer": ("91.59", "96.73"), "pubmed": ("88.30", "94.69")},
    "Cheb": {"cora": ("90.42", "95.00"), "citeseer": ("89.20", "95.47"), "pubmed": ("87.34", "94.64")},
    "encoders without shaping": {"cora": ("92.98", "-"), "citeseer": ("95.60", "-"), "pubmed": ("97.64", "-")},
    "BES": {"cora": ("94.45", "99.03"), "citeseer": ("96.27", "99.27"), "pubmed": ("97.89", "99.68")},
}

TEXT = """# Link prediction without leaks

Written by `make links` on {date}; {machine}; {versions}.
Every figure comes from `results/links.jsonl.gz`, one record a seed and arm.

{overall}

Random 60/20/20 splits of the edges, seeds 0 to 9; both directions of an edge in one part; messages pass over training
edges only; one fixed negative for each held-out edge, uniform over the pairs without an edge; training negatives
fresh in each step. Encoders (GCN and GraphSAGE, 64 wide) are trained end to end on the link loss, then frozen; all
arms of a run share them, the split and the decoder's seed. Epochs are chosen by the validation AUC, the threshold of
accuracy and F1 by the validation accuracy. `docs/links.md` has the protocol and the three boundaries. Percent, mean ±
standard error; differences are paired by split.

## What shaping changed

Each shaped arm minus the control of its own run. Under `classes` both get the labels of the training nodes as
features, so that run has a control of its own.

{shaped}

Columns after the control's AUC are differences. "Hard" holds the test edges against hard negatives, two hops apart
and matched by degree. "At the boundary" is not given for `clusters`, which shares its run, and so the test pairs at the
boundary, with `pairs`.

## Every arm

{main}

## Hard negatives

AUC of the same test edges against pairs that are two hops apart in the message graph, and against pairs in which one
end is replaced by a node of about the same degree. Every pair two hops apart has a common neighbour, and on sparse
graphs most test edges have none: counting common neighbours is then worse than chance by construction. Against pairs
matched by degree, preferential attachment is at 50 by construction.

{hard}

## What the shaper saw and did

{boundary}

## The paper's figures beside ours

{paper}

Why they differ: the paper's link prediction code is not published, so what follows is what we can say without it. A
common leak is to take the two directions of an edge for two edges: the reverse of a test edge then passes messages in
training, and an encoder that mixes neighbours can read the answer off. The next table shows what that leak alone is
worth to our GCN, trained and chosen in the same way: compare its columns with the paper's. We cannot know whether
this is what happened. The paper's models also differ from ours: it decodes with Chebyshev convolutions where our main
decoder is an MLP on the Hadamard product, and it names neither the encoders that its link prediction shaped, nor
their labels, nor its negatives; its row "encoders without shaping" equals the printed accuracy of other methods (IGCL
on Cora and CiteSeer, MotifRGC-GAT on PubMed). What we can vouch for is our side: both directions in one part,
messages over training edges alone, training negatives that avoid training edges only, epochs and thresholds chosen on
validation. Levels cannot be compared across such differences; our answer to whether shaping helps is the paired
difference above.

{leak}

Accuracy and AUC of the GCN by itself, in percent. In the leaky run the message graph is undirected, as everywhere
here, so that the reverse of a test edge passes messages both ways.

## Other decoders, the other split, classes of edges

{side}

`edge` predicts whether an edge joins two nodes of one class (Eq. 2); its AUC is the mean over both classes.

## Time

Medians over the seeds, two seeds at a time with one thread each; the peak is the process's. The run `plain` trains
two more networks and decodes one more arm than `labels`.

{time}
"""

README_TEXT = """Link prediction over ten random 60/20/20 splits of the edges, in percent, mean ± standard error; epochs
chosen on validation; columns after the control's AUC are differences, bes - control, paired by split. {overall}
Written from `results/links.jsonl.gz` by `make links`.

{shaped}"""
