"""Flops and bytes of single operations, and a machine's time for them."""

from __future__ import annotations

import pytest

from bes.scale.work import FRESH, Machine, Work, dense, gathered, passes, sparse


def test_bytes_of_a_dense_product_are_both_factors_and_the_result() -> None:
    assert dense("x", 10, 3, 5) == Work("x", 2 * 10 * 3 * 5, 4 * (30 + 15 + 50))
    assert dense("weight", 10, 3, 5, result=15) == Work("weight", 2 * 10 * 3 * 5, 4 * (30 + 50 + 15))


def test_bytes_of_a_sparse_product_are_counted_entry_by_entry() -> None:
    columns = [[1], [0, 2], [1]]  # a path of three nodes
    width, along, rows = 5, 4 * 3 * 5 + 4 * 3, 0
    for row in columns:
        for _ in row:
            along += 8
            rows += 4 * width
    found = sparse("path", 3, 4, width)
    assert (found.flops, found.stream, found.random) == (2 * 4 * width, along, rows)


def test_a_large_result_is_fresh_memory() -> None:
    assert dense("small", 1000, 64, 64).fresh == 0
    large = dense("large", 1_000_000, 64, 64)
    assert large.fresh == 256_000_000 > FRESH
    assert gathered("rows", 1_000_000, 64).fresh == sparse("hop", 1_000_000, 1, 64).fresh == large.fresh


def test_the_roof_is_the_lower_of_peak_and_bandwidth() -> None:
    machine = Machine(flops=100e9, stream=10e9, random=2e9, fresh=5e9)
    assert machine.roof(Work("narrow", 1, 1)) == 10e9
    assert machine.roof(Work("wide", 64, 1)) == 100e9


def test_time_is_the_longer_of_computing_and_moving_and_fresh_memory_comes_on_top() -> None:
    machine = Machine(flops=100.0, stream=10.0, random=2.0, fresh=5.0)
    assert machine.seconds(Work("computes", 300, 10)) == 3.0
    assert machine.seconds(Work("moves", 1, 10, 4)) == 1.0 + 2.0
    assert machine.seconds(Work("asks", 1, 10, fresh=10)) == pytest.approx(1.0 + 1.0)
    assert machine.takes([Work("computes", 300, 10), passes("pass", 5, 8)]) == pytest.approx(3.0 + 4.0)


def test_work_is_multiplied() -> None:
    assert Work("a", 1, 2, 3, 1).times(4) == Work("a", 4, 8, 12, 4)
    assert Work("a", 1, 2, 3).bytes == 5
    assert Work("nothing", 1, 0).intensity == 0
