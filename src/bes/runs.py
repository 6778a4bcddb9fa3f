"""Seeds of one configuration, run in this process or in several, recorded as they end."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.machine import cores
from bes.pipeline import arms_of, check, run_seed
from bes.pipeline.batching import settled
from bes.pipeline.methods import resolved, study_of
from bes.pipeline.results import SeedResult
from bes.pipeline.tuning import Study
from bes.progress import Watch
from bes.records import RunDirectory, alone_in_run, data_hash

#: Called before the first seed, with what is run.
Begin = Callable[[RunConfig, Graph], None]

#: Called with (seeds done, seeds asked for) as each seed ends.
Progress = Callable[[int, int], None]


def run(
    config: RunConfig,
    graph: Graph,
    seeds: list[int],
    out: Path,
    *,
    jobs: int = 1,
    begin: Begin | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    log: str | None = None,
) -> RunDirectory:
    """Run every seed that `out` does not hold yet, all arms each, and record it as it ends; methods alone one by one.

    Args:
        begin: Told once that all is checked and how the graph will be trained on.
        watch: Told of each stage and its steps, where the seeds run in this process.
        log: `csv`, `tensorboard` or `mlflow`: every epoch and iteration is logged under `out/logs/SEED`.
    """
    if jobs < 1:
        raise InputError(f"--jobs {jobs} leaves nobody to work: use 1 or more.")
    if log is not None:
        from bes.callbacks import check_log

        check_log(log)
    check(config, graph, seeds)
    config = settled(resolved(config), graph)
    out = Path(out)
    with alone_in_run(out):
        directory = RunDirectory(out, config, data_hash(graph))
        directory.keep(graph)
        if begin:
            begin(config, graph)
        arms = arms_of(config)

        def tell() -> None:
            if progress:
                progress(len(seeds) - len(directory.missing(seeds, arms)), len(seeds))

        def keep(result: SeedResult) -> None:
            directory.add(result)
            tell()

        tell()
        missing = _pieces(config, directory, seeds)
        studies = _tuned(config, graph, directory, watch) if missing else {}
        if jobs == 1 or len(missing) < 2:
            for seed, method in missing:
                keep(_run_one(graph, config, seed, method, out, log, studies, watch))
            return directory
        _side_by_side(jobs, graph, [(config, *piece, out, log, studies) for piece in missing], keep)
        return directory


#: A seed, and of runs of methods alone one of them: what is run and recorded in one piece.
Piece = tuple[int, str | None]


def _pieces(config: RunConfig, directory: RunDirectory, seeds: list[int]) -> list[Piece]:
    """What is not recorded yet."""
    if config.paired:
        return [(seed, None) for seed in directory.missing(seeds, arms_of(config))]
    return [(seed, name) for seed in seeds for name in config.methods if directory.missing([seed], (name,))]


def _tuned(config: RunConfig, graph: Graph, directory: RunDirectory, watch: Watch | None) -> dict[str, Study]:
    """What tuning finds for each method; a method that was tuned before is not tuned again."""
    found = directory.tuned()
    watchers = [] if watch is None else [watch]
    for name in config.methods_alone if config.tune else ():
        if name not in found and (study := study_of(config, graph, name, watchers)) is not None:
            found[name] = replace(study, best=None)  # answers of all methods would be held until the end
            directory.keep_tuned({name: study.kept() for name, study in found.items()})
    return found


def _side_by_side(jobs: int, graph: Graph, work: list[tuple[Any, ...]], keep: Callable[[SeedResult], None]) -> None:
    """`_run_one` of each piece of work in one of so many processes; each is kept as it ends."""
    jobs = min(jobs, len(work))
    threads = max(1, cores() // jobs)
    context = get_context("spawn")  # forked torch threads hang
    lifeline, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        jobs, context, initializer=_start_with, initargs=(threads, lifeline, pickle.dumps(graph))
    )
    try:
        for future in as_completed([pool.submit(_run_given, *piece) for piece in work]):
            keep(pickle.loads(future.result()))  # of our own worker
    except BrokenProcessPool:
        raise InputError(
            f"A process of --jobs {jobs} was killed, most often for want of memory: call it again with fewer to go on."
        ) from None
    except BaseException:
        ours.close()  # a seed at work would run to its end, for nobody
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        lifeline.close()
        ours.close()


#: The graph of a worker. It comes once, with the process itself, which then never asks a parent that was killed for it.
_given: Graph


def _start_with(threads: int, lifeline: Connection, graph: bytes) -> None:
    """The graph comes as bytes: no process can be started with tensors that share their memory."""
    global _given
    start_worker(threads, lifeline)
    _given = pickle.loads(graph)  # of our own parent


def _run_given(*piece: Any) -> bytes:
    """`_run_one` on the worker's graph, as bytes: tensors would have to be fetched from the worker by a live parent."""
    return pickle.dumps(_run_one(_given, *piece))


def _run_one(
    graph: Graph,
    config: RunConfig,
    seed: int,
    method: str | None,
    out: Path,
    log: str | None,
    studies: dict[str, Study],
    watch: Watch | None = None,
) -> SeedResult:
    watchers = [] if watch is None else [watch]
    if log is None:
        return run_seed(config, graph, seed, watchers, studies=studies, only=method)
    from bes.callbacks import make_log

    place = out / "logs" / str(seed) / (method or "")
    shutil.rmtree(place, ignore_errors=True)  # of a seed that was stopped and begins anew
    with make_log(log, place) as kept:
        return run_seed(
            config, graph, seed, [*watchers, lambda stage, _: kept.stage(stage)], studies=studies, only=method
        )


def start_worker(threads: int, lifeline: Connection) -> None:
    """A worker with its share of the cores, which ends when its parent closes the line or is killed, not by Ctrl-C.

    The line is a pipe and not an event: setting an event waits for every sleeper to wake, also for one that was killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and decides
    torch.set_num_threads(threads)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def parse_seeds(text: str) -> list[int]:
    """`0-4`, `3`, `0,2,5-7` to a list of seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"--seeds {text} is not understood: write 0-4, 3 or 0,2,5-7.")
        if dash and int(last) < int(first):
            raise InputError(f"--seeds {text} runs backwards: write the smaller seed first.")
        seeds += range(int(first), int(last if dash else first) + 1)
    return list(dict.fromkeys(seeds))
