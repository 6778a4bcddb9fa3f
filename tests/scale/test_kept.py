"""What a rank keeps of its nodes comes back as it was."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from bes.scale.kept import Kept


@pytest.mark.parametrize("tensor", [torch.rand(7, 3), torch.rand(7, 2) > 0.5, torch.rand(3, 7).T, torch.rand(7, 0)])
def test_what_comes_back_is_what_was_kept(tensor: Tensor, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "new", 1)
    assert torch.equal(kept.keep("prob.control", tensor), tensor)
    assert torch.equal(kept.load("prob.control"), tensor)


def test_ranks_do_not_see_each_others(tmp_path: Path) -> None:
    for rank in (1, 11):
        Kept(tmp_path, rank).keep(f"stage.{rank}", torch.full((2, 2), float(rank)))
    assert Kept(tmp_path, 1).names() == ["stage.1"]
    assert Kept(tmp_path, 11).names() == ["stage.11"]
    assert Kept(tmp_path, 2).names() == []
