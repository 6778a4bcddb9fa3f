import pytest

from bes.bench.crews import pick_crew
from bes.bench.processes import Processes
from bes.errors import InputError


def test_processes_by_name() -> None:
    assert pick_crew("processes") is Processes


def test_ray_by_name() -> None:
    pytest.importorskip("ray")
    from bes.bench.on_ray import ray_crew

    assert pick_crew("ray") is ray_crew


@pytest.mark.parametrize("name", ["", "Processes", "slurm", "ray "])
def test_other_names_are_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match=r"--on .* is not known: use processes or ray\.$"):
        pick_crew(name)
