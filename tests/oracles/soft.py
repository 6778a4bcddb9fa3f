"""Smoothing of predictions, node by node."""

import torch
from torch import Tensor


def smoothed_by_loop(prob: Tensor, matrix: Tensor, steps: int, restart: float) -> Tensor:
    """P <- (1 - r) A P + r P_0, `steps` times, with A dense; rows then sum to one."""
    start = now = prob.tolist()
    n, classes = prob.shape
    for _ in range(steps):
        heard = [
            [
                sum(matrix[i, j].item() * now[j][c] for j in matrix[i].nonzero().flatten().tolist())
                for c in range(classes)
            ]
            for i in range(n)
        ]
        now = [[(1 - restart) * heard[i][c] + restart * start[i][c] for c in range(classes)] for i in range(n)]
    return torch.tensor([[value / sum(row) for value in row] for row in now])
