"""Adam without the compiler: the steps of torch's, bit for bit."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from bes.optim import Adam

#: Two steps of a training, and whether the compiler was loaded for them.
TRAINING = """
import sys
import torch
from bes.training import train

model = torch.nn.Linear(3, 2)
x = torch.ones(4, 3)
settings = {"epochs": 2, "lr": 0.1, "weight_decay": 0.1}
train(model, lambda: model(x), lambda out: out.square().sum(), lambda out: (0.0, 0.0), **settings)
sys.exit("torch._dynamo" in sys.modules)
"""


def trained(kind: type[torch.optim.Adam], fused: bool) -> tuple[nn.Linear, torch.optim.Adam]:
    torch.manual_seed(0)
    model, x = nn.Linear(4, 3), torch.randn(6, 4)
    groups = [{"params": [model.weight], "weight_decay": 0.1}, {"params": [model.bias], "lr": 0.5}]
    optimizer = kind(groups, lr=0.05, weight_decay=0.01, fused=fused)
    for _ in range(7):
        optimizer.zero_grad()
        assert model.weight.grad is None
        model(x).pow(3).sum().backward()
        optimizer.step()
    return model, optimizer


@pytest.mark.parametrize("fused", [True, False])
def test_steps_are_those_of_torch(fused: bool) -> None:
    (ours, optimizer), (theirs, rival) = trained(Adam, fused), trained(torch.optim.Adam, fused)
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)
    for ours_has, theirs_has in zip(optimizer.state.values(), rival.state.values(), strict=True):
        assert ours_has["step"] == 7
        assert torch.equal(ours_has["exp_avg"], theirs_has["exp_avg"])
    assert [group["lr"] for group in optimizer.param_groups] == [0.05, 0.5]


def test_training_does_not_load_the_compiler() -> None:
    assert subprocess.run([sys.executable, "-c", TRAINING], check=False).returncode == 0
