"""Workers on a Ray cluster: the driver reads the graphs and writes the records, the nodes only compute.

The same version of bes must be installed on every node, for the same Python; nothing is shipped there but the graphs.
Workers ask for CPUs alone, and Ray hides the GPUs of its nodes from such workers.
"""

from __future__ import annotations

import os
import pickle
import socket
from typing import Any

from bes.bench.data import load_checked
from bes.bench.units import Outcome, Unit, Worker
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.machine import cores, told
from bes.records import library_version

#: How many actors in a row may die before they are at a unit: the cluster uses a lost node until it misses it.
TRIES = 4

_DIED = "died: most often for want of memory, or with its node"


class RayCrew:
    """A crew of Ray actors, the CPUs of the cluster divided among them. Ray must be initialised.

    Args:
        size: Actors; they wait in Ray's queue while others use the cluster.
        own: Whether the connection to Ray is this crew's own, to be ended with it.
    """

    def __init__(self, size: int, *, own: bool = False) -> None:
        self._ray = _import()
        self.size = size
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        self.threads = share([int(node["Resources"].get("CPU", 0)) for node in nodes], size)
        self._own = own
        self._make = self._ray.remote(Member)
        self._members: dict[int, tuple[Any, Any]] = {}  # the actor, and the answer that says where it is
        self._lost: dict[int, int] = {}  # actors that died one after another
        self._at: dict[int, tuple[tuple[Any, ...], Any]] = {}  # what it was given, and the answer
        self._unstarted: list[tuple[int, Outcome]] = []
        self._graphs: dict[str, Any] = {}

    def start(self, worker: int, unit: Unit, data_hash: str) -> None:
        try:
            graph = self._graph(unit.config.dataset, data_hash)
        except (InputError, OSError) as error:  # the file went away, and its units alone with it
            self._unstarted.append((worker, Outcome(unit, [], 0.0, str(error))))
            return
        # In a list, so that a member which has the graph already does not read it again.
        self._give(worker, unit, [graph], data_hash)

    def _give(self, worker: int, *work: Any) -> None:
        if worker not in self._members:
            self._members[worker] = self._hire(worker)
        self._at[worker] = work, self._members[worker][0].run.remote(*work)

    def _hire(self, worker: int) -> tuple[Any, Any]:
        # In another's stead it asks for nothing: a cluster that lost a node may never have a free CPU again.
        cpus = 0 if worker in self._lost else self.threads
        # Before torch is loaded there, whoever started the cluster.
        options = self._make.options(num_cpus=cpus, runtime_env={"env_vars": told()})
        actor = options.remote(self.threads, library_version())
        return actor, actor.place.remote()

    def _graph(self, name: str, data_hash: str) -> Any:
        """The graph in the object store, which keeps those that were asked for last."""
        if name not in self._graphs:
            self._graphs[name] = self._ray.put(load_checked(name, data_hash))
        self._graphs[name] = self._graphs.pop(name)  # goes last
        for old in list(self._graphs)[: -(self.size + 1)]:
            del self._graphs[old]
        return self._graphs[name]

    def place(self, worker: int) -> tuple[str, int]:
        """The address of a worker's node and the id of its process."""
        found: tuple[str, int] = self._ray.get(self._members[worker][1])
        return found

    def wait(self, seconds: float) -> list[tuple[int, Outcome]]:
        ended, self._unstarted = self._unstarted, []
        if ended or not self._at:
            return ended
        workers = {answer: worker for worker, (_, answer) in self._at.items()}
        ready, _ = self._ray.wait(list(workers), timeout=seconds)
        received = [(workers[answer], self._receive(workers[answer])) for answer in ready]
        return [(worker, outcome) for worker, outcome in received if outcome is not None]

    def _receive(self, worker: int) -> Outcome | None:
        """What a worker answered; nothing if it died before it was at its unit, which another has then."""
        work, answer = self._at.pop(worker)
        try:
            outcome: Outcome = pickle.loads(self._ray.get(answer))
        except self._ray.exceptions.RayError as error:
            place = self._dismiss(worker, error)
            if place is None and self._lost[worker] < TRIES:
                self._give(worker, *work)
                return None
            return Outcome(work[0], [], 0.0, self._obituary(place, error))
        self._lost[worker] = 0
        return outcome

    def _dismiss(self, worker: int, error: Exception) -> tuple[str, int] | None:
        """Part with an actor; says where it was, if it ever was anywhere."""
        errors = self._ray.exceptions
        actor, place = self._members.pop(worker)
        self._ray.kill(actor)  # it may live on behind a connection that broke
        if getattr(error, "actor_init_failed", False) or isinstance(error, errors.RuntimeEnvSetupError):
            raise InputError(_unfit(error)) from None  # not this unit's fault: the next would fail as well
        self._lost[worker] = self._lost.get(worker, 0) + 1
        try:
            found: tuple[str, int] = self._ray.get(place, timeout=0)
        except (errors.RayError, TimeoutError):
            return None
        return found

    def _obituary(self, place: tuple[str, int] | None, error: Exception) -> str:
        if isinstance(error, self._ray.exceptions.RayTaskError):
            return f"The Ray worker could not run its unit: {_last_line(error)}"
        who = "The Ray worker" if place is None else f"The Ray worker on {place[0]} (process {place[1]})"
        return f"{who} {'was lost with its node' if 'node has died' in str(error) else _DIED}."

    def close(self) -> None:
        for actor, _ in self._members.values():
            self._ray.kill(actor)
        self._members, self._at, self._graphs = {}, {}, {}
        if self._own:
            self._ray.shutdown()


