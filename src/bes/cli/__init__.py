"""The command line: one module a group of commands. No logic lives here.

Heavy imports happen inside the commands, so that `bes --help` answers at once.
"""

from __future__ import annotations

import sys

from rich.console import Console

from bes.cli import bench, data, methods, query, run, runs, shape
from bes.cli.app import app
from bes.errors import InputError
from bes.machine import prepare

prepare()  # the commands load torch

__all__ = ["app", "bench", "data", "main", "methods", "query", "run", "runs", "shape"]


def main() -> None:
    """Entry point: bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except InputError as error:
        Console(stderr=True, soft_wrap=True, emoji=False).print(
            f"bes: {error}", style="red", markup=False, highlight=False
        )
        sys.exit(2)
