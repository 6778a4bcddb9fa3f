"""Named random streams from one seed, so that no stage's draws depend on another's."""

import hashlib

import torch


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream `names` of `seed`, the same on every machine and Python."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int, device: torch.device | str = "cpu") -> torch.Generator:
    """A fresh `torch.Generator` on `device` for the stream `names` ("split", "init", "batch")."""
    return torch.Generator(device=device).manual_seed(derive(seed, *names))


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """`auto` is the first GPU when there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)