class Member:
    """A worker in a process of Ray's."""

    def __init__(self, threads: int, version: str) -> None:
        import torch

        if library_version() != version:  # its records would have other run ids
            raise InputError(f"bes {library_version()} is installed there")
        torch.set_num_threads(threads)
        self._worker = Worker()
        self._name = ""
        self._graph: Graph | None = None

    def place(self) -> tuple[str, int]:
        return _import().util.get_node_ip_address(), os.getpid()

    def run(self, unit: Unit, graph: list[Any], data_hash: str) -> bytes:
        """The outcome of a unit, pickled: arrays that Ray hands over by itself cannot be written to."""
        if self._graph is None or unit.config.dataset != self._name:
            self._graph = None  # two large ones may not fit
            self._graph, self._name = _import().get(graph[0]), unit.config.dataset
        assert self._graph is not None
        return pickle.dumps(self._worker.run(unit, self._graph, data_hash))


def share(cpus: list[int], size: int) -> int:
    """The most CPUs that each of `size` workers can have, on nodes with so many."""
    for each in range(sum(cpus) // size, 0, -1):
        if sum(node // each for node in cpus) >= size:
            return each
    raise InputError(f"--jobs {size} is more than the {sum(cpus)} CPUs of the Ray cluster: use fewer, or add nodes.")


def ray_crew(jobs: int) -> RayCrew:
    """A crew on the caller's cluster, that of RAY_ADDRESS or of `ray start`, or else a new one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = _import()
    own = not ray.is_initialized()
    if own:
        _connect(ray, os.environ.get("RAY_ADDRESS", ""), jobs)
    try:
        return RayCrew(jobs, own=own)
    except BaseException:
        if own:
            ray.shutdown()
        raise


def _import() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("--on ray needs the package ray: call pip install 'bes-graph[ray]'.") from None
    return ray


def _connect(ray: Any, address: str, jobs: int) -> None:
    if address not in ("", "auto", "local") and "://" not in address:
        _knock(address)
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    try:
        if "://" in address:
            ray.init(log_to_driver=False)
            return
        try:
            ray.init(num_cpus=max(jobs, cores()), **quiet)
        except ValueError:  # a cluster that is there has its own number
            ray.init(**quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"Ray did not start or answer: {_last_line(error)}") from None


def _knock(address: str) -> None:
    """Ray itself waits for minutes where nobody is."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, ValueError, OverflowError):
        raise InputError(
            f"No Ray cluster answers at RAY_ADDRESS={address}: start it, correct the address, or unset it to work here."
        ) from None


def _unfit(error: Exception) -> str:
    return f"A Ray worker could not start ({_last_line(error)}): install bes {library_version()} on every node."


def _last_line(error: Exception) -> str:
    """What a traceback ends with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
