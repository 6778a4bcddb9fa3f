"""The sentences of the page of speed; every number in them comes from what was measured."""

from __future__ import annotations

#: Ratios that a training step must reach, by graph and convolution.
BARS = {
    ("cora", "gcn"): 3.0,
    ("cora", "cheb"): 15.0,
    ("cora", "sage"): 6.0,
    ("pubmed", "gcn"): 2.0,
    ("pubmed", "cheb"): 6.0,
    ("pubmed", "sage"): 3.0,
}

#: Share of the memory's bandwidth that sparse products should reach, and the steepest growth that is allowed.
SHARE, STEEPEST = 0.6, 1.1

HEAD = """# Speed

Written by `bes bench speed` from what it measured: {stamp}.

Whatever is compared is measured in one process, in turns, and by medians, so that a slow moment of the machine
slows both sides. Ratios can be compared between machines, milliseconds cannot.
{busy}
![speed]({figure})
"""

#: What is said where others were at work on the machine.
BUSY = """
**Not to be quoted: {over} of {all} timings were taken while more processes were at work than there are cores.** Fresh
memory then costs many times as much, which hits those that ask for most of it: ratios come out too large. Measure again
on a quiet machine.
"""

CONV = """## One training step against PyTorch Geometric

Forward, backward and Adam of two layers, 64 wide, on the full graph: ours / PyTorch Geometric, in milliseconds, and
the ratio. Ours is what a step of `bes run` does: sparse features, cached operators with their transposes, fused
Adam. PyTorch Geometric's is its usual example: dense features, its layers as they come, Adam. Both with torch as it
comes, in a process of their own.

{table}

The least ratio is {least}: {slower}. Of the {asked} ratios that are asked for ({bars}), {held} hold.{absent}
"""

CACHED = """
GCN's product moves its bytes at {at_small:.0%} of the triad's rate on {small} and at {at_large:.0%} on {large}. Above
100% they come from a cache and not from the memory. Between the two it grows with the power {power:.2f} of its bytes,
and stages that consist of such products grow with it.
"""

HUGE = """
The same with huge pages for both, which `bes` asks for and a user of PyTorch Geometric can ask for
(`THP_MEM_ALLOC_ENABLE=1`):

{table}

Of {all} ratios {fell} are smaller so: the rival's large dense arrays are fresh memory in each step. Of those that are
asked for, {held} of {asked} hold so{missed}, and {slower}.
"""

STAGES = """## Stages of a run

The median over three seeds of each stage of `bes run`, and the shaping stage against the training of the encoders
that it follows.

{table}
"""

PRODUCTS = """## Large dense products

Forward and backward of a linear map as layers make it (`bes.products`), and by torch's own.

{table}

{by}
"""

BY_ONEDNN = (
    """On this processor they go to oneDNN: MKL, which torch calls, has its widest instructions for Intel's alone."""
)

BY_TORCH = """On this processor both are the same: large products go to oneDNN only where MKL, which torch calls, does
not use the widest instructions that there are."""

LIMITS = """## Products against this machine's limits

Measured limits: {measured}. A product's limit is the roofline: the longer of the time in which the bytes that it must
move would pass at the rate that the triad reached in the same turns, and of that in which the flops that it must do
would be done at the rate of the large product. Dense products are torch's own here.

{table}

The bytes of a sparse product are the matrix once (4 for a value and 4 for an index an entry), the result once, and
a row of the dense factor for each entry: the graph has no order in its nodes, so that a row is not in a cache when
it is needed. {low}
"""

#: What is said of sparse products that stay below `SHARE`.
LOW = """Below {share:.0%} here: {names}. The limit is that of reading along an array. Rows in random order, copied
and nothing else done to them, reach {random:.0%} of it: that is what the memory gives to a graph without order in its
nodes, and the best of the sparse products stands at {best:.0%} of that."""

#: What the parts of products took by themselves.
PARTS = """
The last two columns are a measured ceiling: what the parts of a product took by themselves, in the same turns. For a
sparse product these are reading the same rows in the same order (added up by the thousand, so that next to nothing is
written), the result as memory that nobody has touched yet, and the matrix at the triad's rate; for the dense product as
many rows of one block that stays in a cache, the result likewise, and its input at the triad's rate. {said}
"""

READ = """Reading the rows alone takes {low:.0%} to {high:.0%} of the time of the sparse products, which reach
{least:.0%} to {most:.0%} of their ceiling."""

DENSE = """The dense product does {intensity:.1f} flops a byte, where this machine's limits meet at {balance:.1f}: its
roof is set by {bound}, at {roof:.1f} GFLOP/s, of which it reaches {share:.0%}. With its block in a cache, where no
memory is in the way, the product of this shape reaches {cached:.0%} of the roof, and into memory that is there
{placed:.0%}; asking for a fresh result costs {fresh:.0%} of its time."""

GROWTH = """## Growth

Block graphs with an average degree of 14 and 64 features; each stage and size in a process of its own. Time is the
stage's median, for shaping that of the whole command `bes shape` (two layers of 200 iterations, half of the nodes
labelled, classes that overlap{sample}). Memory is the peak of the process seen from outside, reading the graph
included. `encoders` is a GCN and `decoder` a decoder, both trained for twenty epochs from their first weights: what
they make once, such as the propagation of what does not change, steps, scores, and the result for all nodes. Exponents
are between 100,000 and 1,000,000 nodes: of the processor's time, which others at work on the machine disturb least, of
the clock's, and of the peak; for shaping, and for all peaks, after subtracting what the same command takes on a
thousand nodes, which is the interpreter and its libraries.

{table}

{said}
"""

#: What stages consist of.
PARTED = """
Parts of these stages by themselves. `inference` is that of a graph not seen before, whose features are propagated
first.

{table}

{said}
"""

#: How the displacement was measured where shaping has a sample.
SAMPLED = ", and above {sample:,} nodes the displacement by a sample of so many, `displacement_sample={plain}`"

#: How many iterations shaping took, by size.
STEPS = "Iterations that shaping took: {steps}."

#: What is said of exponents above `STEEPEST`.
STEEP = """Above {steepest}: {names}. For time a likely reason: 64 numbers a node of 100,000 nodes are 26 MB, which a
large last cache holds, and of 1,000,000 nodes 256 MB, where neighbours are fetched from memory in random order (its
share is above)."""

#: Shaping's own.
CELLS = """Shaping looks for neighbours of n labelled nodes in 4 sqrt(n) cells, whose flops grow as n^1.5: by the cost
model that is {share:.0%} of its flops at {nodes:,} nodes."""
