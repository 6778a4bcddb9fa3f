"""Every rival of the paper and the references beside them, by the names that `bes run --method` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bes.errors import InputError
from bes.models.baselines.acm import ACMGCN
from bes.models.baselines.correct_and_smooth import CorrectAndSmooth
from bes.models.baselines.gprgnn import GPRGNN
from bes.models.baselines.graphecl import GraphECL
from bes.models.baselines.h2gcn import H2GCN
from bes.models.baselines.igcl import IGCL
from bes.models.baselines.label_propagation import LabelPropagation
from bes.models.baselines.linear import SGC, SSGC
from bes.models.baselines.method import Method
from bes.models.baselines.motifrgc import MotifRGC
from bes.models.baselines.mpnn import MPNN
from bes.models.baselines.nodeimport import NodeImport
from bes.models.baselines.prototypes import Prototypes
from bes.models.baselines.pseudo_label import PseudoLabel
from bes.models.baselines.self_shaped import SelfShaped
from bes.models.baselines.sgnn import SGNN
from bes.models.baselines.shaped import Shaped
from bes.models.baselines.strong import Strong
from bes.models.baselines.supcon import SupCon
from bes.models.baselines.two_layer import TwoLayer
from bes.models.convs import pick


@dataclass(frozen=True)
class Entry:
    """A method by name.

    Attributes:
        what: In a few words.
        kind: The class that does it.
        fixed: Options that the name stands for.
    """

    what: str
    kind: type[Method]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """The options that can be set, with their defaults."""
        return {one.name: one.default for one in fields(self.kind) if one.name not in self.fixed}


def _two_layers(conv: str, title: str) -> Entry:
    return Entry(f"Two layers of {title}", TwoLayer, {"conv": conv})


#: What some methods stand on.
NETS = ("gcn", "gat", "sage")

METHODS: dict[str, Entry] = {
    # The paper's rivals, in the order of its table 1.
    "kgnn": _two_layers("kgnn", "k-GNN"),
    "gcn": _two_layers("gcn", "GCN"),
    "cheb": _two_layers("cheb", "Chebyshev filters of order 3"),
    "gat": _two_layers("gat", "GAT, one head"),
    "sgc": _two_layers("sgc", "SGC with a ReLU between, as the paper has it"),
    "ssgc": _two_layers("ssgc", "SSGC with a ReLU between, as the paper has it"),
    "sage": _two_layers("sage", "GraphSAGE with means"),
    "gatv2": _two_layers("gatv2", "GATv2, one head"),
    "h2gcn": Entry("H2GCN: ego, one hop and strict two hops apart", H2GCN),
    "sgnn": Entry("SGNN: single layers trained one by one, forward and backward", SGNN),
    **{
        f"nodeimport-{net}": Entry(
            f"NodeImport on {net.upper()}: trains on what agrees with a balanced few", NodeImport, {"backbone": net}
        )
        for net in NETS
    },
    **{
        f"motifrgc-{net}": Entry(
            f"MotifRGC on {net.upper()}: contrast with curved spaces, and motifs", MotifRGC, {"backbone": net}
        )
        for net in NETS
    },
    **{
        f"mpnn-{net}": Entry(f"MPNN-{net.upper()} (tunedGNN): deep, with norms and residuals", MPNN, {"conv": net})
        for net in NETS
    },
    "graphecl": Entry("GraphECL: an MLP learns to match the embeddings of neighbours", GraphECL),
    "igcl": Entry("IGCL: contrast of communities, as its paper intends", IGCL, {"released": False}),
    # BES, tuned as they are.
    "shaped": Entry("BES: frozen encoders, shaping, a decoder", Shaped, {"shape": True}),
    "unshaped": Entry("BES without shaping", Shaped, {"shape": False}),
    "strong": Entry("BES of preset strong: the encoders themselves are shaped", Strong, {"shape": True}),
    "strong-unshaped": Entry("BES of preset strong without shaping", Strong, {"shape": False}),
    # Variants and references.
    "sgc1l": Entry("SGC as its authors have it: one linear map after K hops", SGC),
    "ssgc1l": Entry("SSGC as its authors have it: one linear map after K mixed hops", SSGC),
    "igcl-released": Entry("IGCL as its code was released", IGCL, {"released": True}),
    "igcl-shaped": Entry("IGCL, shaped by the clusters of its embeddings", SelfShaped, {"released": False}),
    "mlp": Entry("Two linear layers, without the graph", TwoLayer, {"conv": "mlp"}),
    "label-propagation": Entry("Labels spread over the edges, without features", LabelPropagation),
    "correct-and-smooth": Entry("Correct and Smooth on an MLP, a GCN or BES", CorrectAndSmooth),
    "supcon": Entry("GCN with the supervised contrastive loss beside", SupCon),
    "prototypes": Entry("GCN with class prototypes of all training nodes beside: what BES must beat", Prototypes),
    "acm-gcn": Entry("ACM-GCN: low-pass, high-pass and identity, mixed by node", ACMGCN),
    "gprgnn": Entry("GPRGNN: an MLP and learned weights of ten hops", GPRGNN),
    "pseudo-label": Entry("GCN that takes its surest predictions for labels", PseudoLabel, {"conv": "gcn"}),
}


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method `name` with some of its options set."""
    entry = pick(METHODS, name, "method")
    for key in options or {}:
        if key not in entry.options:
            known = ", ".join(entry.options)
            raise InputError(f"The method '{name}' has no option '{key}': it has {known}.")
    try:
        made: Method = _checker(entry.kind).validate_python({**(options or {}), **entry.fixed})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"The option {name}.{where}={first['input']!r} is not valid: {first['msg'].lower()}."
        ) from None
    return made


@cache
def _checker(kind: type[Method]) -> TypeAdapter[Any]:
    """Made once: making one takes longer than using it."""
    return TypeAdapter(kind)
