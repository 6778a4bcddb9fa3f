"""What is added to the loss, against a loop over nodes."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from bes import EncoderShaper
from bes.core.soft import Pulled, smoothed
from bes.models.fused import Fused
from bes.models.soft_pull import SoftPull
from models.blocks import encoded_blocks


@pytest.mark.parametrize("pulled", ["band", "labelled"])
def test_the_loss_is_what_it_says(pulled: Pulled) -> None:
    graph, split, phi = encoded_blocks()
    options = EncoderShaper(weight=0.7, gravity=0.3, pulled=pulled, temperature=0.2, first=0.4, band=0.3, balance=1.0)
    network = Fused(phi.encoders_).eval()
    logits, hidden = network(graph)
    pull = SoftPull(options, network, graph, split)
    found = pull((logits, hidden)).item()
    truth = F.one_hot(split.train_labels, 3).float()
    prob = smoothed(logits.softmax(1), graph.operators.gcn, split.train, truth, options.steps, options.restart)
    free = [i for i in range(graph.n_nodes) if i not in split.train.tolist()]
    own = logits.softmax(1)
    for _ in range(5):  # classes are as large as predictions have them at first
        factor = [sum(own[i, c] for i in free) / sum(prob[i, c] for i in free) for c in range(3)]
        prob = torch.stack([row * torch.stack(factor) / (row * torch.stack(factor)).sum() for row in prob])
    top = prob.sort(1, descending=True).values
    order = sorted(free, key=lambda i: -(top[i, 0] - top[i, 1]).item())
    joined, band = order[: int(0.4 * len(free))], order[int(0.4 * len(free)) : int(0.7 * len(free))]
    label = dict(zip(range(graph.n_nodes), prob.argmax(1).tolist(), strict=True))
    label |= dict(zip(split.train.tolist(), split.train_labels.tolist(), strict=True))
    size = {c: sum(label[i] == c for i in joined) for c in range(3)}
    classes = [c for c in range(3) if size[c]]
    entropy = {c: -sum(logits[i].log_softmax(0)[c].item() for i in joined if label[i] == c) for c in classes}
    expected = 0.7 * sum(entropy[c] / size[c] for c in classes) / len(classes)
    z = [row / row.norm() for row in hidden]
    known = split.train.tolist()
    members = known if pulled == "labelled" else [*known, *joined]
    means = [torch.stack([z[i] for i in members if label[i] == c]).mean(0) for c in range(3)]
    pulls = []
    for i in known if pulled == "labelled" else band:
        near = torch.stack([-(z[i] - mean).square().sum() / 0.2 for mean in means])
        pulls.append(-near.log_softmax(0)[label[i]].item())
    expected += 0.3 * sum(pulls) / len(pulls)
    assert found == pytest.approx(expected, rel=1e-4)
    assert pull.rows[0]["by_class"] == [size[c] for c in range(3)]
    assert sorted(pull.bands[0].tolist()) == sorted(band)


def test_hidden_layers_on_a_graph_that_stays_follow_the_weights() -> None:
    graph, _, phi = encoded_blocks()
    network = Fused(phi.encoders_).eval()
    embed = network.on(graph)
    assert torch.allclose(embed(), network.embed(graph), atol=1e-6)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(2)
    assert torch.allclose(embed(), network.embed(graph), atol=1e-6)


def test_no_class_takes_all_however_its_teacher_leans(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, split, phi = encoded_blocks()

    def joined(leaning: float, sizes: float | None) -> list[int]:
        scaled = torch.tensor([leaning, 1.0, 1.0])
        monkeypatch.setattr(SoftPull, "_taught", lambda _, __, prob: prob * scaled / (prob * scaled).sum(1)[:, None])
        network = Fused(phi.encoders_).eval()
        pull = SoftPull(EncoderShaper(sizes=sizes, first=0.9), network, graph, split)
        pull(network(graph))
        by_class: list[int] = pull.rows[0]["by_class"]
        return by_class

    upright = joined(1.0, None)
    assert joined(10.0, None)[0] > 1.5 * upright[0]
    for size, wanted in zip(joined(10.0, 1.0), upright, strict=True):
        assert abs(size - wanted) <= 3


def test_sizes_are_those_of_the_start_and_of_now() -> None:
    graph, split, phi = encoded_blocks()
    first = Fused(phi.encoders_).eval()(graph)[0].softmax(1)
    now = (first * torch.tensor([1.0, 2.0, 3.0])) / (first * torch.tensor([1.0, 2.0, 3.0])).sum(1, keepdim=True)
    pull = SoftPull(EncoderShaper(sizes=0.75), Fused(phi.encoders_), graph, split)
    pull._sized(first, first)
    found = pull._sized(first, now)
    free = pull.free
    wanted = 0.75 * first[free].mean(0) + 0.25 * now[free].mean(0)
    torch.testing.assert_close(found[free].mean(0), wanted, rtol=0, atol=2e-3)
    assert torch.equal(found[split.train], pull.truth)
