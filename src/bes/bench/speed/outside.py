"""A command in a process of its own, its time and its largest memory seen from outside."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Seconds between two looks; the kernel keeps the peak, so that only the very end of a process goes unseen.
LOOK = 0.02


@dataclass(frozen=True)
class Seen:
    """What a process did.

    Attributes:
        cpu_seconds: Time of its threads at work: what others do on the machine hardly changes it.
        peak_mib: Its peak of resident memory; None where the system does not tell (there is no `/proc`).
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float | None
    output: str


def watch(command: Sequence[str]) -> Seen:
    """Run a command to its end."""
    begun, before, peak = time.perf_counter(), _spent(), None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = _peak(process.pid) or peak
            time.sleep(LOOK)
        seconds = time.perf_counter() - begun
        output, complaint = process.communicate()
    if process.returncode:
        last = (complaint.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        raise RuntimeError(f"'{' '.join(command[3:5])}' failed: {last}")
    return Seen(seconds, _spent() - before, peak, output)


def _spent() -> float:
    """Seconds of the processor that processes which were started here, and have ended, took."""
    times = os.times()
    return times.children_user + times.children_system


def _peak(pid: int) -> float | None:
    """The kernel's high-water mark, in MiB."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:  # no such file system, or no such process any more
        return None
    return int(found.group(1)) / 1024 if found else None
