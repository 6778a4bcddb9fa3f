"""Named random streams from one seed, so that no stage's draws depend on another's."""

import hashlib

import torch

from bes.errors import InputError


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream `names` of `seed`, the same on every machine and Python."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int, device: torch.device | str = "cpu") -> torch.Generator:
    """A fresh `torch.Generator` on `device` for the stream `names` ("split", "init", "batch")."""
    return torch.Generator(device=device).manual_seed(derive(seed, *names))


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """`auto` is the current GPU when there is one, else the CPU; a device that cannot compute is refused."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        probe = torch.zeros(1, device=device)
        probe.item()
    except Exception:  # each kind of device is missing in its own way
        raise InputError(
            f"The device '{device}' cannot be used here: use auto, cpu, or a GPU that torch sees."
        ) from None
    return probe.device  # with its index: "cuda" alone would not compare equal to a tensor's device
