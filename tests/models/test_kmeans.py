from collections.abc import Callable
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bes.errors import InputError
from bes.models import kmeans as module
from bes.models.kmeans import kmeans
from bes.seeding import generator


def within(z: Tensor, cluster: list[int]) -> float:
    """The sum of squared distances to the mean of one's cluster, by a loop."""
    total = 0.0
    for c in set(cluster):
        members = [row for row, own in zip(z.tolist(), cluster, strict=True) if own == c]
        for values in zip(*members, strict=True):
            mean = sum(values) / len(values)
            total += sum((value - mean) ** 2 for value in values)
    return total


def blobs(n: int, k: int, d: int = 3) -> tuple[Tensor, Tensor]:
    """Rows within 1 of `k` centres that are 100 apart, and the centre of each."""
    rng = generator(0, "blobs")
    own = torch.cat([torch.arange(k), torch.randint(k, (n - k,), generator=rng)])
    centres = 100.0 * torch.arange(k)[:, None] * torch.ones(d)
    return centres[own] + torch.rand(n, d, generator=rng), own


def numbered(cluster: Tensor) -> bool:
    """0, 1, ... in the order of first appearance."""
    seen = list(dict.fromkeys(cluster.tolist()))
    return seen == list(range(len(seen)))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_separated_blobs_are_found_exactly(seed: int, dtype: torch.dtype) -> None:
    z, own = blobs(400, 6)
    found = kmeans(z.to(dtype) + 5000, 6, seed=seed)
    assert (found.dtype, found.device) == (torch.int64, z.device)
    assert torch.equal(found, own)  # both are numbered by first appearance


@given(st.integers(1, 25), st.integers(1, 3), st.integers(1, 8), st.integers(0, 2**31))
@settings(max_examples=60)
def test_iterations_never_make_it_worse(n: int, d: int, k: int, seed: int) -> None:
    z = torch.randn(n, d, generator=generator(seed), dtype=torch.float64)
    k = min(k, n)
    sums = [within(z, kmeans(z, k, seed=seed, n_iter=i).tolist()) for i in range(8)]
    assert all(after <= before + 1e-9 for before, after in pairwise(sums))


@given(st.integers(1, 25), st.integers(1, 3), st.integers(1, 8), st.integers(0, 2**31))
@settings(max_examples=60)
def test_at_the_end_each_row_is_with_the_nearest_mean(n: int, d: int, k: int, seed: int) -> None:
    z = torch.randn(n, d, generator=generator(seed), dtype=torch.float64)
    k = min(k, n)
    found = kmeans(z, k, seed=seed, n_iter=1000)
    assert numbered(found)
    assert int(found.max()) == k - 1
    means = torch.stack([z[found == c].mean(0) for c in range(k)])
    for row, own in zip(z, found.tolist(), strict=True):
        distance = [float(((row - mean) ** 2).sum()) for mean in means]
        assert distance[own] <= min(distance) + 1e-9


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**31))
@settings(max_examples=60)
def test_equal_rows_share_a_cluster(n: int, k: int, seed: int) -> None:
    """Few different rows: where there are fewer than k, each is a cluster of its own."""
    z = torch.randint(0, 3, (n, 2), generator=generator(seed)) / 3
    rows, own = torch.unique(z, dim=0, return_inverse=True)
    k = min(k, n)
    found = kmeans(z, k, seed=seed)
    assert numbered(found)
    assert int(found.max()) + 1 == min(k, len(rows))
    assert len(set(zip(own.tolist(), found.tolist(), strict=True))) == len(rows)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_best_of_some_seeds_is_the_best_of_all(k: int) -> None:
    z = torch.randn(7, 2, generator=generator(1), dtype=torch.float64)
    best = min(within(z, list(clusters)) for clusters in product(range(k), repeat=7))
    found = min(within(z, kmeans(z, k, seed=seed).tolist()) for seed in range(20))
    assert found == pytest.approx(best)


def test_one_cluster_and_one_a_row() -> None:
    z = torch.randn(9, 2, generator=generator(0))
    assert kmeans(z, 1, seed=0).tolist() == [0] * 9
    assert kmeans(z, 9, seed=0).tolist() == list(range(9))


def test_same_seed_same_bits_whatever_ran_before() -> None:
    z = torch.randn(3000, 8, generator=generator(0))
    state = torch.get_rng_state()
    first = kmeans(z, 12, seed=3)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    assert torch.equal(kmeans(z, 12, seed=3), first)
    assert not torch.equal(kmeans(z, 12, seed=4), first)


def test_a_column_far_off_that_never_changes_says_nothing() -> None:
    z, own = blobs(300, 5)
    far = torch.full((300, 1), 1e9)
    assert torch.equal(kmeans(torch.cat([z, far], 1), 5, seed=0), own)


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    z, own = blobs(300, 5)
    monkeypatch.setattr(module, "BLOCK", 50)
    assert torch.equal(kmeans(z, 5, seed=0), own)


def test_memory_is_that_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    distances: Callable[[Tensor, Tensor], Tensor] = module.squared_distances

    def watched(a: Tensor, b: Tensor) -> Tensor:
        sizes.append(max(a.numel(), len(a) * len(b)))
        return distances(a, b)

    monkeypatch.setattr(module, "squared_distances", watched)
    monkeypatch.setattr(module, "BLOCK", 600)
    kmeans(torch.randn(500, 4, generator=generator(0)), 30, seed=0, n_iter=2)
    assert 500 < max(sizes) <= 600


def test_rows_that_the_sample_missed_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows differ from the rest; ten drawn from 500 will hardly hold both."""
    monkeypatch.setattr(module, "SAMPLE", 10)
    z = torch.zeros(500, 2)
    z[100], z[200] = 1.0, 2.0
    for seed in range(5):
        found = kmeans(z, 3, seed=seed)
        assert (found[100], found[200], int(found.sum())) == (1, 2, 3)


def test_empty_clusters_move_to_the_farthest_rows() -> None:
    z = torch.tensor([[0.0], [1.0], [7.0], [7.0], [20.0]])
    cluster = torch.tensor([0, 0, 0, 0, 0])
    centres = module._update(z, cluster, torch.zeros(3, 1))
    assert centres.tolist() == [[7.0], [20.0], [0.0]]  # 20 is 13 from the mean, 0 is 7 from it


def test_centres_that_start_together_do_not_stay_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all centres at one row, all but one lose their rows at once, and still the blobs are found."""
    z, own = blobs(200, 4)
    monkeypatch.setattr(module, "_start", lambda z, k, _: z[:1].repeat(k, 1))
    assert torch.equal(kmeans(z, 4, seed=0), own)


@pytest.mark.parametrize("k", [-1, 0, 6])
def test_a_number_of_clusters_out_of_range_is_refused(k: int) -> None:
    with pytest.raises(InputError, match=rf"k={k} is out of range: use 1 to 5"):
        kmeans(torch.zeros(5, 2), k, seed=0)


@pytest.mark.parametrize("z", [torch.zeros(5), torch.full((5, 2), torch.nan), torch.full((5, 2), torch.inf)])
def test_what_is_no_matrix_of_numbers_is_refused(z: Tensor) -> None:
    with pytest.raises(InputError, match="matrix of finite numbers"):
        kmeans(z, 2, seed=0)


def test_no_gradient_is_kept() -> None:
    z = torch.randn(20, 2, generator=generator(0)).requires_grad_()
    assert not kmeans(z, 3, seed=0).requires_grad
