"""What ranks are to do: the graph read and cut, each rank's part and its share of the splits in files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bes import seeding
from bes.config import RunConfig
from bes.errors import InputError
from bes.files import whole_file
from bes.graph.graph import Graph
from bes.graph.scaling import scale
from bes.graph.splits import make_split
from bes.pipeline import arms_of, check, facts_of
from bes.pipeline.methods import resolved
from bes.pipeline.ranks import check_ranks
from bes.records import RunDirectory, alone_in_run, data_hash, library_version
from bes.scale.distributed import OwnSplit
from bes.scale.halo import cut
from bes.scale.kept import Kept
from bes.scale.partition import partition

#: The folder of parts and shards in a run's folder, while it runs.
FOLDER = "ranks"


@dataclass(frozen=True)
class Plan:
    """What the ranks are to do, found by the process that read the graph."""

    config: RunConfig
    path: Path
    data_hash: str
    missing: list[int]
    facts: tuple[list[str], dict[str, Any]]

    @property
    def folder(self) -> Path:
        return self.path / FOLDER

    def part(self, rank: int) -> Path:
        return self.folder / f"part-{rank}.safetensors"

    def split(self, seed: int, rank: int | str) -> Path:
        return self.folder / f"split-{seed}-{rank}.safetensors"

    @property
    def cut(self) -> Path:
        """The file that says what the parts are of."""
        return self.folder / "cut.json"

    def identity(self, size: int) -> dict[str, Any]:
        """What makes parts for `size` ranks the same."""
        told = {"ranks": size, "data_hash": self.data_hash, "bes": library_version()}
        return {**told, "config": self.config.canonical()}

    def is_cut(self, size: int) -> bool:
        return self.cut.exists() and bool(json.loads(self.cut.read_text(encoding="utf-8")) == self.identity(size))

    def check_cut(self, size: int) -> None:
        """Refuse parts that another run has made between the plan and the lock."""
        if self.missing and not self.is_cut(size):
            raise InputError(f"Another `bes run` has changed {self.path} meanwhile: call it again.")

    def kept(self, seed: int, rank: int) -> Kept:
        """What a rank leaves of a seed."""
        return Kept(self.folder / str(seed), rank)


def make_plan(
    read: Callable[[], tuple[RunConfig, Graph]],
    seeds: list[int],
    out: Path | None,
    size: int,
    jobs: int,
    log: str | None,
) -> Plan:
    """Read the graph, claim the folder, and write each rank's part and its share of each split."""
    config, graph = read()
    check_ranks(config, jobs, log)
    check(config, graph, seeds)
    config = resolved(config)
    path = out or Path("runs") / graph.name
    with alone_in_run(path):
        directory = RunDirectory(path, config, data_hash(graph))
        directory.keep(graph)
        missing = directory.missing(seeds, arms_of(config))
        plan = Plan(config, directory.path, directory.data_hash, missing, facts_of(config, graph))
        if missing:
            _write_parts(plan, graph, size)
    return plan


def _write_parts(plan: Plan, graph: Graph, size: int) -> None:
    """Parts and splits; those of the same run on as many ranks are used again, with the shards beside them."""
    if not plan.is_cut(size):
        shutil.rmtree(plan.folder, ignore_errors=True)
        plan.folder.mkdir(parents=True)
        owner = partition(graph, size, "metis" if find_spec("pymetis") else "communities", seeding.generator(0, "cut"))
        for rank, part in enumerate(cut(scale(graph, plan.config.features), owner, size)):
            part.save(plan.part(rank))
        with whole_file(plan.cut) as temporary:
            temporary.write_text(json.dumps(plan.identity(size)), encoding="utf-8")
    owned = [load_file(plan.part(rank))["own"] for rank in range(size)]
    for seed in plan.missing:
        split = make_split(graph, plan.config.split, seed)
        (plan.folder / str(seed)).mkdir(exist_ok=True)
        for rank, own in enumerate(owned):
            _save(plan.split(seed, rank), vars(OwnSplit.of(split, own)))
        whole = {"train": split.train, "val": split.val, "test": split.test, "labels": graph.y}
        whole |= {"n_classes": torch.tensor(split.n_classes), "name": torch.tensor(list(split.name.encode()))}
        _save(plan.split(seed, "all"), whole)


def _save(path: Path, tensors: dict[str, Tensor]) -> None:
    with whole_file(path) as temporary:
        save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, temporary)
