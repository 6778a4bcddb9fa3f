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

"Hard" holds the test edges against hard negatives, half of them two hops apart and half matched by degree.

## Every arm

{main}

## Hard negatives

AUC of the same test edges against pairs that are two hops apart in the message graph, and against pairs whose
replaced end has the same degree. Where a method is at 50 or below, what it had learned was who is near whom, or who
has many links.

{hard}

## What the shaper saw and did

{boundary}

## The paper's figures beside ours

{paper}

Why they differ: the paper's link prediction code is not published, and where its figures are above these, they are
above what a clean protocol gives to the very same baselines. A common leak is to take the two directions of an edge
for two edges: the reverse of a test edge then passes messages in training, and any encoder that mixes neighbours can
read the answer off. Popular splitting code does so by default. The table below shows what that leak alone is worth to
our GCN, trained and chosen in the same way. We cannot know whether that is what happened; we can only say that with
both directions in one part, messages over training edges alone, negatives that were never trained on, and thresholds
and epochs chosen on validation, the figures here are what remains. The paper does not say either which encoders its
link prediction shaped, with what labels, or which negatives it used; its row "encoders without shaping" equals the
printed accuracy of other methods (IGCL on Cora and CiteSeer, MotifRGC-GAT on PubMed). Its differences between rows
may still hold; its levels cannot be compared with these.

{leak}

## Time

Medians over the seeds, two seeds at a time with one thread each; the peak is the process's. The run `plain` trains
two more networks and decodes one more arm than `labels`.

{time}
"""

README_TEXT = """Test AUC in percent over ten random 60/20/20 splits of the edges, epochs chosen on validation,
differences paired by split, mean ± standard error. {overall} Written from `results/links.jsonl.gz` by `make links`.

{shaped}"""
