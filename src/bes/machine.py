"""The machine that a process runs on: what torch is told before it is loaded, the cores, and memory that is kept."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 2**20

#: Where Linux tells of memory: of all, of this process, and what a group of processes, such as a container, may take.
MEMINFO, STATM, CGROUP = Path("/proc/meminfo"), Path("/proc/self/statm"), Path("/sys/fs/cgroup")

#: Where it tells of the processor.
CPUINFO = Path("/proc/cpuinfo")

#: Memory is kept where so many times as much is free as the process has.
ROOM = 3

#: With 0 no memory is kept; nor where a user tells glibc what to do.
KEEP = "BES_KEEP_MEMORY"
TOLD_GLIBC = ("MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")

#: glibc's numbers for what `mallopt` sets, and how many maps it makes at most unless it is told.
TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX, MAPS = -1, -3, -4, 65_536

#: What torch reads from the environment once, as it is loaded or first asked for memory.
TOLD = {
    # Threads that wait by spinning bring a shared machine to a halt.
    "OMP_WAIT_POLICY": "PASSIVE",
    # Rows fetched in the order of edges miss the table of small pages nearly each time, and every large result is
    # paid for page by page: huge pages halve the time of a sparse product of a million nodes.
    "THP_MEM_ALLOC_ENABLE": "1",
}


#: The C library while it keeps memory.
_keeping: list[ctypes.CDLL] = []


def prepare() -> None:
    """Tell torch, where the user has not told it otherwise; to be called before torch is loaded."""
    for name, value in told().items():
        os.environ[name] = value


def told() -> dict[str, str]:
    """What this process tells torch, for those that it starts elsewhere."""
    return {name: os.environ.get(name, value) for name, value in TOLD.items()}


def cores() -> int:
    """Cores that this process may use, which can be fewer than there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def processor() -> str:
    """Who made the processor, such as GenuineIntel or AuthenticAMD; empty where the system does not tell."""
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")


@contextmanager
def retained() -> Iterator[None]:
    """Within it, memory that was freed stays with the process, for the next step that asks for as much.

    Otherwise every array of more than 32 MB is a map of its own, whose pages the system clears each time: a third of
    a training step of a million nodes. What lies between arrays in use is kept too, so that a step holds up to twice
    as much; only where that is at hand (`ROOM`) and the user has not said otherwise; given back at the end.
    """
    library = _glibc() if _may_keep() else None
    if library is None or _keeping or free_mib() < ROOM * _resident_mib():
        yield
        return
    library.mallopt(MMAP_MAX, 0)
    library.mallopt(TRIM_THRESHOLD, -1)
    _keeping.append(library)
    try:
        yield
    finally:
        _keep_no_more()


def look_again() -> None:
    """To be called after the first step: keep no more where less is free than the process has by now."""
    if _keeping and free_mib() < _resident_mib():
        _keep_no_more()


def _keep_no_more() -> None:
    while _keeping:
        library = _keeping.pop()
        library.mallopt(MMAP_MAX, MAPS)
        library.mallopt(MMAP_THRESHOLD, 32 * MIB)  # what it comes to by itself, and no longer does once it was told
        library.mallopt(TRIM_THRESHOLD, 64 * MIB)
        library.malloc_trim(0)


def _may_keep() -> bool:
    return os.environ.get(KEEP) != "0" and not any(name in os.environ for name in TOLD_GLIBC)


def give_back() -> None:
    """Return what was freed to the system, where the C library keeps it otherwise and can be asked (glibc)."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def free_mib() -> float:
    """Memory that this process may still take, in MiB, by the system and by the limits of its group."""
    found = [_system()]
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            found.append((int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text())) / MIB)
        except (OSError, ValueError):  # not there, or without a limit
            continue
    return max(0.0, min(found))


def _system() -> float:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / MIB


def _resident_mib() -> float:
    try:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB
    except OSError:  # not told here
        return float("inf")


def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is one whose memory can be told what to do."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt, library.malloc_trim  # noqa: B018
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return None
    return library
