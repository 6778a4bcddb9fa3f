"""What torch is told, the cores that are there for a process, and memory that is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bes import machine
from bes.scale.memory import available
from bes.training import train


def test_torch_is_told_what_the_user_did_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "restored afterwards")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "0")
    assert machine.told() == {"OMP_WAIT_POLICY": "PASSIVE", "THP_MEM_ALLOC_ENABLE": "0"}
    machine.prepare()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == "0"


def test_the_commands_tell_torch_before_it_is_loaded() -> None:
    code = "import os, sys, bes.cli; print(os.environ['THP_MEM_ALLOC_ENABLE'], 'torch' in sys.modules)"
    clean = {name: value for name, value in os.environ.items() if name not in machine.TOLD}
    found = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "False"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be taken from a process here")
def test_cores_are_those_that_the_process_may_use() -> None:
    one = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    code = f"import os; from bes.machine import cores; {one}; print(cores())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "1"
    assert machine.cores() == len(os.sched_getaffinity(0))


def test_a_limit_of_the_group_counts_where_it_is_lower(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert available(torch.device("cpu")) > 0
    (tmp_path / "memory.max").write_text("104857600\n")
    (tmp_path / "memory.current").write_text("52428800\n")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert available(torch.device("cpu")) == 50.0
    (tmp_path / "memory.max").write_text("max\n")
    assert available(torch.device("cpu")) > 50.0


class Library:
    """A C library that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self.trimmed = 0

    def mallopt(self, what: int, value: int) -> int:
        self.told.append((what, value))
        return 1

    def malloc_trim(self, pad: int) -> int:
        self.trimmed += 1 + pad
        return 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    for name in (machine.KEEP, *machine.TOLD_GLIBC):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda _: found)
    monkeypatch.setattr(machine, "free_mib", lambda: 1e9)
    return found


def test_memory_is_kept_within_and_given_back_after_also_when_it_fails(library: Library) -> None:
    @machine.retained()
    def fails() -> None:
        assert (library.told, library.trimmed) == ([(machine.MMAP_MAX, 0), (machine.TRIM_THRESHOLD, -1)], 0)
        raise ValueError("in the midst")

    with pytest.raises(ValueError, match="midst"):
        fails()
    assert (machine.MMAP_MAX, machine.MAPS) in library.told[2:]
    assert library.trimmed == 1


@pytest.mark.skipif(not machine.STATM.exists(), reason="only Linux tells what a process has")
def test_memory_is_not_kept_where_little_is_free_or_the_user_has_spoken(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "free_mib", lambda: 1.0)
    with machine.retained():
        pass
    monkeypatch.setattr(machine, "free_mib", lambda: 1e9)
    for name, value in ((machine.KEEP, "0"), ("MALLOC_MMAP_MAX_", "65536"), ("GLIBC_TUNABLES", "")):
        with monkeypatch.context() as told:
            told.setenv(name, value)
            with machine.retained():
                pass
    assert (library.told, library.trimmed) == ([], 0)


@pytest.mark.skipif(not machine.STATM.exists(), reason="only Linux tells what a process has")
def test_memory_is_kept_no_more_where_the_first_step_took_too_much(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine.retained():
        machine.look_again()
        assert library.trimmed == 0
        monkeypatch.setattr(machine, "free_mib", lambda: 1.0)
        machine.look_again()
        assert ((machine.MMAP_MAX, machine.MAPS) in library.told, library.trimmed) == (True, 1)
    assert library.trimmed == 1, "and not given back twice"


def test_training_keeps_memory(library: Library) -> None:
    model = torch.nn.Linear(2, 1)
    inside: list[int] = []

    def loss(out: torch.Tensor) -> torch.Tensor:
        inside.append(len(library.told))
        return out.sum()

    train(model, lambda: model(torch.ones(1, 2)), loss, lambda _: (0.0, 0.0), epochs=2, lr=0.1, weight_decay=0.0)
    assert inside == [2, 2]
    assert library.trimmed == 1


def test_nothing_is_done_where_the_system_has_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    machine.give_back()
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda _: object())  # a C library without malloc_trim
    machine.give_back()
    with machine.retained():
        pass
