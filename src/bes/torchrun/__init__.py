"""`torchrun -m bes run`: seeds of one configuration on ranks, recorded as a run of one process is.

No rank ever holds the whole graph. A process of rank 0's reads it, cuts it and ends; ranks read their parts; and when
a seed is done, another process puts what they leave together, scores and records it. Files go by the run's folder, so
that machines must share it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import load_file

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.machine import cores
from bes.pipeline.ranks import RankRun
from bes.records import alone_in_run
from bes.runs import start_worker
from bes.scale.distributed import OwnSplit
from bes.scale.halo import GraphPart
from bes.scale.ranks import Ranks, joined
from bes.scale.sharded import Shards
from bes.torchrun.plan import Plan, make_plan
from bes.torchrun.record import record

T = TypeVar("T")


def run_on_ranks(
    read: Callable[[], tuple[RunConfig, Graph]],
    seeds: list[int],
    out: Path | None,
    *,
    device: str = "auto",
    jobs: int = 1,
    log: str | None = None,
) -> Path | None:
    """Run every seed that `out` does not hold yet, as one of the ranks that torchrun has started.

    Args:
        read: Gives configuration and graph, in another process.
        out: The run's folder; None for `runs/GRAPH`.

    Returns:
        The run's folder, on rank 0.
    """
    with joined(device) as ranks, ExitStack() as held:
        plan = told(ranks, lambda: apart(make_plan, read, seeds, out, ranks.size, jobs, log))
        told(ranks, lambda: _hold(held, plan, ranks.size))
        if plan.missing:
            part = GraphPart.load(plan.part(ranks.rank)).to(ranks.device)
        for seed in plan.missing:
            split = OwnSplit(**load_file(plan.split(seed, ranks.rank))).to(ranks.device)
            ranks.traffic = {}
            shards = Shards(plan.folder / str(seed), ranks)
            result = RankRun(plan.config, seed, part, split, ranks, shards, plan.kept(seed, ranks.rank)).run()
            facts = ranks.collect({"peak_mib": result.peak_mib, "traffic": ranks.traffic, "nodes": _sizes(part)})
            told(ranks, lambda: apart(record, plan, seed, result, facts))  # noqa: B023 (called at once)
        if ranks.rank == 0:
            shutil.rmtree(plan.folder, ignore_errors=True)
        return plan.path if ranks.rank == 0 else None


def _hold(held: ExitStack, plan: Plan, size: int) -> None:
    """Take the folder, which the process that planned has given back, as that one left it."""
    held.enter_context(alone_in_run(plan.path))
    plan.check_cut(size)


def _sizes(part: GraphPart) -> dict[str, int]:
    return {"own": part.n_own, "halo": part.n_local - part.n_own}


def told(ranks: Ranks, work: Callable[[], T]) -> T:
    """What rank 0 finds, on every rank; its mistakes end all of them, and it alone says why."""
    found: T | InputError | None = None
    if ranks.rank == 0:
        try:
            found = work()
        except InputError as error:
            found = error
    found = ranks.share(found)
    if isinstance(found, InputError):
        raise found if ranks.rank == 0 else SystemExit(1)
    return found


def apart(work: Callable[..., T], *given: Any) -> T:
    """`work(*given)` in a process of its own, whose memory goes with it, and which ends when this one does."""
    # all cores are its own: the ranks wait for it
    context = get_context("spawn")
    lifeline, ours = context.Pipe(duplex=False)
    try:
        with ProcessPoolExecutor(1, context, initializer=start_worker, initargs=(cores(), lifeline)) as pool:
            return pool.submit(work, *given).result()
    except BrokenProcessPool:
        raise InputError(
            f"The process that reads or records the graph ({work.__name__}) was killed, most often for want of memory: "
            "free some, or use a machine with more for rank 0."
        ) from None
    finally:
        lifeline.close()
        ours.close()
