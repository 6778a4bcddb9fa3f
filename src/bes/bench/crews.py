"""Where the runs of a grid can be at work."""

from __future__ import annotations

from bes.bench.processes import MakeCrew, Processes
from bes.errors import InputError


def pick_crew(name: str) -> MakeCrew:
    """What makes the workers: `processes` of this machine, or a `ray` cluster."""
    if name == "processes":
        return Processes
    if name == "ray":
        from bes.bench.on_ray import ray_crew

        return ray_crew
    raise InputError(f"--on {name} is not known: use processes or ray.")
