"""What the cost model says of 10^9 nodes on 64 machines."""

from __future__ import annotations

from dataclasses import dataclass

from recorded import table

from bes.scale import cost, traffic
from bes.scale.cost import KINDS, Sizes
from bes.scale.memory import ARC, BUILT
from bes.scale.traffic import Traffic
from bes.scale.work import Machine, Work

#: Average degree, width and classes of the graphs.
DEGREE, WIDTH, CLASSES = 14, 64, 10

#: Nodes, machines, and the networks between them in bit a second.
NODES, RANKS, NETWORKS = 10**9, 64, (10e9, 100e9)

#: The share of nodes with a label, and the sample of the displacement.
LABELLED, SAMPLE = 0.01, 10_000

SCALE = """### 10^9 nodes on 64 machines

Assumed: average degree {degree}, {width} features, {width} columns and channels, {classes} classes, one in a hundred
nodes labelled, a displacement by 10,000 nodes; each machine is the measured one; sums go by a ring; computing and
sending do not overlap, and a message costs its bytes alone. Computing is
what the model says, and what is likely: as many times longer as its like in the table of times took at the largest size
(a step for an epoch, all of shaping for a boundary, the displacement for applying a layer), and no less than that took
at the smallest, which is mostly calls. How many halo rows a node costs is taken from cuts by METIS
into 64 parts: {shares}. Memory counts features, embeddings, arcs and operators, the activations of a step, and the
labelled rows that every rank gathers: {memory}.

{table}

{said}"""

#: What growth has measured of the same kind of work.
LIKE = {
    "encoder's epoch, GCN": "encoder step, gcn",
    "decoder's epoch, Cheb": "decoder step",
    "shaping, a layer's boundary": "shaping",
    "shaping, an iteration": "shaping iteration",
    "shaping, applying a layer": "displacement",
}

SLOW = """The longest of these is {longest}. {neighbours} An iteration of shaping hands over {bytes:,.0f} bytes a rank
whatever the number of nodes."""


@dataclass(frozen=True)
class Seen:
    """A stage of growth: measured / predicted at its largest size, and its seconds at the smallest."""

    ratio: float = 1.0
    least: float = 0.0

    def of(self, seconds: float) -> float:
        """What is to be expected where the model says `seconds`."""
        return max(self.least, self.ratio * seconds)


def scale(here: Machine, shares: dict[str, float], seen: dict[str, Seen]) -> str:
    """Memory of a rank, and time and traffic of each stage, for each measured share of halo rows.

    Args:
        seen: By the name of a stage of growth; what is not there is taken as the model says.
    """
    own = NODES / RANKS
    sizes = Sizes(own, own * DEGREE / 2, labelled=LABELLED * NODES)
    rows, longest = [], ("", 0.0)
    for graph, share in shares.items():
        for name, (works, sent) in _stages(sizes, share * NODES).items():
            if not sent.exchanged and any(row[0] == name for row in rows):
                continue  # no halo takes part, so that it is the same for every share
            computing, size = here.takes(works), _sent(sent)
            likely = seen.get(LIKE[name], Seen()).of(computing)
            times = [likely + 8 * size / network for network in NETWORKS]
            told = f"{name}, {_seconds(times[0])} at {NETWORKS[0] / 1e9:.0f} Gbit/s"
            longest = max(longest, (told, times[0]), key=_last)
            halo = f"{share:.2f} ({graph})" if sent.exchanged else "any"
            rows.append([name, halo, _seconds(computing), _seconds(likely), _bytes(size), *map(_seconds, times)])
    header = ["stage", "halo rows a node", "computing, by the model", "likely", "sent a rank"]
    header += [f"together at {network / 1e9:.0f} Gbit/s" for network in NETWORKS]
    memory = [f"{_memory(sizes, share * own) / 2**30:,.0f} GiB a rank ({graph})" for graph, share in shares.items()]
    said = SLOW.format(
        longest=longest[0],
        neighbours=_neighbours(here, sizes, seen.get(LIKE["shaping, a layer's boundary"], Seen())),
        bytes=traffic.shaping_step(2 * WIDTH * WIDTH, RANKS).summed / RANKS,
    )
    return SCALE.format(
        degree=DEGREE,
        width=WIDTH,
        classes=CLASSES,
        shares=", ".join(f"{share:.2f} on {graph}" for graph, share in shares.items()),
        memory=", ".join(memory),
        table=table(header, rows),
        said=said,
    )


def _stages(sizes: Sizes, halo: float) -> dict[str, tuple[list[Work], Traffic]]:
    """Work of a rank, whose share `sizes` are, and traffic of all; `halo` rows are those of all ranks."""
    gcn, cheb, own = KINDS["gcn"], KINDS["cheb"], sizes.labelled / RANKS
    mine = Sizes(sizes.nodes, sizes.edges, labelled=own)
    step = cost.iteration(256 / RANKS, SAMPLE / RANKS, WIDTH, CLASSES)
    return {
        "encoder's epoch, GCN": (
            [*cost.encoder_step("gcn", sizes, ranks=True), *cost.inference("gcn", sizes)],
            traffic.encoder_epoch(gcn, sizes, RANKS, halo),
        ),
        "decoder's epoch, Cheb": (
            [*cost.decoder_step("cheb", sizes), *cost.decoder_inference("cheb", sizes)],
            traffic.decoder_epoch(cheb, sizes, RANKS, halo),
        ),
        "shaping, a layer's boundary": (
            [*cost.region(mine), *cost.neighbours(sizes, asked=own)],
            traffic.shaping_layer(sizes, RANKS, 0),
        ),
        "shaping, an iteration": (step, traffic.shaping_step(2 * WIDTH * WIDTH, RANKS)),
        "shaping, applying a layer": (cost.apply(sizes), Traffic()),
    }


def _sent(all_ranks: Traffic) -> float:
    """Bytes of one rank: its share of exchanges, sums twice by the ring, and gathered rows, which go to everyone."""
    return (all_ranks.exchanged + 2 * all_ranks.summed) / RANKS + all_ranks.gathered


def _neighbours(here: Machine, sizes: Sizes, seen: Seen) -> str:
    """How much of a layer's boundary is the search that every rank makes among all labelled rows."""
    near = seen.of(here.takes(cost.neighbours(sizes, asked=sizes.labelled / RANKS)))
    rows = f"{sizes.labelled:,.0f} labelled rows"
    return f"Of a layer's boundary {near:,.0f} s are neighbours: every rank puts all {rows} in cells."


def _memory(sizes: Sizes, halo: float) -> float:
    """Bytes of a rank: arrays of nodes, arcs with what operators are built from, activations, gathered rows."""
    per_node = 4 * (sizes.features + 4 * sizes.columns)  # features, embeddings before and after two layers, a copy
    step = 4 * (sizes.nodes * 4 * (sizes.hidden + sizes.classes) + halo * sizes.hidden)
    return sizes.nodes * per_node + 2 * sizes.edges * (ARC + BUILT) + step + sizes.labelled * (4 * sizes.columns + 24)


def _bytes(size: float) -> str:
    return f"{size / 1e9:,.2f} GB" if size > 1e7 else f"{size / 1e3:,.1f} kB"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value >= 1 else f"{1000 * value:.2f} ms"


def _last(pair: tuple[str, float]) -> float:
    return pair[1]
