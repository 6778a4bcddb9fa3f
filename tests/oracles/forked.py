"""Processes that begin with what they need imported: all are forked from one that has done so, once for all tests."""

import os
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path

from bes.cli import main

#: Importing these takes seconds each time. Not the path of tests: the one that is forked from does not know it.
NEEDED = ["bes.bench.output", "bes.bench.runner", "bes.bench.suites", "bes.cli", "bes.core.shaper", "bes.scale.group"]


def forked() -> ForkServerContext:
    """Where such processes come from."""
    context = get_context("forkserver")
    context.set_forkserver_preload(NEEDED)
    return context


def command(words: Sequence[str], place: Path, log: Path) -> None:
    """`bes WORDS` in the folder `place`, in a process group of its own; what it prints goes to `log` and its `.err`."""
    os.setsid()
    os.chdir(place)
    os.environ["OMP_NUM_THREADS"] = "1"
    for stream, path in ((1, log), (2, log.with_suffix(".err"))):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
    sys.argv = ["bes", *words]
    main()
