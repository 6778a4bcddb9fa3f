"""The processes of one run, each with its part of the nodes: what they tell each other, counted."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from bes import seeding

#: How long a rank waits for the others: rank 0's helpers read and record graphs of any size meanwhile.
LONGEST = timedelta(hours=2)


def asked_for() -> int:
    """How many ranks torchrun has started this process as one of; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def joined(device: str = "auto") -> Iterator[Ranks]:
    """Join the other ranks, by gloo on the CPU and by nccl on GPUs, one each; leave them at the end."""
    place = seeding.pick_device(device)
    if place.type == "cuda":
        place = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(place)
    rank, size = int(os.environ["RANK"]), asked_for()
    shared, fresh = _stores(rank, size)  # both live as long as the group
    backend = "nccl" if place.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=fresh, rank=rank, world_size=size, timeout=LONGEST)
    try:
        yield Ranks(place)
    finally:
        dist.destroy_process_group()
        del shared, fresh


def leave() -> NoReturn:
    """End this process, whose work is done, without the interpreter's own end.

    Gloo's threads can outlive their group; one that lets go of a tensor while the interpreter ends aborts the process,
    and torchrun would take a finished rank for a failed one.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _stores(rank: int, size: int) -> tuple[Any, Any]:
    """torchrun's store, and one of this attempt alone, whose port rank 0 tells by it.

    torchrun's outlives a restart and would still give the addresses of ranks that were killed. So does the port, but
    there nobody listens any more, and one asks again.
    """
    shared, _, _ = next(rendezvous("env://", rank, size, timeout=LONGEST))
    host, port, deadline = os.environ["MASTER_ADDR"], 0, time.monotonic() + LONGEST.total_seconds()
    while rank and not _listens(host, port := int(shared.get("bes/port"))):
        if time.monotonic() > deadline:
            raise TimeoutError(f"Rank 0 does not answer at {host}:{port}.")
        time.sleep(0.1)
    fresh = dist.TCPStore(host, port, size, rank == 0, LONGEST, wait_for_workers=False)  # type: ignore[attr-defined]
    if rank == 0:
        shared.set("bes/port", str(fresh.port))
    return shared, fresh


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=3).close()
    except OSError:
        return False
    return True


class Ranks:
    """One rank of a process group that has been joined.

    Every method is called by all ranks in the same order. What a rank hands over is counted by stage: a message is one
    call, its bytes are those of the tensor that this rank gives (an all-reduce by ring sends them about twice).

    Args:
        device: Where this rank's tensors are.

    Attributes:
        rank, size: Which of how many this is.
        stage: What is being done, a name for `traffic`.
        traffic: By stage and kind of message (`sum`, `minimum`, `gather`, `exchange`), `messages` and `bytes`.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.device = torch.device(device)
        self.stage = "start"
        self.traffic: dict[str, dict[str, dict[str, int]]] = {}

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum of all ranks' tensors of one shape."""
        return self._reduced(tensor, dist.ReduceOp.SUM, "sum")

    def minimum(self, tensor: Tensor) -> Tensor:
        """The smallest of all ranks' tensors of one shape, entry by entry."""
        return self._reduced(tensor, dist.ReduceOp.MIN, "minimum")

    def gather(self, rows: Tensor) -> Tensor:
        """The rows `[n_r, ...]` of all ranks in the order of the ranks; each may have any number of them."""
        self._count("gather", rows)
        here, rows = rows.device, rows.to(self.device)
        counts = torch.zeros(self.size, dtype=torch.long, device=self.device)
        counts[self.rank] = rows.shape[0]
        dist.all_reduce(counts)
        found = rows.new_empty(int(counts.sum()), *rows.shape[1:])
        # each rank's rows go straight to their place: padded ones would be held three times
        for rank, part in enumerate(found.split(counts.tolist())):
            if rank == self.rank:
                part.copy_(rows)
            if len(part):
                dist.broadcast(part, rank)
        return found.to(here)

    def exchange(self, rows: Tensor, send: list[int], receive: list[int], into: Tensor | None = None) -> Tensor:
        """Rows for each other rank, `send[r]` of them for rank r, against the `receive[r]` rows that it sends.

        Args:
            into: Where they are put, `[sum of receive, ...]`; a new tensor by default.
        """
        self._count("exchange", rows)
        found = rows.new_empty(sum(receive), *rows.shape[1:]) if into is None else into
        dist.all_to_all_single(found, rows.contiguous(), receive, send)
        return found

    def share(self, thing: Any) -> Any:
        """Rank 0's `thing`, any object that can be pickled, on every rank."""
        box = [thing]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def collect(self, thing: Any) -> list[Any]:
        """Every rank's `thing`, in the order of the ranks, on every rank."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, thing)
        return found

    def wait(self) -> None:
        """Until all ranks have come here."""
        dist.all_reduce(torch.zeros(1, device=self.device))

    def _reduced(self, tensor: Tensor, how: Any, kind: str) -> Tensor:
        self._count(kind, tensor)
        found = tensor.detach().to(self.device, copy=True).contiguous()
        dist.all_reduce(found, how)
        return found.to(tensor.device)

    def _count(self, kind: str, tensor: Tensor) -> None:
        told = self.traffic.setdefault(self.stage, {}).setdefault(kind, {"messages": 0, "bytes": 0})
        told["messages"] += 1
        told["bytes"] += tensor.numel() * tensor.element_size()
