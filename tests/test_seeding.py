import pytest
import torch

from bes.seeding import derive, generator, pick_device


def test_streams_have_fixed_seeds() -> None:
    """Written down, so that no change of machine, Python or code can change every run unseen."""
    assert derive(0, "split") == 3769940940748469125
    assert derive(7, "init", 1, "gcn") == 8603188079250429902


def test_streams_differ_by_every_part_of_their_name() -> None:
    seeds = [derive(0, "a"), derive(1, "a"), derive(0, "b"), derive(0, "a", 0), derive(0, "a", 1), derive(0)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_stream_depends_on_no_other() -> None:
    expected = torch.rand(3, generator=generator(5, "x"))
    other = generator(5, "y")
    torch.rand(100, generator=other)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3, generator=generator(5, "x")), expected)


def test_devices() -> None:
    assert pick_device("cpu") == torch.device("cpu")
    assert pick_device() == torch.device("cuda" if torch.cuda.is_available() else "cpu")
    absent = [] if torch.cuda.is_available() else ["cuda", "cuda:0"]
    for name in ["nonsense", "", "cpu:x", "meta", *absent]:
        with pytest.raises(ValueError, match=f"The device '{name}' cannot be used here: use auto"):
            pick_device(name)
