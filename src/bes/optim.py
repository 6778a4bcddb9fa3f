"""Adam, without torch's compiler: an optimizer loads it to tell it what not to compile, and that takes seconds."""

from __future__ import annotations

import inspect

import torch


class Adam(torch.optim.Adam):
    """Torch's own methods, taken out of what wraps them for a compiler that nothing here uses; steps are the same.

    `differentiable` is not for it: no gradient goes through a step.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))
